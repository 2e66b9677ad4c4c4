// SPDX-License-Identifier: Apache-2.0
#include "config/trust.h"

#include <stdlib.h>

#include "config/guarded_file.h"

static bool is_hex(char c) {
  const char low = (char)(c | 0x20);
  return (c >= '0' && c <= '9') || (low >= 'a' && low <= 'f');
}

static char lower(char c) {
  return c >= 'A' && c <= 'F' ? (char)(c | 0x20) : c;
}

static fc_status_t fail_at(const char *file, unsigned number, size_t at,
                           const char *message, fc_error_t *err) {
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "%s:%u:%zu: %s", file, number,
                 at + 1, message);
}

// Takes the sum of a line. sha256sum begins a line with a backslash if it has escaped
// characters of the name.
static fc_status_t take_line(fc_sums_t *sums, const char *file, unsigned number,
                             fc_str_t line, fc_error_t *err) {
  char *sum = sums->items[sums->count];
  size_t at = line.size && line.data[0] == '\\';
  if (line.size && line.data[line.size - 1] == '\r') line.size--;
  if (!line.size || line.data[0] == '#') return FC_OK;
  const size_t begin = at;
  while (at < line.size && at - begin < FC_SUM_SIZE && is_hex(line.data[at])) {
    sum[at - begin] = lower(line.data[at]);
    at++;
  }
  if (at - begin < FC_SUM_SIZE) {
    return fail_at(file, number, at, "a SHA-256 sum is 64 digits of hex", err);
  }
  sums->count++;
  if (at == line.size) return FC_OK;
  const bool named = line.size > at + 2 && line.data[at] == ' ' &&
                     (line.data[at + 1] == ' ' || line.data[at + 1] == '*');
  if (named) return FC_OK;
  return fail_at(file, number, at,
                 "behind a sum come two spaces, or ' *', and a name", err);
}

static int compare(const void *a, const void *b) {
  return memcmp(a, b, FC_SUM_SIZE);
}

fc_status_t fc_sums_parse(fc_sums_t *out_sums, const char *file, fc_str_t text,
                          fc_error_t *err) {
  fc_sums_t sums = {0};
  unsigned number = 0;
  size_t lines = 1;
  *out_sums = sums;
  for (size_t i = 0; i < text.size; i++) lines += text.data[i] == '\n';
  sums.items = fc_alloc_array(fc_allocator_system(), lines, sizeof *sums.items);
  if (!sums.items) return fc_fail_memory(err);
  fc_status_t status = FC_OK;
  while (status == FC_OK && text.size) {
    const fc_str_t line = fc_str_take(&text, '\n');
    status = take_line(&sums, file, ++number, line, err);
  }
  if (status != FC_OK) {
    fc_sums_close(&sums);
    return status;
  }
  qsort(sums.items, sums.count, sizeof *sums.items, compare);
  *out_sums = sums;
  return FC_OK;
}

void fc_sums_close(fc_sums_t *sums) {
  fc_free(fc_allocator_system(), sums->items);
  *sums = (fc_sums_t){0};
}

bool fc_sums_have(const fc_sums_t *sums, const char *sha256) {
  return sums->count && bsearch(sha256, sums->items, sums->count,
                                sizeof *sums->items, compare);
}

// ---------------------------------------------------------------------------
// The file of --trust, which may be read again

void fc_trust_init(fc_trust_t *trust, const char *file) {
  *trust = (fc_trust_t){.file = file};
  pthread_mutex_init(&trust->lock, NULL);
}

void fc_trust_deinit(fc_trust_t *trust) {
  if (!trust->file) return;
  fc_sums_close(&trust->sums);
  pthread_mutex_destroy(&trust->lock);
}

fc_status_t fc_trust_read(fc_trust_t *trust, fc_error_t *err) {
  fc_guarded_file_t read;
  fc_sums_t sums;
  FC_TRY(fc_guarded_file_open(&read, trust->file, err));
  const fc_status_t status = fc_sums_parse(&sums, trust->file, read.text, err);
  fc_guarded_file_close(&read);
  if (status != FC_OK) return status;
  pthread_mutex_lock(&trust->lock);
  fc_sums_t before = trust->sums;
  trust->sums = sums;
  pthread_mutex_unlock(&trust->lock);
  fc_sums_close(&before);
  return FC_OK;
}

uint32_t fc_trust_count(fc_trust_t *trust) {
  pthread_mutex_lock(&trust->lock);
  const uint32_t count = trust->sums.count;
  pthread_mutex_unlock(&trust->lock);
  return count;
}

bool fc_trust_has(fc_trust_t *trust, const char *sha256) {
  pthread_mutex_lock(&trust->lock);
  const bool has = fc_sums_have(&trust->sums, sha256);
  pthread_mutex_unlock(&trust->lock);
  return has;
}

fc_status_t fc_trust_admit(void *context, const char *sha256, fc_error_t *err) {
  if (fc_trust_has(context, sha256)) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_UNTRUSTED,
                 "its SHA-256, %s, is not in the file of --trust", sha256);
}
