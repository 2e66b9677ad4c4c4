// SPDX-License-Identifier: Apache-2.0
#include "helpers/echo.h"

static fc_status_t open_module(const fc_module_source_t *source,
                               fc_allocator_t allocator, void **out_module,
                               fc_error_t *err) {
  (void)allocator;
  (void)out_module;
  return fc_fail(err, FC_CODE_MODULE_LOAD, "'%.*s': echo modules have no file",
                 FC_STR_ARG(source->path));
}

static const fc_module_info_t *describe(const void *module) {
  return &((const fc_echo_t *)module)->info;
}

static fc_status_t instance_create(void *module, fc_allocator_t allocator,
                                   void **out_instance, fc_error_t *err) {
  (void)allocator;
  (void)err;
  *out_instance = module;
  return FC_OK;
}

static void nothing(void *handle) { (void)handle; }

static fc_status_t call(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  fc_echo_t *echo = instance;
  const fc_signature_t *signature = echo->info.signatures[index];
  echo->calls++;
  echo->open_calls++;
  if (echo->fail_with) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, echo->fail_with,
                      "the echo was told to fail");
  }
  size_t count = signature->raw_result_count;
  for (size_t i = 0; i < count && i < call->argument_count; i++) {
    call->results[i] = call->arguments[i];
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (param->role != FC_ROLE_OUT && param->role != FC_ROLE_INOUT) continue;
    call->results[count++] = call->arguments[param->raw_index];
  }
  FC_ASSERT(count == call->result_count);
  return FC_OK;
}

static void call_end(void *instance, size_t index, fc_backend_call_t *call) {
  (void)index;
  (void)call;
  ((fc_echo_t *)instance)->open_calls--;
}

static fc_status_t probe(fc_str_t head, fc_error_t *err) {
  (void)head;
  (void)err;
  return FC_OK;
}

const fc_backend_t fc_backend_echo = {
    .kind = "echo",
    .title = "echo",
    .suffix = ".echo",
    .probe = probe,
    .open = open_module,
    .describe = describe,
    .instance_create = instance_create,
    .inspect = describe,  // an instance is its module
    .call = call,
    .call_end = call_end,
    .instance_destroy = nothing,
    .close = nothing,
};
