// SPDX-License-Identifier: Apache-2.0
#include "watching.h"

#include <string.h>

#include "modules/act.h"

// Milliseconds from the first event until the PATHs are listed, so that files that change
// together are handled together.
#define SETTLE_MS 100u

static void look(fc_loop_t *loop) {
  int reason;
  const char *path;
  while (loop->options->watch && (path = fc_watch_arm(&loop->watch, &reason))) {
    fc_log_field_t fields[] = {FC_LOG_TEXT("path", fc_str(path)),
                               FC_LOG_TEXT("reason", fc_str(strerror(reason)))};
    fc_log_fields(&loop->log, FC_LOG_WARN,
                  FC_STR("cannot be watched: set --watch-interval"), fields,
                  FC_ARRAY_COUNT(fields));
  }
  fc_modules_follow(&loop->modules);
}

static void on_settled(uv_timer_t *timer) { look(timer->data); }

static void on_interval(uv_timer_t *timer) { look(timer->data); }

static void on_change(uv_poll_t *poll, int status, int events) {
  fc_loop_t *loop = poll->data;
  (void)status;
  (void)events;
  if (fc_watch_take(&loop->watch) &&
      !uv_is_active((uv_handle_t *)&loop->watch_settle)) {
    uv_timer_start(&loop->watch_settle, on_settled, SETTLE_MS, 0);
  }
}

fc_status_t fc_loop_watch_files(fc_loop_t *loop, fc_error_t *err) {
  const fc_server_options_t *options = loop->options;
  const uint64_t interval_ms = options->watch_interval;
  uv_timer_init(&loop->uv, &loop->watch_settle);
  uv_timer_init(&loop->uv, &loop->watch_timer);
  loop->watch_settle.data = loop->watch_timer.data = loop;
  loop->server.may_grow |= options->watch || interval_ms;
  if (interval_ms) {
    uv_timer_start(&loop->watch_timer, on_interval, interval_ms, interval_ms);
  }
  if (!options->watch) return FC_OK;
  FC_TRY(fc_watch_open(&loop->watch, loop->allocator, options->paths,
                       options->path_count, err));
  loop->modules.watch = &loop->watch;
  const int failed =
      uv_poll_init(&loop->uv, &loop->watch_poll, loop->watch.file);
  if (failed) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot watch files: %s",
                   uv_strerror(failed));
  }
  loop->watch_poll.data = loop;
  uv_poll_start(&loop->watch_poll, UV_READABLE, on_change);
  look(loop);  // begins to watch; the PATHs are listed again after the start
  return FC_OK;
}
