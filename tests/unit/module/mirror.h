// SPDX-License-Identifier: Apache-2.0
//
// A module kind for tests. It shows what a new kind needs: this file, and an entry in a
// list of backends. A module is the text "mirror", then one line for each function: its
// signature as canonical JSON. A function returns its arguments; with the option
// "mirror.backwards" in reverse order.
#ifndef FARCALL_TESTS_UNIT_MODULE_MIRROR_H_
#define FARCALL_TESTS_UNIT_MODULE_MIRROR_H_

#include "farcall/abi.h"
#include "farcall/backend.h"

#define MIRROR_FUNCTIONS 8

typedef struct mirror_t {
  fc_allocator_t allocator;
  fc_signature_t *signatures[MIRROR_FUNCTIONS];
  fc_module_info_t info;
  bool backwards;
} mirror_t;

static fc_status_t mirror_probe(fc_str_t head, fc_error_t *err) {
  if (fc_str_starts(head, FC_STR("mirror\n"))) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_LOAD, "its first line is not 'mirror'");
}

static void mirror_close(void *module) {
  mirror_t *mirror = module;
  for (size_t i = 0; i < mirror->info.count; i++) {
    fc_signature_destroy(mirror->signatures[i]);
  }
  fc_free(mirror->allocator, mirror);
}

static fc_status_t mirror_read(mirror_t *mirror, fc_str_t text,
                               fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(mirror->allocator);
  if (!builder) return fc_fail_memory(err);
  fc_status_t status = FC_OK;
  while (status == FC_OK && text.size &&
         mirror->info.count < MIRROR_FUNCTIONS) {
    const char *end = (const char *)memchr(text.data, '\n', text.size);
    const size_t size = end ? (size_t)(end - text.data) : text.size;
    fc_builder_reset(builder);
    status =
        fc_signature_parse_json(fc_str_make(text.data, size), builder, err);
    if (status == FC_OK) {
      status = fc_signature_build(builder,
                                  &mirror->signatures[mirror->info.count], err);
    }
    if (status == FC_OK) mirror->info.count++;
    const size_t skip = size + (end != NULL);
    text = fc_str_make(text.data + skip, text.size - skip);
  }
  fc_builder_destroy(builder);
  return status;
}

static fc_status_t mirror_open(const fc_module_source_t *source,
                               fc_allocator_t allocator, void **out_module,
                               fc_error_t *err) {
  const size_t head = strlen("mirror\n");
  mirror_t *mirror = (mirror_t *)fc_alloc(allocator, sizeof *mirror);
  if (!mirror) return fc_fail_memory(err);
  mirror->allocator = allocator;
  mirror->info.signatures = mirror->signatures;
  mirror->info.warning = FC_STR("");
  mirror->backwards = fc_str_equal(
      fc_source_setting(source, "mirror.backwards"), FC_STR("yes"));
  const fc_status_t status =
      mirror_read(mirror,
                  fc_str_make(source->file.bytes.data + head,
                              source->file.bytes.size - head),
                  err);
  if (status != FC_OK) {
    mirror_close(mirror);
    return status;
  }
  *out_module = mirror;
  return FC_OK;
}

static const fc_module_info_t *mirror_describe(const void *module) {
  return &((const mirror_t *)module)->info;
}

// Calls leave nothing behind, so the module can be its own instance.
static fc_status_t mirror_instance_create(void *module,
                                          fc_allocator_t allocator,
                                          void **out_instance,
                                          fc_error_t *err) {
  (void)allocator;
  (void)err;
  *out_instance = module;
  return FC_OK;
}

static fc_status_t mirror_call(void *instance, size_t index,
                               fc_backend_call_t *call, fc_error_t *err) {
  const mirror_t *mirror = (const mirror_t *)instance;
  (void)index;
  (void)err;
  for (size_t i = 0; i < call->result_count; i++) {
    const size_t from = mirror->backwards ? call->argument_count - 1 - i : i;
    if (from < call->argument_count) call->results[i] = call->arguments[from];
  }
  return FC_OK;
}

static void mirror_call_end(void *instance, size_t index,
                            fc_backend_call_t *call) {
  (void)instance;
  (void)index;
  (void)call;
}

static void mirror_instance_destroy(void *instance) { (void)instance; }

static const char *const mirror_settings[] = {"mirror.backwards", NULL};

static const fc_backend_t mirror_backend = {
    .kind = "mirror",
    .title = "mirror",
    .suffix = ".mirror",
    .settings = mirror_settings,
    .probe = mirror_probe,
    .open = mirror_open,
    .describe = mirror_describe,
    .inspect = mirror_describe,
    .instance_create = mirror_instance_create,
    .call = mirror_call,
    .call_end = mirror_call_end,
    .instance_destroy = mirror_instance_destroy,
    .close = mirror_close,
};

#endif  // FARCALL_TESTS_UNIT_MODULE_MIRROR_H_
