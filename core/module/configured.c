// SPDX-License-Identifier: Apache-2.0
//
// The list is put before the end of the sidecar's object, so that places in errors about
// the rest stay what they are in the file.
#include "module/configured.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/document.h"

#define NOTHING "{\"farcall\":1,\"abi\":\"module\",\"functions\":[]}"

static fc_status_t fail(const char *what, fc_error_t *err) {
  const bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
  return fc_fail(err, lacks ? FC_CODE_OUT_OF_MEMORY : FC_CODE_ABI_METADATA,
                 "cannot %s its sidecar: %s", what, strerror(errno));
}

static fc_status_t read_all(int file, fc_text_t *text, fc_error_t *err) {
  char part[4096];
  for (off_t at = 0;;) {
    const ssize_t got = pread(file, part, sizeof part, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("read", err);
    if (got == 0) return FC_OK;
    FC_TRY(fc_sink_put(&text->sink, fc_str_make(part, (size_t)got), err));
    at += got;
  }
}

// A sidecar that is too large is refused when the module is opened.
static bool is_too_large(int sidecar) {
  struct stat info;
  return sidecar >= 0 && !fstat(sidecar, &info) &&
         info.st_size > FC_SIDECAR_SIZE_MAX;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The sidecar without the '}' that ends it; all of it if it ends otherwise, which is
// refused when it is read.
static fc_str_t less_end(fc_str_t text) {
  fc_str_t rest = text;
  while (rest.size && is_space(rest.data[rest.size - 1])) rest.size--;
  if (!rest.size || rest.data[rest.size - 1] != '}') return text;
  rest.size--;
  while (rest.size && is_space(rest.data[rest.size - 1])) rest.size--;
  return rest;
}

static fc_status_t put_merged(fc_str_t sidecar, fc_str_t dims, fc_sink_t *sink,
                              fc_error_t *err) {
  const fc_str_t rest = less_end(sidecar);
  const bool whole = rest.size == sidecar.size;
  const bool empty = rest.size && rest.data[rest.size - 1] == '{';
  FC_TRY(fc_sink_put(sink, rest, err));
  if (whole) return FC_OK;
  if (!empty) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
  FC_TRY(fc_sink_put(sink, FC_STR("\"configured\":"), err));
  FC_TRY(fc_sink_put(sink, dims, err));
  return fc_sink_put(sink, FC_STR("}"), err);
}

static fc_status_t write_all(fc_str_t text, int *out_file, fc_error_t *err) {
  const int file = memfd_create("farcall-sidecar", MFD_CLOEXEC);
  if (file < 0) return fail("write", err);
  while (text.size) {
    const ssize_t put = write(file, text.data, text.size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      close(file);
      return fail("write", err);
    }
    text = fc_str_make(text.data + put, text.size - (size_t)put);
  }
  *out_file = file;
  return FC_OK;
}

// Refuses a sidecar that has this member itself: ours stands behind it, the first of two
// counts, and what was configured would be ignored. Any other mistake is told when the
// module is opened.
static fc_status_t check_own(fc_str_t sidecar, fc_allocator_t allocator,
                             fc_error_t *err) {
  fc_doc_t doc = {.whose = "its sidecar"};
  fc_error_t why;
  fc_error_reset(&why);
  if (fc_doc_open(&doc, sidecar, &allocator, &why) != FC_OK) {
    return why.code == FC_CODE_OUT_OF_MEMORY ? fc_fail_memory(err) : FC_OK;
  }
  doc.err = err;
  const bool has = yyjson_obj_get(yyjson_doc_get_root(doc.json), "configured");
  yyjson_doc_free(doc.json);
  return has ? fc_doc_fault(&doc, "configured",
                            "is for the \"dims\" of a configuration alone")
             : FC_OK;
}

fc_status_t fc_configured_add(int *sidecar, fc_str_t dims,
                              fc_allocator_t allocator, fc_error_t *err) {
  fc_text_t before, merged;
  int file = -1;
  if (*sidecar < 0 && !dims.size) return FC_OK;
  if (is_too_large(*sidecar)) return FC_OK;
  fc_text_init(&before, allocator, FC_SIDECAR_SIZE_MAX);
  fc_text_init(&merged, allocator, SIZE_MAX);
  fc_status_t status = *sidecar < 0
                           ? fc_sink_put(&before.sink, FC_STR(NOTHING), err)
                           : read_all(*sidecar, &before, err);
  if (status == FC_OK) status = check_own(fc_text_str(&before), allocator, err);
  if (status == FC_OK && dims.size) {
    status = put_merged(fc_text_str(&before), dims, &merged.sink, err);
    if (status == FC_OK) status = write_all(fc_text_str(&merged), &file, err);
  }
  fc_text_deinit(&before);
  fc_text_deinit(&merged);
  if (status != FC_OK || file < 0) return status;
  if (*sidecar >= 0) close(*sidecar);
  *sidecar = file;
  return FC_OK;
}

fc_status_t fc_configured_check(fc_str_t dims, fc_allocator_t allocator,
                                fc_error_t *err) {
  fc_text_t text;
  fc_names_t *names = NULL;
  fc_text_init(&text, allocator, SIZE_MAX);
  fc_status_t status = put_merged(FC_STR(NOTHING), dims, &text.sink, err);
  if (status == FC_OK) {
    status = fc_names_parse(fc_text_str(&text), false, allocator, &names, err);
  }
  fc_names_destroy(names);
  fc_text_deinit(&text);
  return status;
}
