// SPDX-License-Identifier: Apache-2.0
//
// One event loop of farcalld and everything it owns: the listener, the
// connections, the pool, the modules, the log, the clock. All state is in
// fc_loop_t; nothing in server/ is static and mutable. Used on the loop's thread
// only, except where said.
#ifndef FARCALL_SERVER_SERVER_H_
#define FARCALL_SERVER_SERVER_H_

#include <uv.h>

#include "config/policy.h"
#include "dialect/reflect.h"
#include "http1/connection.h"
#include "stream/listener.h"
#include "http1/response.h"
#include "obs/log.h"
#include "modules/modules.h"
#include "obs/metrics.h"
#include "config/options.h"
#include "pool/host.h"

// Connections that wait for the same kind of event, in the order their time
// runs out: every wait of one kind is equally long.
typedef struct fc_waits_t {
  fc_connection_t *first;
  fc_connection_t *last;
  uint64_t wait_ms;
} fc_waits_t;

typedef enum fc_wait_t {
  FC_WAIT_NONE,  // while a call is queued or runs
  FC_WAIT_IDLE,
  FC_WAIT_HEAD,
  FC_WAIT_BODY,
  FC_WAIT_WRITE,
  FC_WAIT_LINGER,
  FC_WAIT_COUNT
} fc_wait_t;

struct fc_loop_t {
  uv_loop_t uv;
  fc_allocator_t allocator;
  const fc_server_options_t *options;
  const fc_backend_t *const *backends;
  fc_log_t log;
  bool access_log;
  fc_metrics_t metrics;

  fc_listener_t listener;
  uint64_t shortage_told_ms;
  uv_async_t bell;       // finished calls; any thread
  uv_async_t loader_bell;  // opened files; the loader's thread
  uv_async_t stop_bell;  // fc_loop_stop; any thread
  uv_prepare_t turn;
  uv_check_t awake;
  uv_idle_t busy;  // active: the loop looks for events and does not wait
  uv_timer_t timer;
  uv_timer_t drain_timer;
  uv_signal_t signals[2];  // that end the server
  uv_signal_t hangup;
  uint64_t timer_due_ms;  // UINT64_MAX when not armed

  char host[64];  // literal address, in brackets if IPv6
  int port;
  fc_policy_t policy;

  fc_modules_t modules;
  fc_setting_t settings[2];  // of the modules that are loaded
  fc_blocks_t *blocks;
  fc_pool_t pool;
  fc_host_options_t process_host;
  bool leaving;   // told to end; before it drains, it still listens
  bool draining;
  int exit_code;

  fc_parser_t parser;
  fc_error_t error;  // of whoever needs one on a path that hardly ever fails
  fc_waits_t waits[FC_WAIT_COUNT];
  fc_connection_t *connections;  // all of them
  uint32_t connection_count;
  uint32_t connection_max;
  uint64_t reserved_files;  // descriptors that connections must leave
  uint32_t turned_away;  // of them, over the limit and being told so
  char *read_buffer;     // FC_LIMIT_READ bytes, lent to each read
  char date[FC_RESPONSE_DATE_SIZE];
  int64_t date_s;
  uint64_t started_ns;
  uint64_t id_state;
  // Bytes read from clients and handled. Relaxed; read by tests and metrics.
  _Atomic uint64_t bytes_in;
};

// Binds and listens. `options`, `backends` (NULL-terminated) are borrowed.
// FC_CODE_FORBIDDEN for an address that needs --allow-insecure-bind,
// FC_CODE_NOT_ACCEPTABLE for one that can't be read, FC_CODE_MODULE_UNAVAILABLE
// when the port can't be had.
fc_status_t fc_loop_init(fc_loop_t *loop, fc_allocator_t allocator,
                         const fc_server_options_t *options,
                         const fc_backend_t *const *backends,
                         int log_descriptor, fc_error_t *err) FC_MUST_CHECK;
// Serves until a signal or fc_loop_stop; returns the exit code.
int fc_loop_run(fc_loop_t *loop);
// Drains as SIGTERM does. Any thread.
void fc_loop_stop(fc_loop_t *loop);
// After fc_loop_run, or a failed fc_loop_init that got this far.
void fc_loop_deinit(fc_loop_t *loop);

// For connections
void fc_loop_wait(fc_connection_t *connection, fc_wait_t kind);
fc_reflect_t fc_loop_reflect(fc_loop_t *loop);
fc_str_t fc_loop_date(fc_loop_t *loop);
// 16 hex digits; not secret, only different.
void fc_loop_request_id(fc_loop_t *loop, char out[16]);

#endif  // FARCALL_SERVER_SERVER_H_
