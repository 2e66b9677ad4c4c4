// SPDX-License-Identifier: Apache-2.0
//
// Opening a module and making instances of it, for embedders (farcall/call.h).
#include "module/instance.h"

fc_status_t fc_module_open(const char *path, const fc_module_options_t *options,
                           fc_module_t **out_module, fc_error_t *err) {
  return fc_module_load(NULL, fc_str(path), options, fc_allocator_system(),
                        out_module, err);
}

// Nothing is limited here, since an embedder can limit memory by its allocator.
static const fc_limits_t kNoLimits = {.tensor_elements = SIZE_MAX,
                                      .tensor_size = SIZE_MAX,
                                      .result_size = SIZE_MAX,
                                      .arena_size = SIZE_MAX};

static void destroy(fc_instance_t *instance) {
  fc_frame_destroy(instance->frame);
  if (instance->handle) {
    fc_module_get_backend(instance->module)->instance_destroy(instance->handle);
  }
  fc_module_release(instance->module);
  fc_free(instance->allocator, instance);
}

fc_status_t fc_instance_create(fc_module_t *module,
                               const fc_instance_options_t *options,
                               fc_instance_t **out_instance, fc_error_t *err) {
  static const fc_instance_options_t defaults = {0};
  if (!options) options = &defaults;
  const fc_allocator_t allocator =
      options->allocator.allocate ? options->allocator : fc_allocator_system();
  fc_instance_t *instance = fc_alloc(allocator, sizeof *instance);
  if (!instance) return fc_fail_memory(err);
  instance->allocator = allocator;
  instance->tiles = options->tiles;
  instance->references = 1;
  instance->module = fc_module_retain(module);
  fc_status_t status =
      fc_frame_create(allocator, &kNoLimits, &instance->frame, err);
  if (status == FC_OK) {
    status = fc_module_get_backend(module)->instance_create(
        fc_module_get_handle(module), allocator, &instance->handle, err);
  }
  if (status != FC_OK) {
    destroy(instance);
    return status;
  }
  *out_instance = instance;
  return FC_OK;
}

void fc_instance_forget(fc_instance_t *instance) {
  if (--instance->references == 0) destroy(instance);
}

void fc_instance_destroy(fc_instance_t *instance) {
  if (instance) fc_instance_forget(instance);
}
