// SPDX-License-Identifier: Apache-2.0
//
// The states are running, leaving (/readyz is 503, the listeners are open), draining (no
// listener) and finish. The server finishes when the last connection is closed and no
// span must be exported, or when --drain is over. SIGINT, and SIGTERM without
// --pre-drain, lead from running to draining at once.
#include "drain.h"

#include "listen/endpoints.h"

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

static void note_end(fc_loop_t *loop, uint64_t in_ms) {
  loop->server.ends_ns = fc_clock_ns() + in_ms * 1000000u;
}

void fc_loop_drain(fc_loop_t *loop) {
  if (loop->server.draining) return;
  loop->server.leaving = loop->server.draining = true;
  note_end(loop, loop->options->drain);
  fc_log(&loop->log, FC_LOG_INFO, "draining: %u connections",
         loop->server.connections);
  fc_endpoints_close(&loop->endpoints);
  fc_modules_stop(&loop->modules);
  uv_timer_start(&loop->drain_timer, on_drain_timeout, loop->options->drain, 0);
  fc_http1_drain(&loop->http1);
  fc_otlp_end(&loop->otlp);
}

static void on_pre_drained(uv_timer_t *timer) { fc_loop_drain(timer->data); }

void fc_loop_leave(fc_loop_t *loop) {
  const uint64_t wait_ms = loop->options->pre_drain;
  if (loop->server.leaving) return;
  fc_notify_stopping(&loop->notify);
  if (!wait_ms || !loop->modules.started) {
    fc_loop_drain(loop);
    return;
  }
  loop->server.leaving = true;
  note_end(loop, wait_ms + loop->options->drain);
  fc_log(&loop->log, FC_LOG_INFO,
         "leaving: connections are taken for %llu ms more",
         (unsigned long long)wait_ms);
  uv_timer_start(&loop->drain_timer, on_pre_drained, wait_ms, 0);
}

static void on_stop(uv_async_t *handle) { fc_loop_leave(handle->data); }

void fc_loop_stop(fc_loop_t *loop) { uv_async_send(&loop->stop_bell); }

int fc_loop_init_drain(fc_loop_t *loop) {
  uv_timer_init(&loop->uv, &loop->drain_timer);
  loop->stop_bell.data = loop->drain_timer.data = loop;
  return uv_async_init(&loop->uv, &loop->stop_bell, on_stop);
}
