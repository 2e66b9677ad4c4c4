// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <signal.h>
#include <unistd.h>

#include "dialect/condition.h"
#include "drain.h"
#include "listen/certificates.h"
#include "listen/token_files.h"
#include "modules/act.h"
#include "modules/distrust.h"
#include "reread.h"

static void drain_at_once(fc_loop_t *loop) {
  fc_notify_stopping(&loop->notify);
  fc_loop_drain(loop);
}

static void on_signal(uv_signal_t *handle, int number) {
  fc_loop_t *loop = handle->data;
  if (loop->server.leaving) {
    fc_log(&loop->log, FC_LOG_WARN, "signal %d again: ending now", number);
    fc_log_flush(&loop->log);
    _exit(128 + number);
  }
  if (number == SIGTERM) fc_loop_leave(loop);
  else drain_at_once(loop);
}

// Reads the file of --trust again. If it is wrong, that is logged and the old sums stay
// in force.
static void reread_trust(fc_loop_t *loop) {
  fc_error_t error;
  if (!loop->trust.file) return;
  if (fc_trust_read(&loop->trust, &error) != FC_OK) {
    fc_log(&loop->log, FC_LOG_ERROR, "%s: the sums of --trust are kept",
           error.message);
    fc_condition_note_reread(&loop->server, FC_REREAD_TRUST, &error);
    return;
  }
  fc_condition_note_reread(&loop->server, FC_REREAD_TRUST, NULL);
  fc_log(&loop->log, FC_LOG_INFO, "%s has %u sums of files that may be loaded",
         loop->trust.file, fc_trust_count(&loop->trust));
  fc_modules_distrust(&loop->modules);
}

static void on_hangup(uv_signal_t *handle, int number) {
  fc_loop_t *loop = handle->data;
  (void)number;
  if (loop->server.leaving) return;
  fc_token_files_reload(&loop->endpoints);
  fc_certificates_reload(&loop->endpoints);
  reread_trust(loop);
  if (!fc_loop_reread(loop)) return;
  fc_notify_reloading(&loop->notify);
  fc_modules_reload(&loop->modules, "SIGHUP");
}

int fc_loop_init_signals(fc_loop_t *loop) {
  int failed = uv_signal_init(&loop->uv, &loop->signals[0]);
  if (!failed) failed = uv_signal_init(&loop->uv, &loop->signals[1]);
  if (!failed) failed = uv_signal_init(&loop->uv, &loop->hangup);
  loop->signals[0].data = loop->signals[1].data = loop->hangup.data = loop;
  return failed;
}

fc_status_t fc_loop_watch_signals(fc_loop_t *loop, fc_error_t *err) {
  int failed = uv_signal_start(&loop->signals[0], on_signal, SIGTERM);
  if (!failed) failed = uv_signal_start(&loop->signals[1], on_signal, SIGINT);
  if (!failed) failed = uv_signal_start(&loop->hangup, on_hangup, SIGHUP);
  if (!failed) return FC_OK;
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot watch for signals: %s",
                 uv_strerror(failed));
}
