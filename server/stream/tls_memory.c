// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's memory for a stream, some 50 KB during a handshake, is given back to the
// system when most streams have ended. The C library would keep it: several threads
// allocated it in pieces, and one piece in use keeps everything before it. A thread gives
// it back, because searching all free memory takes milliseconds.
#include <malloc.h>

#include "stream/tls_stream.h"

#define CROWD 256u  // objects; with fewer, the search is not worth its time

static void give_back(uv_work_t *work) {
  (void)work;
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}

static void on_given(uv_work_t *work, int status) {
  fc_tls_t *tls = work->data;
  (void)status;  // the work is never cancelled
  tls->giving = false;
}

void fc_tls_note_object(fc_tls_stream_t *self) {
  fc_tls_t *tls = self->tls;
  self->has_object = true;
  if (++tls->objects > tls->objects_most) tls->objects_most = tls->objects;
}

void fc_tls_note_end(fc_tls_stream_t *self) {
  fc_tls_t *tls = self->tls;
  if (!self->has_object) return;
  tls->objects--;
  if (tls->objects_most < CROWD || tls->objects > tls->objects_most / 4 ||
      tls->giving) {
    return;
  }
  tls->objects_most = tls->objects;
  tls->giving = true;
  tls->give.data = tls;
  // uv_queue_work fails only if it is given no function.
  (void)uv_queue_work(tls->uv, &tls->give, give_back, on_given);
}
