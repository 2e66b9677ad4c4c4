// SPDX-License-Identifier: Apache-2.0
//
// The file of --trust: the SHA-256 sums of the files that may be loaded, one a line, as
// sha256sum writes them. Only the sum counts; the name after it is for people. Empty
// lines and lines that begin with '#' are skipped. The loop's thread reads the file at
// the start and at SIGHUP; farcalld -t reads it too. The loop's and the loader's thread
// look sums up.
#ifndef FARCALL_SERVER_CONFIG_TRUST_H_
#define FARCALL_SERVER_CONFIG_TRUST_H_

#include <pthread.h>

#include "farcall/base.h"

#define FC_SUM_SIZE 64  // as text

typedef struct fc_sums_t {
  char (*items)[FC_SUM_SIZE];  // lower case, in order
  uint32_t count;
} fc_sums_t;

// Reads the text of a file of --trust. FC_CODE_NOT_ACCEPTABLE: the error gives
// FILE:LINE:COLUMN and the mistake there. `file` is the name for errors.
fc_status_t fc_sums_parse(fc_sums_t *out_sums, const char *file, fc_str_t text,
                          fc_error_t *err) FC_MUST_CHECK;
void fc_sums_close(fc_sums_t *sums);  // accepts a zeroed struct
bool fc_sums_have(const fc_sums_t *sums, const char *sha256);

typedef struct fc_trust_t {
  const char *file;  // as --trust names it; borrowed
  pthread_mutex_t lock;
  fc_sums_t sums;  // under the lock
} fc_trust_t;

void fc_trust_init(fc_trust_t *trust, const char *file);
void fc_trust_deinit(fc_trust_t *trust);  // accepts a zeroed struct
// Reads the file. After a failure the old sums stay. FC_CODE_NOT_ACCEPTABLE: the file has
// a mistake, or is refused as a whole (guarded_file.h).
fc_status_t fc_trust_read(fc_trust_t *trust, fc_error_t *err) FC_MUST_CHECK;
// Returns the number of sums. Like fc_trust_has and fc_trust_admit, for any thread.
uint32_t fc_trust_count(fc_trust_t *trust);
bool fc_trust_has(fc_trust_t *trust, const char *sha256);
// For fc_module_options_t.admit. FC_CODE_MODULE_UNTRUSTED: the sum is not in the file;
// the error shows it. `context` is the fc_trust_t.
fc_status_t fc_trust_admit(void *context, const char *sha256, fc_error_t *err);

#endif  // FARCALL_SERVER_CONFIG_TRUST_H_
