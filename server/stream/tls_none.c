// SPDX-License-Identifier: Apache-2.0
//
// A build without TLS. There are no keys, so there are no streams.
#include "stream/tls.h"

fc_status_t fc_tls_keys_open(const fc_tls_files_t *files,
                             fc_allocator_t allocator, fc_tls_keys_t **out_keys,
                             fc_error_t *err) {
  (void)files;
  (void)allocator;
  (void)out_keys;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "--tls-cert: this farcalld was built without TLS "
                 "(-DFARCALL_TLS=OFF)");
}

void fc_tls_keys_close(fc_tls_keys_t *keys) { (void)keys; }

void fc_tls_keys_renew(fc_tls_keys_t *keys, uint64_t now_ms) {
  (void)keys;
  (void)now_ms;
}

bool fc_tls_keys_hold(const fc_tls_keys_t *keys, int64_t now_s,
                      char out_text[FC_TLS_DATES_MAX]) {
  (void)keys;
  (void)now_s;
  out_text[0] = '\0';
  return true;
}

void fc_tls_keys_dates(const fc_tls_keys_t *keys, int64_t *out_begin_s,
                       int64_t *out_end_s) {
  (void)keys;
  *out_begin_s = INT64_MIN;
  *out_end_s = INT64_MAX;
}

fc_status_t fc_tls_init(fc_tls_t *tls, uv_loop_t *uv, fc_allocator_t allocator,
                        fc_error_t *err) {
  (void)err;
  tls->uv = uv;
  tls->allocator = allocator;
  return FC_OK;
}

void fc_tls_deinit(fc_tls_t *tls) { (void)tls; }

const fc_stream_class_t fc_stream_tls = {0};

const char *fc_tls_library(void) { return ""; }
