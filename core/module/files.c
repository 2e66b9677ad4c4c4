// SPDX-License-Identifier: Apache-2.0
//
// Opens, reads and hashes the files of a module: see files.h.
#include "module/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/sidecar.h"
#include "base/sha256.h"
#include "module/snapshot.h"

fc_str_t fc_path_file(fc_str_t path) {
  const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
  if (!slash) return path;
  size_t skip = (size_t)(slash + 1 - path.data);
  return fc_str_make(path.data + skip, path.size - skip);
}

// Puts "cannot read its sidecar" before the message of `err`, which has the reason.
static fc_status_t fail_sidecar(fc_error_t *err) {
  fc_error_t why = {0};
  if (err) why = *err;
  return fc_fail(err, FC_CODE_ABI_METADATA, "cannot read its sidecar: %s",
                 why.message);
}

fc_status_t fc_files_open_sidecar(fc_str_t path, const char *suffix,
                                  int *out_fd, fc_error_t *err) {
  char text[FC_PATH_SIZE_MAX + 32];
  const fc_str_t file = fc_path_file(path);
  const char *dot = file.size ? memrchr(file.data, '.', file.size) : NULL;
  const int stem = (int)(dot ? (size_t)(dot - path.data) : path.size);
  *out_fd = -1;
  if (!suffix) return FC_OK;
  snprintf(text, sizeof text, "%.*s%s", stem, path.data, suffix);
  if (access(text, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return FC_OK;
  }
  if (fc_snapshot_open_file(text, out_fd, err) == FC_OK) return FC_OK;
  return fail_sidecar(err);
}

// Hashes the file by reading it. If it were read through its mapping, a
// large file would stay in memory.
static fc_status_t hash_file(const fc_snapshot_t *file, char out_hex[65],
                             fc_error_t *err) {
  fc_sha256_t hash;
  uint8_t chunk[16384];
  fc_sha256_init(&hash);
  for (size_t at = 0; at < file->bytes.size; at += sizeof chunk) {
    const size_t rest = file->bytes.size - at;
    const size_t size = rest < sizeof chunk ? rest : sizeof chunk;
    if (!fc_snapshot_read(file, at, chunk, size)) {
      return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read all of it");
    }
    fc_sha256_update(&hash, chunk, size);
  }
  fc_sha256_finish(&hash, out_hex);
  return FC_OK;
}

// Notes the file's size and its time of writing. fc_files_read does so before it hashes
// the file, and fc_files_hash does so after it has hashed, so a change in between is
// noticed.
static fc_status_t note_time(const fc_snapshot_t *file,
                             fc_file_digest_t *digest, fc_error_t *err) {
  struct stat info;
  if (fstat(file->fd, &info)) {
    return fc_fail(err, FC_CODE_MODULE_PATH, "%s", strerror(errno));
  }
  digest->size = (uint64_t)info.st_size;
  digest->written_ns =
      (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  return FC_OK;
}

static bool is_current(const fc_file_digest_t *known,
                       const fc_file_digest_t *now, bool sealed) {
  if (!known->sha256[0] || known->size != now->size) return false;
  return sealed || known->written_ns == now->written_ns;
}

// True when the file need not be hashed now. A file with a sidecar is hashed now, because
// the sidecar may name the hash, which is compared when the module is opened.
static bool may_hash_later(const fc_module_files_t *files, uint64_t hash_max,
                           uint64_t size) {
  return hash_max > 0 && size > hash_max && files->sidecar < 0;
}

fc_status_t fc_files_read(const fc_module_files_t *files, size_t sealed_max,
                          uint64_t hash_max, fc_snapshot_t *out_file,
                          fc_snapshot_t *out_sidecar,
                          fc_file_digest_t *out_digest, fc_error_t *err) {
  FC_TRY(fc_snapshot_make(files->module, SIZE_MAX, sealed_max, out_file, err));
  if (files->sidecar >= 0 &&
      fc_snapshot_make(files->sidecar, FC_SIDECAR_SIZE_MAX, 0, out_sidecar,
                       err) != FC_OK) {
    return fail_sidecar(err);
  }
  fc_file_digest_t digest = {0};
  FC_TRY(note_time(out_file, &digest, err));
  if (is_current(&files->digest, &digest, out_file->sealed)) {
    digest = files->digest;
  } else if (!may_hash_later(files, hash_max, digest.size)) {
    FC_TRY(hash_file(out_file, digest.sha256, err));
  }
  *out_digest = digest;
  return FC_OK;
}

fc_status_t fc_files_admit_sum(const char *sha256,
                               const fc_module_options_t *options,
                               fc_error_t *err) {
  fc_error_t why;
  if (options->admit(options->admit_context, sha256, &why) == FC_OK) {
    return FC_OK;
  }
  return fc_fail(err, why.code, "its sidecar: %s", why.message);
}

fc_status_t fc_files_admit_sidecar(int *sidecar,
                                   const fc_module_options_t *options,
                                   char out_sha256[65], fc_error_t *err) {
  char sha256[65];
  fc_snapshot_t copy = FC_SNAPSHOT_NONE;
  if (*sidecar < 0 || !options || !options->admit) return FC_OK;
  if (fc_snapshot_make(*sidecar, FC_SIDECAR_SIZE_MAX, 0, &copy, err) != FC_OK) {
    return fail_sidecar(err);
  }
  fc_sha256_hex(copy.bytes.data, copy.bytes.size, sha256);
  fc_status_t status = fc_files_admit_sum(sha256, options, err);
  const int sealed = status == FC_OK ? fcntl(copy.fd, F_DUPFD_CLOEXEC, 0) : -1;
  if (sealed >= 0) {
    close(*sidecar);
    *sidecar = sealed;
    memcpy(out_sha256, sha256, sizeof sha256);
  } else if (status == FC_OK) {
    status = fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot keep its sidecar: %s",
                     strerror(errno));
  }
  fc_snapshot_close(&copy);
  return status;
}

fc_status_t fc_files_hash(const fc_snapshot_t *file,
                          const fc_file_digest_t *read, char out_hex[65],
                          fc_error_t *err) {
  fc_file_digest_t now;
  FC_TRY(hash_file(file, out_hex, err));
  FC_TRY(note_time(file, &now, err));
  if (file->sealed ||
      (now.size == read->size && now.written_ns == read->written_ns)) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_MODULE_PATH,
                 "it was written to since it was loaded");
}

// ---------------------------------------------------------------------------
// Versions

bool fc_is_version(fc_str_t text) {
  bool digits = text.size > 0 && text.size <= 18 && text.data[0] != '0';
  for (size_t i = 0; digits && i < text.size; i++) {
    digits = text.data[i] >= '0' && text.data[i] <= '9';
  }
  return digits;
}

// Cuts off and returns the last part of a path. The '/' before it is removed, too.
static fc_str_t take_last(fc_str_t *path) {
  const fc_str_t last = fc_path_file(*path);
  path->size -= last.size;
  if (path->size) path->size--;
  return last;
}

bool fc_path_is_version(fc_str_t path, fc_str_t *out_name,
                        fc_str_t *out_version) {
  const fc_str_t file = take_last(&path);
  const char *dot = file.size ? memrchr(file.data, '.', file.size) : NULL;
  const fc_str_t version = take_last(&path);
  const fc_str_t name = take_last(&path);
  if (!dot || name.size == 0 || !fc_is_version(version) ||
      !fc_str_equal(fc_str_make(file.data, (size_t)(dot - file.data)),
                    FC_STR("model"))) {
    return false;
  }
  *out_name = name;
  *out_version = version;
  return true;
}

void fc_path_identify(fc_str_t path, fc_str_t *out_name,
                      fc_str_t *out_version) {
  fc_str_t name = path, version = FC_STR("1"), folder;
  const bool is_version = fc_path_is_version(path, &folder, &version);
  const bool is_named = fc_module_name(path, &name, NULL) == FC_OK;
  *out_name = is_named ? name : path;
  *out_version = is_version && is_named ? version : FC_STR("1");
}

int fc_version_compare(fc_str_t a, fc_str_t b) {
  if (a.size != b.size) return a.size < b.size ? -1 : 1;
  return fc_str_compare(a, b);
}

static bool is_name_byte(char c, bool first) {
  const bool word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                    (c >= '0' && c <= '9') || c == '_';
  return word || (!first && (c == '.' || c == '-'));
}

bool fc_is_module_name(fc_str_t text) {
  bool valid = text.size > 0 && text.size <= FC_MODULE_NAME_MAX;
  for (size_t i = 0; valid && i < text.size; i++) {
    valid = is_name_byte(text.data[i], i == 0);
  }
  return valid;
}

fc_status_t fc_module_name(fc_str_t path, fc_str_t *out_name, fc_error_t *err) {
  fc_str_t file = fc_path_file(path);
  fc_str_t name = file, version;
  const char *dot = file.size ? memrchr(file.data, '.', file.size) : NULL;
  if (dot) name.size = (size_t)(dot - file.data);
  (void)fc_path_is_version(path, &name, &version);
  if (!fc_is_module_name(name)) {
    char shown[128];
    fc_escape(shown, sizeof shown, 64, file);
    return fc_fail(err, FC_CODE_MODULE_PATH,
                   "'%s' gives no module name: letters, digits, '_', '.' and "
                   "'-', at most %d, the first neither '.' nor '-'",
                   shown, FC_MODULE_NAME_MAX);
  }
  *out_name = name;
  return FC_OK;
}
