// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file for farcall doctor: as ONNX, MLIR, bytecode and an artifact of
// jax.export, whatever they begin with. The output must be JSON for another reader,
// agree with its own counts, and contain no control character of the file.
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "doctor/checkup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef void (*check_t)(fc_checkup_t *checkup, fc_str_t bytes);
static const check_t kChecks[] = {fc_doctor_onnx, fc_doctor_mlir,
                                  fc_doctor_bytecode, fc_doctor_jax};

static void must(bool holds) {
  if (!holds) abort();
}

static size_t count_level(yyjson_val *findings, const char *level) {
  size_t i, count, found = 0;
  yyjson_val *finding;
  yyjson_arr_foreach(findings, i, count, finding) {
    found += yyjson_equals_str(yyjson_obj_get(finding, "level"), level);
    must(yyjson_get_uint(yyjson_obj_get(finding, "count")) > 0);
    must(yyjson_get_len(yyjson_obj_get(finding, "message")) > 0);
  }
  return found;
}

// Names in the file need not be UTF-8, but the output must be.
static void read_json(const fc_checkup_t *checkup) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), (size_t)64 << 20);
  must(fc_checkup_write_json(checkup, &text.sink, NULL) == FC_OK);
  const fc_str_t json = fc_text_str(&text);
  yyjson_doc *document = yyjson_read(json.data, json.size, 0);
  must(document != NULL);
  yyjson_val *root = yyjson_doc_get_root(document);
  yyjson_val *findings = yyjson_obj_get(root, "findings");
  must(yyjson_arr_size(findings) == checkup->count);
  const size_t unfit = count_level(findings, "unfit");
  must(checkup->count < 1000 ? unfit == checkup->levels[FC_LEVEL_UNFIT]
                             : unfit <= checkup->levels[FC_LEVEL_UNFIT]);
  must(yyjson_get_bool(yyjson_obj_get(root, "fit")) ==
       (checkup->levels[FC_LEVEL_UNFIT] == 0));
  yyjson_doc_free(document);
  fc_text_deinit(&text);
}

static void read_text(const fc_checkup_t *checkup) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  must(stream != NULL);
  fc_checkup_show(checkup, stream);
  must(fclose(stream) == 0);
  for (size_t i = 0; i < size; i++) {
    must((unsigned char)text[i] >= ' ' || text[i] == '\n');
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 16384) return 0;
  const fc_str_t bytes = fc_str_make((const char *)data, size);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kChecks); i++) {
    fc_arena_t arena;
    fc_checkup_t checkup;
    fc_arena_init(&arena, fc_allocator_system(), 4096, (size_t)1 << 28);
    // The folder of this path does not exist, so no file beside it is found.
    fc_checkup_init(&checkup, &arena, "/dev/null/model", "model");
    kChecks[i](&checkup, bytes);
    must(!checkup.out_of_memory);
    read_json(&checkup);
    read_text(&checkup);
    fc_arena_deinit(&arena);
  }
  return 0;
}
