// SPDX-License-Identifier: Apache-2.0
//
// Archives in the format safetensors (value/safetensors.h). Types and shapes are
// skipped, since the module knows them. Called by parameters.c.
#include "value/safetensors.h"

#include "parameters/parameters.h"

#define HEADER_MAX ((size_t)100 << 20)  // the format's own limit
#define DEPTH_MAX 16
#define TENSORS_MAX (1u << 20)

// Decodes the name of a tensor: the key that was just read.
static fc_status_t read_name(fc_parameters_t *archive,
                             const fc_json_reader_t *reader, fc_str_t *out,
                             fc_error_t *err) {
  *out = reader->text;
  if (!reader->escaped) return FC_OK;
  char *text = fc_arena_alloc(&archive->arena, out->size + 1, 1);
  if (!text) return fc_fail_memory(err);
  *out = fc_str_make(text, fc_json_unescape(*out, text));
  return FC_OK;
}

static fc_status_t read_tensors(fc_parameters_t *archive,
                                const fc_safetensors_t *file, fc_error_t *err) {
  for (;;) {
    bool more;
    fc_parameter_t item = {0};
    fc_safetensor_t tensor;
    FC_TRY(fc_safetensors_next(file, &more, err));
    if (!more) return FC_OK;
    FC_TRY(read_name(archive, file->reader, &item.key, err));
    FC_TRY(fc_safetensors_read(file, &tensor, err));
    if (!tensor.bytes.data) {
      return fc_safetensors_fail(file, "a tensor has no data_offsets", err);
    }
    item.data = (uint8_t *)(uintptr_t)tensor.bytes.data;
    item.size = tensor.bytes.size;
    FC_TRY(fc_parameters_append(archive, &item, err));
  }
}

fc_status_t fc_safetensors_index(fc_parameters_t *archive, fc_error_t *err) {
  fc_json_reader_t reader;
  fc_safetensors_t file = {
      .reader = &reader, .code = FC_CODE_MODULE_LOAD, .lead = ""};
  fc_str_t head;
  if (!fc_safetensors_cut(
          fc_str_make((const char *)archive->data, archive->size), &head,
          &file.data) ||
      head.size > HEADER_MAX) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "neither an .irpa nor a .safetensors file");
  }
  // The reader reads some bytes twice, and the file may be written to in between. So the
  // reader gets a copy.
  head = fc_arena_copy(&archive->arena, head);
  if (!head.data) return fc_fail_memory(err);
  fc_json_reader_init(&reader, DEPTH_MAX, TENSORS_MAX);
  fc_json_reader_feed(&reader, head.data, head.size, true);
  fc_error_t why = {0};
  if (read_tensors(archive, &file, &why) == FC_OK) return FC_OK;
  if (why.code == FC_CODE_OUT_OF_MEMORY) return fc_fail_memory(err);
  return fc_fail(err, FC_CODE_MODULE_LOAD, "safetensors header: %s",
                 why.message);
}
