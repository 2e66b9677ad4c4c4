// SPDX-License-Identifier: Apache-2.0
//
// Running -> leaving (/readyz is 503, the listeners open) -> draining (no listener)
// -> finish, when the last connection is gone and no span is waited for, or --drain is
// over. SIGINT, and SIGTERM without --pre-drain, lead from running to draining at once.
#include "end.h"

#include "certificates.h"
#include "listen.h"
#include "modules/act.h"
#include "modules/distrust.h"
#include "reread.h"
#include "token_files.h"

#include <signal.h>
#include <unistd.h>

static void close_handle(uv_handle_t *handle, void *context) {
  (void)context;
  if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

void fc_loop_close_handles(fc_loop_t *loop) {
  fc_otlp_leave(&loop->otlp);
  uv_walk(&loop->uv, close_handle, NULL);
}

// Ends uv_run. Clients that wait for a module, a call, an act or a long document are
// answered 503, and all connections are closed.
static void finish(fc_loop_t *loop) {
  fc_http1_abandon(&loop->http1);
  fc_loop_close_handles(loop);
}

void fc_loop_check_drained(fc_loop_t *loop) {
  if (loop->server.draining && !loop->server.connections &&
      !fc_otlp_is_busy(&loop->otlp) &&
      !uv_is_closing((uv_handle_t *)&loop->turn)) {
    finish(loop);
  }
}

static void on_drain_timeout(uv_timer_t *timer) {
  fc_loop_t *loop = timer->data;
  fc_log(&loop->log, FC_LOG_WARN,
         "calls still run after the drain time: ending without them");
  finish(loop);
}

void fc_loop_drain(fc_loop_t *loop) {
  if (loop->server.draining) return;
  loop->server.leaving = loop->server.draining = true;
  fc_log(&loop->log, FC_LOG_INFO, "draining: %u connections",
         loop->server.connections);
  fc_loop_stop_listening(loop);
  fc_modules_stop(&loop->modules);
  uv_timer_start(&loop->drain_timer, on_drain_timeout, loop->options->drain, 0);
  fc_http1_drain(&loop->http1);
  fc_otlp_end(&loop->otlp);
}

static void on_pre_drained(uv_timer_t *timer) { fc_loop_drain(timer->data); }

// /readyz is 503 from here on. A load balancer has the time of --pre-drain to notice;
// then the server drains. Without --pre-drain, and before the start is over, it drains at
// once.
static void leave(fc_loop_t *loop) {
  const uint64_t wait_ms = loop->options->pre_drain;
  if (loop->server.leaving) return;
  fc_notify_stopping(&loop->notify);
  if (!wait_ms || !loop->modules.started) {
    fc_loop_drain(loop);
    return;
  }
  loop->server.leaving = true;
  fc_log(&loop->log, FC_LOG_INFO,
         "leaving: connections are taken for %llu ms more",
         (unsigned long long)wait_ms);
  uv_timer_start(&loop->drain_timer, on_pre_drained, wait_ms, 0);
}

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
  if (number == SIGTERM) leave(loop);
  else drain_at_once(loop);
}

// If the file is wrong, which is logged, the sums that were read before stay in force.
static void reread_trust(fc_loop_t *loop) {
  fc_error_t error;
  if (!loop->trust.file) return;
  if (fc_trust_read(&loop->trust, &error) != FC_OK) {
    fc_log(&loop->log, FC_LOG_ERROR, "%s: the sums of --trust are kept",
           error.message);
    return;
  }
  fc_log(&loop->log, FC_LOG_INFO, "%s has %u sums of files that may be loaded",
         loop->trust.file, fc_trust_count(&loop->trust));
  fc_modules_distrust(&loop->modules);
}

static void on_hangup(uv_signal_t *handle, int number) {
  fc_loop_t *loop = handle->data;
  (void)number;
  if (loop->server.leaving) return;
  fc_token_files_reload(loop);
  fc_certificates_reload(loop);
  reread_trust(loop);
  if (!fc_loop_reread(loop)) return;
  fc_notify_reloading(&loop->notify);
  fc_modules_reload(&loop->modules, "SIGHUP");
}

static void on_stop(uv_async_t *handle) { leave(handle->data); }

void fc_loop_stop(fc_loop_t *loop) { uv_async_send(&loop->stop_bell); }

int fc_loop_init_end(fc_loop_t *loop) {
  uv_loop_t *uv = &loop->uv;
  uv_timer_init(uv, &loop->drain_timer);
  int failed = uv_async_init(uv, &loop->stop_bell, on_stop);
  if (!failed) failed = uv_signal_init(uv, &loop->signals[0]);
  if (!failed) failed = uv_signal_init(uv, &loop->signals[1]);
  if (!failed) failed = uv_signal_init(uv, &loop->hangup);
  loop->stop_bell.data = loop->drain_timer.data = loop;
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
