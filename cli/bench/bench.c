// SPDX-License-Identifier: Apache-2.0
//
// farcall bench: runs a load on one function of a server, from the command line to the
// report. Shows progress as one line on standard error, if that is a terminal.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/compare.h"
#include "bench/goal.h"
#include "bench/html.h"
#include "bench/report.h"
#include "bench/request.h"
#include "bench/search.h"
#include "file.h"
#include "input.h"

#define DOCUMENT_LIMIT ((size_t)64 << 20)
#define CONNECTIONS_DEFAULT 16
#define CONNECTIONS_OPEN 128  // for an open loop; it seldom needs all
#define RATE_MAX 1e7
#define DURATION_MAX_NS 8.64e13  // a day

typedef struct fc_bench_t {
  const fc_args_t *args;
  fc_bench_request_t request;
  fc_load_plan_t plan;
  fc_load_result_t result;
  fc_bench_goal_t goals[FC_BENCH_GOALS_MAX];
  size_t goal_count;
  fc_bench_step_t steps[FC_BENCH_STEPS_MAX];
  size_t step_count;
  size_t step_limit;
  fc_bench_point_t curve[FC_BENCH_STEPS_MAX];
  size_t curve_count;  // numbers of connections to try; 0: only the plan's
} fc_bench_t;

// ---------------------------------------------------------------------------
// Options

static bool read_count(const char *text, double most, double *out_value) {
  double value = 0;
  size_t i = 0;
  for (; text[i] >= '0' && text[i] <= '9' && i < 9; i++) {
    value = value * 10 + (text[i] - '0');
  }
  *out_value = value;
  return i > 0 && (!text[i] || !strcmp(text + i, "/s")) && value >= 1 &&
         value <= most;
}

static int take_count(const fc_args_t *args, fc_cli_option_t option,
                      const char *name, double most, double otherwise,
                      double *out_value) {
  const char *text = fc_args_get(args, option, NULL);
  *out_value = otherwise;
  if (!text || read_count(text, most, out_value)) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_USAGE, "--%s=%s is no number from 1 to %.0f", name,
                     text, most);
}

static int take_time(const fc_args_t *args, fc_cli_option_t option,
                     const char *name, const char *otherwise, double least_ns,
                     uint64_t *out_ns) {
  const char *text = fc_args_get(args, option, otherwise);
  double ns;
  if (!fc_bench_read_time(fc_str(text), &ns) || ns < least_ns ||
      ns > DURATION_MAX_NS) {
    return fc_complain(FC_EXIT_USAGE,
                       "--%s=%s is no time such as 10s, 500ms or 2m", name,
                       text);
  }
  *out_ns = (uint64_t)ns;
  return FC_EXIT_OK;
}

static const char *const kVerify[] = {"first", "sampled", "all"};

static int take_verify(fc_bench_t *bench) {
  const char *text = fc_args_get(bench->args, FC_OPTION_VERIFY, "all");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kVerify); i++) {
    if (strcmp(text, kVerify[i]) != 0) continue;
    bench->plan.verify = (fc_load_verify_t)i;
    return FC_EXIT_OK;
  }
  return fc_complain(FC_EXIT_USAGE,
                     "--verify=%s is none of first, sampled and all", text);
}

static int take_goals(fc_bench_t *bench) {
  fc_error_t err;
  fc_error_reset(&err);
  const fc_args_t *args = bench->args;
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_SLO) continue;
    if (fc_bench_goals_parse(fc_str(args->flags[i].value), bench->goals,
                             &bench->goal_count, &err)) {
      return fc_complain(FC_EXIT_USAGE, "%s", err.message);
    }
  }
  return FC_EXIT_OK;
}

static int take_steps(fc_bench_t *bench) {
  double steps;
  const int exit_code = take_count(bench->args, FC_OPTION_STEPS, "steps",
                                   FC_BENCH_STEPS_MAX, 0, &steps);
  bench->step_limit = (size_t)steps;
  if (exit_code || !bench->step_limit) return exit_code;
  if (!bench->goal_count) {
    return fc_complain(FC_EXIT_USAGE,
                       "--steps searches the highest rate that keeps a goal: "
                       "say which, as --slo='p99<5ms'");
  }
  if (bench->plan.rate <= 0) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_USAGE,
                     "--steps chooses the rates: leave out --rate");
}

static int by_connections(const void *a, const void *b) {
  const fc_bench_point_t *one = a, *other = b;
  return one->connections < other->connections
             ? -1
             : one->connections > other->connections;
}

// Reads --concurrency=N,N… and sorts the numbers, because they become a curve.
static int take_curve(fc_bench_t *bench) {
  const char *text = fc_args_get(bench->args, FC_OPTION_CONCURRENCY, "");
  if (!strchr(text, ',')) return FC_EXIT_OK;
  if (bench->plan.rate > 0 || bench->step_limit) {
    return fc_complain(FC_EXIT_USAGE,
                       "--concurrency=%s makes closed loops: leave out --rate "
                       "and --steps",
                       text);
  }
  fc_str_t list = fc_str(text);
  for (bool more = true; more;) {
    more = memchr(list.data, ',', list.size) != NULL;
    const fc_str_t word = fc_str_take(&list, ',');
    double count;
    char number[16];
    snprintf(number, sizeof number, "%.*s", FC_STR_ARG(word));
    if (bench->curve_count == FC_BENCH_STEPS_MAX ||
        word.size >= sizeof number ||
        !read_count(number, FC_LOAD_CONNECTIONS_MAX, &count)) {
      return fc_complain(FC_EXIT_USAGE,
                         "--concurrency=%s is no list of up to %u numbers from "
                         "1 to %u",
                         text, FC_BENCH_STEPS_MAX, FC_LOAD_CONNECTIONS_MAX);
    }
    bench->curve[bench->curve_count++].connections = (uint32_t)count;
  }
  qsort(bench->curve, bench->curve_count, sizeof bench->curve[0],
        by_connections);
  return FC_EXIT_OK;
}

static int take_options(fc_bench_t *bench) {
  const fc_args_t *args = bench->args;
  fc_load_plan_t *plan = &bench->plan;
  double connections;
  int exit_code =
      take_count(args, FC_OPTION_RATE, "rate", RATE_MAX, 0, &plan->rate);
  if (!exit_code) exit_code = take_goals(bench);
  if (!exit_code) exit_code = take_steps(bench);
  const bool open = plan->rate > 0 || bench->step_limit;
  if (!exit_code) exit_code = take_curve(bench);
  connections = bench->curve[0].connections;
  if (!exit_code && !bench->curve_count) {
    exit_code = take_count(
        args, FC_OPTION_CONCURRENCY, "concurrency", FC_LOAD_CONNECTIONS_MAX,
        open ? CONNECTIONS_OPEN : CONNECTIONS_DEFAULT, &connections);
  }
  if (exit_code) return exit_code;
  plan->connections = (uint32_t)connections;
  exit_code = take_time(args, FC_OPTION_DURATION, "duration", "10s", 1e6,
                        &plan->duration_ns);
  if (!exit_code) {
    exit_code =
        take_time(args, FC_OPTION_WARMUP, "warmup", "1s", 0, &plan->warmup_ns);
  }
  return exit_code ? exit_code : take_verify(bench);
}

// ---------------------------------------------------------------------------
// Progress

static void show_slice(void *context, const fc_load_slice_t *slice) {
  const fc_bench_t *bench = context;
  fprintf(stderr, "\r\x1b[K%.1f of %.3g s  %.0f/s  p50 %s  p99 %s  max %s",
          (double)slice->end_ns / 1e9, (double)bench->plan.duration_ns / 1e9,
          (double)slice->answers * 1e9 / (double)slice->span_ns,
          fc_page_time((double)slice->p50_ns).text,
          fc_page_time((double)slice->p99_ns).text,
          fc_page_time((double)slice->max_ns).text);
  if (slice->errors) {
    fprintf(stderr, "  errors %llu", (unsigned long long)slice->errors);
  }
  fflush(stderr);
}

static fc_status_t run_load(fc_bench_t *bench, fc_error_t *err) {
  const fc_status_t status = fc_load_run(&bench->plan, &bench->result, err);
  if (bench->plan.watch) fputs("\r\x1b[K", stderr);
  return status;
}

// Returns the stream for people: standard error if --save=- writes the JSON to standard
// output.
static FILE *stream_of(const fc_args_t *args) {
  const char *path = fc_args_get(args, FC_OPTION_SAVE, "");
  return strcmp(path, "-") == 0 ? stderr : stdout;
}

// ---------------------------------------------------------------------------
// The search for a rate

static fc_bench_verdict_t judge(const fc_bench_t *bench) {
  return fc_bench_judge(bench->goals, bench->goal_count, &bench->result);
}

static fc_status_t try_rate(fc_bench_t *bench, double rate,
                            fc_bench_verdict_t *out_verdict, fc_error_t *err) {
  bench->plan.rate = rate;
  FC_TRY(run_load(bench, err));
  const fc_load_result_t *result = &bench->result;
  const double answered = fc_bench_rate(result);
  *out_verdict =
      fc_bench_keeps_rate(rate, answered) ? judge(bench) : FC_BENCH_MISSED;
  fc_bench_step_t *step = &bench->steps[bench->step_count++];
  *step = (fc_bench_step_t){
      .rate = rate,
      .answered = answered,
      .p50_ns = fc_bench_histogram_quantile(&result->latency, 0.5),
      .p99_ns = fc_bench_histogram_quantile(&result->latency, 0.99),
      .max_ns = result->latency.max_ns,
      .verdict = *out_verdict,
  };
  FILE *stream = stream_of(bench->args);
  fc_bench_print_step(step, stream);
  fflush(stream);
  return FC_OK;
}

// The result is that of the best rate; if no rate meets the goals, that of the last one.
static fc_status_t search(fc_bench_t *bench, fc_error_t *err) {
  FILE *stream = stream_of(bench->args);
  fc_bench_verdict_t verdict;
  FC_TRY(try_rate(bench, 0, &verdict, err));
  fc_bench_search_t found = fc_bench_search_begin(bench->steps[0].answered);
  fc_load_result_t *best = fc_arena_alloc(bench->args->arena, sizeof *best, 16);
  if (!best) return fc_fail_memory(err);
  while (bench->step_count < bench->step_limit && !bench->result.interrupted) {
    const double rate = fc_bench_search_next(&found);
    FC_TRY(try_rate(bench, rate, &verdict, err));
    fc_bench_search_tell(&found, rate, verdict);
    if (verdict == FC_BENCH_MET) *best = bench->result;
  }
  if (found.best > 0) {
    best->interrupted = bench->result.interrupted;
    bench->result = *best;
    bench->plan.rate = found.best;
    fprintf(stream, "  the highest rate that keeps the goals: %.0f/s\n",
            found.best);
  } else {
    fprintf(stream, "  no rate that was tried %s\n",
            found.least > 0 ? "is known to keep the goals: run longer"
                            : "keeps the goals");
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Throughput over concurrency

// The result is that of the load with the most answers, with the errors of all loads.
static fc_status_t run_curve(fc_bench_t *bench, fc_error_t *err) {
  FILE *stream = stream_of(bench->args);
  const size_t wanted = bench->curve_count;
  fc_load_result_t *best = fc_arena_alloc(bench->args->arena, sizeof *best, 16);
  if (!best) return fc_fail_memory(err);
  size_t most = 0;
  best->interrupted = false;
  bench->curve_count = 0;
  while (bench->curve_count < wanted && !best->interrupted) {
    fc_bench_point_t *point = &bench->curve[bench->curve_count];
    fc_load_result_t *result = &bench->result;
    bench->plan.connections = point->connections;
    FC_TRY(run_load(bench, err));
    point->answered = fc_bench_rate(result);
    point->p50_ns = fc_bench_histogram_quantile(&result->latency, 0.5);
    point->p99_ns = fc_bench_histogram_quantile(&result->latency, 0.99);
    point->max_ns = result->latency.max_ns;
    point->errors = fc_bench_errors(result);
    fc_bench_print_point(point, stream);
    fflush(stream);
    if (!bench->curve_count) {
      *best = *result;
    } else if (point->answered > bench->curve[most].answered) {
      most = bench->curve_count;
      fc_bench_add_errors(result, best);
      *best = *result;
    } else {
      fc_bench_add_errors(best, result);
    }
    bench->curve_count++;
  }
  bench->result = *best;
  bench->plan.connections = bench->curve[most].connections;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The report

static fc_status_t save_page(const fc_args_t *args,
                             const fc_bench_document_t *documents, size_t count,
                             fc_error_t *err) {
  const char *path = fc_args_get(args, FC_OPTION_HTML, NULL);
  if (!path) return FC_OK;
  fc_text_t page;
  fc_text_init(&page, fc_allocator_system(), DOCUMENT_LIMIT);
  fc_status_t status = fc_bench_print_html(documents, count, &page.sink, err);
  if (status == FC_OK) {
    status = fc_file_write(args->arena, path, fc_text_str(&page), err);
  }
  fc_text_deinit(&page);
  return status;
}

// Writes the JSON to the file of --save, and a page made from it to the file of --html.
static fc_status_t save(const fc_args_t *args, fc_str_t json, fc_error_t *err) {
  const char *path = fc_args_get(args, FC_OPTION_SAVE, NULL);
  fc_bench_document_t document;
  if (path && !strcmp(path, "-")) {
    fwrite(json.data, 1, json.size, stdout);
  } else if (path) {
    FC_TRY(fc_file_write(args->arena, path, json, err));
  }
  FC_TRY(fc_bench_document_read(json, "this run", &document, err));
  const fc_status_t status = save_page(args, &document, 1, err);
  fc_bench_document_deinit(&document);
  return status;
}

static int save_all(const fc_bench_t *bench, const fc_bench_report_t *report) {
  fc_error_t err;
  fc_text_t text;
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), DOCUMENT_LIMIT);
  fc_status_t status = fc_bench_print_json(report, &text.sink, &err);
  if (status == FC_OK) status = save(bench->args, fc_text_str(&text), &err);
  fc_text_deinit(&text);
  return status == FC_OK ? FC_EXIT_OK
                         : fc_complain(FC_EXIT_DATA, "%s", err.message);
}

static int report(fc_bench_t *bench) {
  const fc_remote_t *server = &bench->request.server;
  fc_bench_machine_t machine;
  fc_bench_machine_read(&machine);
  const fc_bench_report_t made = {
      .server = bench->request.server.url,
      .target = bench->request.target,
      .protocol = bench->request.protocol,
      .verify = kVerify[bench->plan.verify],
      .input = bench->request.input,
      .example = bench->request.example,
      .input_sha256 = bench->request.input_sha256,
      .input_size = bench->request.input_size,
      .machine = &machine,
      .same_machine = server->socket || fc_remote_is_here(server->host),
      .plan = &bench->plan,
      .result = &bench->result,
      .goals = bench->goals,
      .goal_count = bench->goal_count,
      .steps = bench->steps,
      .step_count = bench->step_count,
      .curve = bench->curve,
      .curve_count = bench->curve_count,
  };
  fc_bench_print(&made, stream_of(bench->args));
  const int exit_code = save_all(bench, &made);
  if (exit_code) return exit_code;
  return fc_bench_errors(&bench->result) || judge(bench) != FC_BENCH_MET
             ? FC_EXIT_FAILED
             : FC_EXIT_OK;
}

static int run(fc_bench_t *bench) {
  fc_error_t err;
  fc_error_reset(&err);
  const fc_remote_t *server = bench->plan.server = &bench->request.server;
  bench->plan.request = bench->request.message;
  bench->plan.call = server->is_grpc ? &bench->request.call : NULL;
  bench->plan.expected = bench->request.expected;
  if (isatty(STDERR_FILENO)) {
    bench->plan.watch = show_slice;
    bench->plan.watch_context = bench;
  }
  const fc_status_t status = bench->step_limit    ? search(bench, &err)
                             : bench->curve_count ? run_curve(bench, &err)
                                                  : run_load(bench, &err);
  return status ? fc_remote_complain(&err) : report(bench);
}

// ---------------------------------------------------------------------------
// Comparing two results

static fc_status_t read_result(const fc_args_t *args, const char *path,
                               fc_bench_document_t *out_document,
                               fc_error_t *err) {
  fc_str_t json;
  FC_TRY(fc_file_read(args->arena, path, &json, err));
  return fc_bench_document_read(json, path, out_document, err);
}

static int compare(const fc_args_t *args) {
  fc_error_t err;
  fc_error_reset(&err);
  if (args->word_count != 2) {
    return fc_complain(FC_EXIT_USAGE,
                       "bench --compare takes two files of --save, got %zu",
                       args->word_count);
  }
  fc_bench_document_t both[2] = {0};
  fc_status_t status = read_result(args, args->words[0], &both[0], &err);
  if (status == FC_OK) {
    status = read_result(args, args->words[1], &both[1], &err);
  }
  if (status == FC_OK) {
    status = fc_bench_check_alike(&both[0], &both[1], &err);
  }
  if (status == FC_OK) {
    fc_bench_compare(&both[0], &both[1], stdout);
    status = save_page(args, both, 2, &err);
  }
  for (size_t i = 0; i < 2; i++) fc_bench_document_deinit(&both[i]);
  return status == FC_OK ? FC_EXIT_OK
                         : fc_complain(FC_EXIT_DATA, "%s", err.message);
}

int fc_verb_bench(const fc_args_t *args) {
  if (fc_args_has(args, FC_OPTION_COMPARE)) return compare(args);
  if (args->word_count != 1) {
    return fc_complain(FC_EXIT_USAGE,
                       "bench takes one MODULE/FUNCTION, or with --oip one "
                       "model, got %zu%s",
                       args->word_count, fc_input_words_hint(args));
  }
  fc_bench_t *bench = fc_arena_alloc_array(args->arena, 1, sizeof *bench);
  if (!bench) return fc_complain(FC_EXIT_FAILED, "out of memory");
  bench->args = args;
  int exit_code = take_options(bench);
  if (!exit_code) exit_code = fc_bench_request_make(args, &bench->request);
  return exit_code ? exit_code : run(bench);
}
