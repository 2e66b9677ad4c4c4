// SPDX-License-Identifier: Apache-2.0
//
// Stands for this folder in a build without HTTP/2: HTTP/1 then refuses the preface.
#include "http2/http2.h"

fc_status_t fc_http2_init(fc_http2_t *http2, fc_http1_t *http1,
                          fc_error_t *err) {
  (void)err;
  http2->http1 = http1;
  return FC_OK;
}

void fc_http2_deinit(fc_http2_t *http2) { (void)http2; }

void fc_http2_send_all(fc_http2_t *http2) { (void)http2; }
