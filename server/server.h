// SPDX-License-Identifier: Apache-2.0
//
// One event loop of farcalld and everything that it owns: listeners, connections, the
// pool, the modules, the log, timers. All state of a loop is in fc_loop_t;
// scripts/check-statics lists the few static variables. For the loop's thread only,
// unless a comment says otherwise.
#ifndef FARCALL_SERVER_SERVER_H_
#define FARCALL_SERVER_SERVER_H_

#include <uv.h>

#include "config/trust.h"
#include "http2/http2.h"
#include "jailing.h"
#include "listen/endpoints.h"
#include "modules/modules.h"
#include "notify.h"
#include "obs/log.h"
#include "otlp/otlp.h"
#include "pool/process_host.h"

// The options as they were last read again (reread.h). Options that fc_loop_t.live took
// over have their texts here.
typedef struct fc_reread_t {
  fc_server_options_t options;
  const char *paths[];
} fc_reread_t;

typedef struct fc_loop_t {
  uv_loop_t uv;
  fc_allocator_t allocator;
  const fc_server_options_t *options;  // points to `live`
  fc_server_options_t live;            // the options in force
  fc_reread_t *reread;                 // NULL: the options were not read again
  const fc_backend_t *const *backends;
  fc_log_t log;
  fc_otlp_t otlp;

  fc_endpoints_t endpoints;
  uv_async_t bell;         // rung when calls are finished, on workers' threads
  uv_async_t loader_bell;  // for fc_modules_collect (fc_modules_events_t.wake)
  uv_async_t stop_bell;    // rung by fc_loop_stop, on any thread
  uv_prepare_t turn;
  uv_check_t awake;
  uv_idle_t busy;  // active: the loop does not wait for events
  uv_timer_t timer;
  uv_timer_t drain_timer;
  uv_signal_t signals[2];  // SIGTERM and SIGINT
  uv_signal_t hangup;      // SIGHUP
  fc_notify_t notify;
  // Descriptors that the kernel watches for this user at most; 0: not known.
  uint64_t watches;
  uint64_t timer_due_ms;  // when `timer` is due; UINT64_MAX: it is not set

  fc_sessions_t sessions;
  uint64_t looked_at_sessions_ns;
  // The part of the loop that code which answers requests can use.
  fc_server_t server;
  fc_http1_t http1;
  fc_http2_t http2;
  // The worker halves of the dialects of fc_loop_init's `routes`.
  const fc_dialect_worker_t *dialects[FC_DIALECTS_MAX];

  fc_module_policies_t policies;  // in force
  fc_trust_t trust;               // of --trust; zeroed without that option
  fc_modules_t modules;
  fc_watch_t watch;
  uv_poll_t watch_poll;
  // Runs from a change of files until the PATHs are listed.
  uv_timer_t watch_settle;
  uv_timer_t watch_timer;  // --watch-interval
  // Settings with which modules are loaded, such as vm.state.
  fc_setting_t settings[2];
  fc_blocks_t *blocks;
  fc_jailing_t jail;
  fc_groups_t groups;
  fc_pool_t pool;
  fc_process_options_t processes;
  int exit_code;
  uint64_t reserved_files;  // descriptors that connections must leave free
} fc_loop_t;

// Makes everything that a loop owns, listens, and begins to load modules. Borrows the
// texts of `options`, `backends` (NULL-terminated) and `routes`. Errors include
// FC_CODE_FORBIDDEN (an address needs --allow-insecure-bind), FC_CODE_NOT_ACCEPTABLE (an
// address or option can't be read), FC_CODE_MODULE_UNAVAILABLE (an address can't be used,
// or the kernel can't keep --sandbox) and FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_loop_init(fc_loop_t *loop, fc_allocator_t allocator,
                         const fc_server_options_t *options,
                         const fc_backend_t *const *backends,
                         const fc_routes_t *routes, int log_descriptor,
                         fc_error_t *err) FC_MUST_CHECK;
// Serves until SIGTERM, SIGINT or fc_loop_stop. Also ends after the start if a module has
// failed and --strict-load is given, or if there is no module and none can come. Returns
// the exit code.
int fc_loop_run(fc_loop_t *loop);
// Ends the loop like one SIGTERM: --pre-drain passes, then the loop drains. Any thread.
void fc_loop_stop(fc_loop_t *loop);
// Call it after fc_loop_run. After a failed fc_loop_init there is nothing to deinit.
void fc_loop_deinit(fc_loop_t *loop);

#endif  // FARCALL_SERVER_SERVER_H_
