// SPDX-License-Identifier: Apache-2.0
//
// farcall top: shows what a server does now. It reads the server's documents once a
// second and shows the differences; `--once` shows the totals since the server started.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "conditions.h"
#include "file.h"
#include "remote.h"
#include "style.h"

#define ARENA_BLOCK (256u << 10)
#define ARENA_LIMIT ((size_t)1 << 30)
#define ROWS_DEFAULT 40  // lines of a terminal that does not say
#define HEAD_ROWS 7

// The totals of a function since the server started.
typedef struct fc_top_row_t {
  const char *name;
  double calls;  // that succeeded
  double failed;
  double ns;        // of the calls that succeeded, together
  double queue_ns;  // the part of `ns` in the queue
  double call_ns;   // the part of `ns` in the module
} fc_top_row_t;

// A module, and the host that runs it.
typedef struct fc_top_module_t {
  const char *name;  // as in metrics: with the version if the file has one
  const char *state;
  double memory;
  double waiting;    // calls
  double running;    // calls
  double processes;  // 0: it runs in threads of the server
  double refused;    // calls since it was loaded (is_refusal)
} fc_top_module_t;

// A condition.
typedef struct fc_top_fault_t {
  const char *severity;
  const char *what;  // "m@2 quarantined: function 'f' was stopped by …"
} fc_top_fault_t;

// The data of one second. Its pointers lead into `arena`.
typedef struct fc_top_view_t {
  fc_arena_t arena;
  uint64_t at_ns;
  const char *server;  // "farcalld 0.1.0, up 20 s, ready"
  const char *load;
  double uptime_s;
  double sessions;
  double session_bytes;  // of their values
  fc_top_row_t *rows;
  size_t count;
  fc_top_module_t *modules;
  size_t module_count;
  fc_top_fault_t *faults;
  size_t fault_count;
} fc_top_view_t;

static double number(yyjson_val *object, const char *key) {
  return yyjson_get_num(yyjson_obj_get(object, key));
}

static double number_in(yyjson_val *object, const char *group,
                        const char *key) {
  return number(yyjson_obj_get(object, group), key);
}

// ---------------------------------------------------------------------------
// Reading

static int read_server(const fc_args_t *args, fc_top_view_t *view) {
  fc_str_t text;
  yyjson_doc *doc;
  const int exit_code =
      fc_remote_get_json(args, "/api/v1", "uptime_ms", &text, &doc);
  if (exit_code) return exit_code;
  yyjson_val *root = yyjson_doc_get_root(doc);
  view->uptime_s = number(root, "uptime_ms") / 1000;
  const char *version = yyjson_get_str(yyjson_obj_get(root, "version"));
  view->server = fc_print(
      args->arena, "farcalld %s, up %.0f s, %s, %.0f modules, %.0f workers",
      version ? version : "?", view->uptime_s,
      yyjson_get_bool(yyjson_obj_get(root, "ready")) ? "ready" : "not ready",
      number(root, "modules"), number(root, "workers"));
  view->load =
      fc_print(args->arena,
               "connections %.0f, waiting %.0f, running %.0f, memory of "
               "requests %.1f MiB",
               number_in(root, "in_flight", "connections"),
               number_in(root, "in_flight", "waiting"),
               number_in(root, "in_flight", "running"),
               number_in(root, "in_flight", "bytes") / 1048576);
  yyjson_doc_free(doc);
  return view->server && view->load
             ? FC_EXIT_OK
             : fc_complain(FC_EXIT_FAILED, "out of memory");
}

static fc_top_row_t read_row(fc_arena_t *arena, yyjson_val *model) {
  const char *version = fc_text_of(model, "version");
  yyjson_val *stats = yyjson_obj_get(model, "inference_stats");
  // A file without a version has version 1.
  const bool plain = !*version || !strcmp(version, "1");
  return (fc_top_row_t){
      .name = fc_print(arena, "%s%s%s", fc_text_of(model, "name"),
                       plain ? "" : "@", plain ? "" : version),
      .calls = number_in(stats, "success", "count"),
      .failed = number_in(stats, "fail", "count"),
      .ns = number_in(stats, "success", "ns"),
      .queue_ns = number_in(stats, "queue", "ns"),
      .call_ns = number_in(stats, "compute_infer", "ns"),
  };
}

static int read_functions(const fc_args_t *args, fc_top_view_t *view) {
  fc_str_t text;
  yyjson_doc *doc;
  const int exit_code =
      fc_remote_get_json(args, "/v2/models/stats", "model_stats", &text, &doc);
  if (exit_code) return exit_code;
  yyjson_val *models = yyjson_obj_get(yyjson_doc_get_root(doc), "model_stats");
  yyjson_val *model;
  size_t index, count;
  view->rows = fc_arena_alloc_array(args->arena, yyjson_arr_size(models) + 1,
                                    sizeof *view->rows);
  view->count = 0;
  bool fits = view->rows != NULL;
  yyjson_arr_foreach(models, index, count, model) {
    if (!fits) break;
    view->rows[view->count] = read_row(args->arena, model);
    fits = view->rows[view->count++].name != NULL;
  }
  yyjson_doc_free(doc);
  return fits ? FC_EXIT_OK : fc_complain(FC_EXIT_FAILED, "out of memory");
}

// Adds the conditions of a module, or of the server (""). False: no memory.
static bool read_faults(fc_arena_t *arena, const char *name,
                        yyjson_val *conditions, fc_top_view_t *view) {
  yyjson_val *condition;
  size_t index, count;
  const size_t room = yyjson_arr_size(conditions);
  if (!room) return true;
  fc_top_fault_t *all =
      fc_arena_alloc_array(arena, view->fault_count + room, sizeof *all);
  if (!all) return false;
  if (view->fault_count) {
    memcpy(all, view->faults, view->fault_count * sizeof *all);
  }
  view->faults = all;
  yyjson_arr_foreach(conditions, index, count, condition) {
    const char *detail = fc_text_of(condition, "detail");
    fc_top_fault_t *fault = &all[view->fault_count++];
    fault->severity = fc_print(arena, "%s", fc_text_of(condition, "severity"));
    fault->what = fc_print(arena, "%s %s: %s", *name ? name : "the server",
                           fc_text_of(condition, "code"),
                           *detail ? detail : fc_text_of(condition, "text"));
    if (!fault->severity || !fault->what) return false;
  }
  return true;
}

// Returns "quarantined" if a condition of the module says so; otherwise the module's
// state.
static const char *state_of(yyjson_val *module) {
  static const char kQuarantined[] = "quarantined";
  yyjson_val *condition;
  size_t index, count;
  yyjson_arr_foreach(yyjson_obj_get(module, "conditions"), index, count,
                     condition) {
    if (!strcmp(fc_text_of(condition, "code"), kQuarantined)) {
      return kQuarantined;
    }
  }
  const char *state = fc_text_of(module, "state");
  return *state ? state : "?";
}

static bool read_module(fc_arena_t *arena, yyjson_val *module,
                        fc_top_view_t *view) {
  const char *name = fc_text_of(module, "label");
  if (!*name) name = fc_text_of(module, "name");
  fc_top_module_t *row = &view->modules[view->module_count++];
  *row = (fc_top_module_t){.name = fc_print(arena, "%s", name),
                           .state = fc_print(arena, "%s", state_of(module)),
                           .memory = number(module, "memory")};
  return row->name && row->state &&
         read_faults(arena, name, yyjson_obj_get(module, "conditions"), view);
}

static int read_modules(const fc_args_t *args, fc_top_view_t *view) {
  fc_str_t text;
  yyjson_doc *doc;
  const int exit_code =
      fc_remote_get_json(args, FC_REMOTE_HEALTH, "modules", &text, &doc);
  if (exit_code) return exit_code;
  yyjson_val *root = yyjson_doc_get_root(doc), *module;
  yyjson_val *modules = yyjson_obj_get(root, "modules");
  size_t index, count;
  view->modules = fc_arena_alloc_array(
      args->arena, yyjson_arr_size(modules) + 1, sizeof *view->modules);
  view->module_count = 0;
  view->fault_count = 0;
  bool fits =
      view->modules &&
      read_faults(args->arena, "", yyjson_obj_get(root, "conditions"), view);
  yyjson_arr_foreach(modules, index, count, module) {
    if (!fits) break;
    fits = read_module(args->arena, module, view);
  }
  yyjson_doc_free(doc);
  return fits ? FC_EXIT_OK : fc_complain(FC_EXIT_FAILED, "out of memory");
}

// Reads the value of a metric, which is a whole number.
static double read_count(fc_str_t text) {
  double value = 0;
  for (size_t i = 0; i < text.size && i < 15; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') break;
    value = value * 10 + (text.data[i] - '0');
  }
  return value;
}

// Is the code in `labels` one of calls that were refused although nothing was wrong with
// them?
static bool is_refusal(fc_str_t labels) {
  static const char *const kCodes[] = {
      "overloaded", "call_quarantined", "module_quarantined",
      "module_unavailable", "too_many_requests"};
  static const char kMark[] = ",code=\"";
  const char *at =
      labels.size ? memmem(labels.data, labels.size, kMark, sizeof kMark - 1)
                  : NULL;
  for (size_t i = 0; at && i < FC_ARRAY_COUNT(kCodes); i++) {
    const fc_str_t rest = {
        at + sizeof kMark - 1,
        labels.size - (size_t)(at - labels.data) - (sizeof kMark - 1)};
    if (fc_str_starts(rest, fc_str(kCodes[i])) &&
        fc_str_starts(fc_str_make(rest.data + strlen(kCodes[i]),
                                  rest.size - strlen(kCodes[i])),
                      FC_STR("\"} "))) {
      return true;
    }
  }
  return false;
}

static fc_top_module_t *find_module(const fc_top_view_t *view, fc_str_t name) {
  for (size_t i = 0; i < view->module_count; i++) {
    if (fc_str_equal(name, fc_str(view->modules[i].name))) {
      return &view->modules[i];
    }
  }
  return NULL;
}

// Reads a line of /metrics:
// farcall_calls_total{module="m",function="f",code="overloaded"} 3
static void read_refusal(fc_str_t module, fc_str_t rest,
                         const fc_top_view_t *view) {
  fc_top_module_t *row = is_refusal(rest) ? find_module(view, module) : NULL;
  const char *space = row ? memrchr(rest.data, ' ', rest.size) : NULL;
  if (!space) return;
  row->refused += read_count(
      fc_str_make(space + 1, rest.size - (size_t)(space + 1 - rest.data)));
}

// Reads a line of /metrics about the whole server: farcall_sessions 3
static void read_total(fc_str_t line, fc_top_view_t *view) {
  const fc_str_t name = fc_str_take(&line, ' ');
  if (fc_str_equal(name, FC_STR("farcall_sessions"))) {
    view->sessions = read_count(line);
  }
  if (fc_str_equal(name, FC_STR("farcall_session_bytes"))) {
    view->session_bytes = read_count(line);
  }
}

// Reads a line of /metrics: farcall_calls_waiting{module="m"} 3
static void read_metric(fc_str_t line, fc_top_view_t *view) {
  static const struct {
    const char *name;
    size_t offset;
  } kMetrics[] = {
      {"farcall_calls_waiting", offsetof(fc_top_module_t, waiting)},
      {"farcall_calls_running", offsetof(fc_top_module_t, running)},
      {"farcall_worker_processes", offsetof(fc_top_module_t, processes)},
  };
  const fc_str_t name = fc_str_take(&line, '{');
  if (!line.size) read_total(name, view);
  const fc_str_t label = fc_str_take(&line, '"');
  const fc_str_t module = fc_str_take(&line, '"');
  if (!fc_str_equal(label, FC_STR("module="))) return;
  if (fc_str_equal(name, FC_STR("farcall_calls_total"))) {
    read_refusal(module, line, view);
  }
  if (!fc_str_starts(line, FC_STR("} "))) return;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kMetrics); i++) {
    if (!fc_str_equal(name, fc_str(kMetrics[i].name))) continue;
    char *row = (char *)find_module(view, module);
    const double value = read_count(fc_str_make(line.data + 2, line.size - 2));
    if (row) memcpy(row + kMetrics[i].offset, &value, sizeof value);
  }
}

static int read_metrics(const fc_args_t *args, fc_top_view_t *view) {
  fc_reply_t answer;
  view->sessions = view->session_bytes = 0;
  const int exit_code = fc_remote_get(args, "/metrics", &answer);
  if (exit_code) return exit_code;
  fc_str_t rest = answer.body;
  while (rest.size) read_metric(fc_str_take(&rest, '\n'), view);
  return FC_EXIT_OK;
}

static int read_view(const fc_args_t *args, fc_top_view_t *view) {
  fc_arena_reset(&view->arena);
  fc_args_t here = *args;
  here.arena = &view->arena;
  int exit_code = read_server(&here, view);
  view->at_ns = fc_clock_ns();
  if (!exit_code) exit_code = read_functions(&here, view);
  if (!exit_code) exit_code = read_modules(&here, view);
  return exit_code ? exit_code : read_metrics(&here, view);
}

// ---------------------------------------------------------------------------
// Differences

// Functions keep their places from one second to the next, unless modules are added or
// removed.
static const fc_top_row_t *find_row(const fc_top_view_t *view, const char *name,
                                    size_t place) {
  if (place < view->count && !strcmp(view->rows[place].name, name)) {
    return &view->rows[place];
  }
  for (size_t i = 0; i < view->count; i++) {
    if (!strcmp(view->rows[i].name, name)) return &view->rows[i];
  }
  return NULL;
}

// Returns what a function has done since `before`. The totals of a module that was loaded
// again start at 0.
static fc_top_row_t differ(const fc_top_row_t *now,
                           const fc_top_row_t *before) {
  if (!before || now->calls < before->calls || now->failed < before->failed) {
    return *now;
  }
  return (fc_top_row_t){.name = now->name,
                        .calls = now->calls - before->calls,
                        .failed = now->failed - before->failed,
                        .ns = now->ns - before->ns,
                        .queue_ns = now->queue_ns - before->queue_ns,
                        .call_ns = now->call_ns - before->call_ns};
}

// Sorts by calls, the most first, then by name.
static int by_calls(const void *a, const void *b) {
  const fc_top_row_t *left = a, *right = b;
  const double calls = left->calls + left->failed;
  const double others = right->calls + right->failed;
  if (calls != others) return calls > others ? -1 : 1;
  return strcmp(left->name, right->name);
}

// ---------------------------------------------------------------------------
// Showing

// Returns how many rows of each of the three tables fit.
static size_t table_rows(void) {
  struct winsize size;
  if (!isatty(STDOUT_FILENO)) return SIZE_MAX;
  const bool told = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row;
  const size_t rows = told ? size.ws_row : ROWS_DEFAULT;
  return rows > HEAD_ROWS + 2 ? (rows - HEAD_ROWS) / 3 : 1;
}

static void show_mean(double ns, double calls) {
  if (calls > 0) printf(" %11.1f", ns / calls / 1000);
  else printf(" %11s", "-");
}

// Prints the server's text, and spaces up to `width`.
static void show_cell(const char *text, int width) {
  const int size = (int)strlen(text);
  fc_show_text(text);
  printf("%*s", size < width ? width - size : 0, "");
}

// Returns the refused calls since `before`; if the module was loaded again, those since
// it was loaded.
static double refused_since(const fc_top_module_t *now,
                            const fc_top_view_t *before) {
  const fc_top_module_t *old =
      before ? find_module(before, fc_str(now->name)) : NULL;
  return old && old->refused <= now->refused ? now->refused - old->refused
                                             : now->refused;
}

static void show_modules(const fc_top_view_t *view, const fc_top_view_t *before,
                         double span_s, size_t most) {
  printf("\n%s%-32s %-11s %9s %9s %9s %9s %9s%s\n",
         fc_style(stdout, FC_STYLE_BOLD), "MODULE", "STATE", "PROCESSES",
         "WAITING", "RUNNING", "REFUSED/S", "MEMORY KB",
         fc_style(stdout, FC_STYLE_PLAIN));
  for (size_t i = 0; i < view->module_count && i < most; i++) {
    const fc_top_module_t *module = &view->modules[i];
    show_cell(module->name, 32);
    putchar(' ');
    show_cell(module->state, 11);
    printf(" %9.0f %9.0f %9.0f %9.1f %9.0f\n", module->processes,
           module->waiting, module->running,
           span_s > 0 ? refused_since(module, before) / span_s : 0,
           module->memory / 1e3);
  }
}

static void show_faults(const fc_top_view_t *view, size_t most) {
  if (view->fault_count) putchar('\n');
  for (size_t i = 0; i < view->fault_count && i < most; i++) {
    show_cell(view->faults[i].severity, 9);
    fc_show_text(view->faults[i].what);
    putchar('\n');
  }
}

static void show_sessions(const fc_top_view_t *view) {
  const bool mega = view->session_bytes >= 1048576;
  if (!view->sessions) return;
  printf(", %.0f sessions of %.1f %s", view->sessions,
         view->session_bytes / (mega ? 1048576 : 1024), mega ? "MiB" : "KiB");
}

static void show(const fc_top_view_t *now, const fc_top_view_t *before,
                 fc_top_row_t *rows) {
  const double span_s =
      before ? (double)(now->at_ns - before->at_ns) / 1e9 : now->uptime_s;
  for (size_t i = 0; i < now->count; i++) {
    const fc_top_row_t *row = &now->rows[i];
    rows[i] = differ(row, before ? find_row(before, row->name, i) : NULL);
  }
  qsort(rows, now->count, sizeof *rows, by_calls);
  if (isatty(STDOUT_FILENO)) fputs("\x1b[H\x1b[J", stdout);
  fc_show_text(now->server);
  show_sessions(now);
  printf("\n%s, rates %s\n\n%s%-32s %10s %10s %11s %11s %11s%s\n", now->load,
         before ? "of the last second" : "since the start",
         fc_style(stdout, FC_STYLE_BOLD), "FUNCTION", "CALLS/S", "FAILED/S",
         "MEAN US", "QUEUE US", "CALL US", fc_style(stdout, FC_STYLE_PLAIN));
  const size_t most = table_rows();
  for (size_t i = 0; i < now->count && i < most; i++) {
    const fc_top_row_t *row = &rows[i];
    show_cell(row->name, 32);
    printf(" %10.1f %10.1f", span_s > 0 ? row->calls / span_s : 0,
           span_s > 0 ? row->failed / span_s : 0);
    show_mean(row->ns, row->calls);
    show_mean(row->queue_ns, row->calls);
    show_mean(row->call_ns, row->calls);
    putchar('\n');
  }
  show_modules(now, before, span_s, most);
  show_faults(now, most);
  fflush(stdout);
}

static int watch(const fc_args_t *args, fc_top_view_t views[2]) {
  const bool once = fc_args_has(args, FC_OPTION_ONCE);
  for (size_t turn = 0;; turn++) {
    fc_top_view_t *now = &views[turn % 2];
    const int exit_code = read_view(args, now);
    if (exit_code) return exit_code;
    fc_top_row_t *rows =
        fc_arena_alloc_array(&now->arena, now->count + 1, sizeof *rows);
    if (!rows) return fc_complain(FC_EXIT_FAILED, "out of memory");
    show(now, turn ? &views[(turn + 1) % 2] : NULL, rows);
    if (once) return FC_EXIT_OK;
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  }
}

int fc_verb_top(const fc_args_t *args) {
  if (args->word_count) {
    return fc_complain(FC_EXIT_USAGE, "top takes no words");
  }
  fc_top_view_t views[2] = {0};
  for (size_t i = 0; i < 2; i++) {
    fc_arena_init(&views[i].arena, fc_allocator_system(), ARENA_BLOCK,
                  ARENA_LIMIT);
  }
  const int exit_code = watch(args, views);
  for (size_t i = 0; i < 2; i++) fc_arena_deinit(&views[i].arena);
  return exit_code;
}
