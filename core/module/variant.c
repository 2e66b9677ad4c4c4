// SPDX-License-Identifier: Apache-2.0
//
// Chooses a variant. If farcall knows names of this architecture's features
// (fc_cpu_has_names), an unknown name is refused: it may be misspelt, and then the slow
// file would be served unnoticed. Otherwise a variant that names features is for another
// architecture and is not chosen.
#include "module/variant.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/document.h"
#include "abi/names.h"
#include "module/files.h"

#define FEATURES_MAX 64

static fc_status_t read_cpu(const fc_doc_t *doc, yyjson_val *object,
                            const fc_cpu_t *cpu, bool *out_runs) {
  yyjson_val *list, *value;
  size_t index, count;
  *out_runs = true;
  FC_TRY(fc_doc_array(doc, object, "cpu", FEATURES_MAX, &list));
  if (!list) return FC_OK;
  yyjson_arr_foreach(list, index, count, value) {
    if (!yyjson_is_str(value)) {
      return fc_doc_fault(doc, "cpu", "must be a list of names");
    }
    const fc_str_t name = fc_doc_text_of(value);
    const fc_cpu_answer_t answer = fc_cpu_runs(cpu, name);
    if (answer == FC_CPU_UNKNOWN && fc_cpu_has_names) {
      char shown[80];
      fc_escape(shown, sizeof shown, 64, name);
      return fc_doc_fault(doc, "cpu",
                          "'%s' is no feature that is known: LLVM's names, as "
                          "avx2, or x86-64-v2 to x86-64-v4",
                          shown);
    }
    *out_runs &= answer == FC_CPU_YES;
  }
  return FC_OK;
}

static fc_status_t read_file(const fc_doc_t *doc, yyjson_val *object,
                             char out[FC_VARIANT_NAME_MAX + 1]) {
  fc_str_t file = {0};
  FC_TRY(fc_doc_text(doc, object, "file", &file));
  if (!file.data) return fc_doc_fault(doc, "file", "is missing");
  if (!file.size || file.size > FC_VARIANT_NAME_MAX || file.data[0] == '.' ||
      memchr(file.data, '/', file.size) || memchr(file.data, '\0', file.size)) {
    return fc_doc_fault(doc, "file",
                        "must be the name of a file beside the module's");
  }
  memcpy(out, file.data, file.size);
  out[file.size] = '\0';
  return FC_OK;
}

static fc_status_t read_list(fc_doc_t *doc, fc_str_t own, const fc_cpu_t *cpu,
                             fc_variants_t *out) {
  yyjson_val *list, *value;
  size_t index, count;
  bool found = false, runs;
  FC_TRY(fc_doc_array(doc, yyjson_doc_get_root(doc->json), "variants",
                      FC_VARIANTS_MAX, &list));
  if (!list) return FC_OK;
  doc->list = "variants";
  yyjson_arr_foreach(list, index, count, value) {
    doc->item = index;
    if (!yyjson_is_obj(value))
      return fc_doc_fault(doc, "", "must be an object");
    FC_TRY(read_file(doc, value, out->files[index]));
    out->count++;
  }
  yyjson_arr_foreach(list, index, count, value) {
    doc->item = index;
    FC_TRY(read_cpu(doc, value, cpu, &runs));
    if (found || !runs) continue;
    found = true;
    if (!fc_str_equal(fc_str(out->files[index]), own)) {
      out->chosen = (uint32_t)index;
    }
  }
  return FC_OK;
}

// True when the sidecar has the word "variants". Most sidecars do not have it, and need
// not be parsed here; opening the module parses the sidecar anyway.
static bool may_have_variants(fc_str_t json) {
  static const char kWord[] = "variants";
  return json.size && memmem(json.data, json.size, kWord, sizeof kWord - 1);
}

fc_status_t fc_variants_parse(fc_str_t json, fc_str_t path, const fc_cpu_t *cpu,
                              fc_allocator_t allocator, fc_variants_t *out,
                              fc_error_t *err) {
  fc_doc_t doc = {.whose = "its sidecar"};
  out->count = 0;
  out->chosen = FC_VARIANTS_MAX;
  if (!may_have_variants(json)) return FC_OK;
  FC_TRY(fc_doc_open(&doc, json, &allocator, err));
  const fc_status_t status = read_list(&doc, fc_path_file(path), cpu, out);
  yyjson_doc_free(doc.json);
  return status;
}

static fc_status_t fail_read(fc_error_t *err) {
  return fc_fail(err, FC_CODE_ABI_METADATA, "cannot read its sidecar: %s",
                 strerror(errno));
}

static bool is_read(const fc_cpu_t *cpu) {
  return cpu->words[FC_CPU_WORDS - 1] != 0;
}

fc_status_t fc_variants_read(int sidecar, fc_str_t path, fc_cpu_t *cpu,
                             fc_allocator_t allocator, fc_variants_t *out,
                             fc_error_t *err) {
  struct stat info;
  size_t size = 0;
  if (fstat(sidecar, &info)) return fail_read(err);
  const size_t room = info.st_size > FC_SIDECAR_SIZE_MAX ? FC_SIDECAR_SIZE_MAX
                                                         : (size_t)info.st_size;
  char *text = fc_alloc(allocator, room + 1);
  if (!text) return fc_fail_memory(err);
  for (ssize_t got = 1; got > 0 && size < room; size += (size_t)got) {
    got = pread(sidecar, text + size, room - size, (off_t)size);
    if (got < 0) {
      fc_free(allocator, text);
      return fail_read(err);
    }
  }
  const fc_str_t json = fc_str_make(text, size);
  if (may_have_variants(json) && !is_read(cpu)) fc_cpu_read(cpu);
  const fc_status_t status =
      fc_variants_parse(json, path, cpu, allocator, out, err);
  fc_free(allocator, text);
  return status;
}

bool fc_variant_path(fc_str_t path, const char *file, char *out,
                     size_t capacity) {
  const size_t folder = path.size - fc_path_file(path).size;
  const int size =
      snprintf(out, capacity, "%.*s%s", (int)folder, path.data, file);
  return (size_t)size < capacity;
}
