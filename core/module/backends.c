// SPDX-License-Identifier: Apache-2.0
//
// The list of all kinds of modules, and the choice of the kind of a file (backends.h).
#include "module/backends.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "module/files.h"
#include "module/kinds.h"

const fc_backend_t *const fc_backends[] = {&fc_backend_native, &fc_backend_vm,
                                           NULL};

const fc_backend_t *fc_backends_by_suffix(const fc_backend_t *const *backends,
                                          fc_str_t path) {
  for (; *backends; backends++) {
    if (fc_str_ends(path, fc_str((*backends)->suffix))) return *backends;
  }
  return NULL;
}

static fc_status_t check_setting(const fc_backend_t *const *backends,
                                 fc_str_t name, fc_error_t *err) {
  const char *near = NULL;
  fc_nearest_t search = fc_nearest_begin(name);
  for (; *backends; backends++) {
    const char *const *known = (*backends)->settings;
    for (; known && *known; known++) {
      if (fc_str_equal(name, fc_str(*known))) return FC_OK;
      if (fc_nearest_offer(&search, fc_str(*known))) near = *known;
    }
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_fail_as(err, FC_CODE_MODULE_LOAD, FC_INVALID_ARGUMENT,
                    "no option '%s' of any kind of module%s%s%s", shown,
                    near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : "");
}

fc_status_t fc_backends_check(const fc_backend_t *const *backends,
                              const fc_setting_t *settings, size_t count,
                              fc_error_t *err) {
  for (size_t i = 0; i < count; i++) {
    FC_TRY(check_setting(backends, settings[i].name, err));
  }
  return FC_OK;
}

static fc_status_t read_head(int file, char head[FC_PROBE_SIZE],
                             size_t *out_size, fc_error_t *err) {
  ssize_t size;
  do size = pread(file, head, FC_PROBE_SIZE, 0);
  while (size < 0 && errno == EINTR);
  if (size > 0) {
    *out_size = (size_t)size;
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_MODULE_PATH, "%s",
                 size ? strerror(errno) : "an empty file");
}

// Fails for a known kind of file that no backend loads. The message says what
// to do with it.
static fc_status_t fail_known(const fc_file_kind_t *kind, fc_str_t path,
                              fc_error_t *err) {
  char text[FC_FILE_TEXT];
  fc_file_kind_tell(kind, path, text);
  return fc_fail(err, FC_CODE_MODULE_PATH, "this is %s", text);
}

static fc_status_t fail_unknown(const fc_backend_t *const *backends,
                                fc_error_t *err) {
  char kinds[200] = "";
  size_t size = 0;
  for (size_t i = 0; backends[i] && size < sizeof kinds; i++) {
    size += (size_t)snprintf(kinds + size, sizeof kinds - size, "%sno %s (*%s)",
                             i ? " and " : "", backends[i]->title,
                             backends[i]->suffix);
  }
  return fc_fail(err, FC_CODE_MODULE_PATH, "not a module: %s", kinds);
}

fc_status_t fc_backends_choose(const fc_backend_t *const *backends,
                               fc_str_t path, int file,
                               const fc_backend_t **out_backend,
                               fc_error_t *err) {
  char bytes[FC_PROBE_SIZE];
  size_t size = 0;
  FC_TRY(read_head(file, bytes, &size, err));
  const fc_str_t head = fc_str_make(bytes, size);
  for (size_t i = 0; backends[i]; i++) {
    if (backends[i]->probe(head, NULL) != FC_OK) continue;
    *out_backend = backends[i];
    return FC_OK;
  }
  const fc_backend_t *named = fc_backends_by_suffix(backends, path);
  if (named) return named->probe(head, err);
  const fc_file_kind_t *kind = fc_file_kind(head, path);
  if (!kind) kind = fc_file_kind_named(path);
  // A file that looks like a module but is accepted by no backend is treated as unknown.
  return kind && kind->use != FC_FILE_MODULE ? fail_known(kind, path, err)
                                             : fail_unknown(backends, err);
}
