// SPDX-License-Identifier: Apache-2.0
//
// The result of a load, for people and as JSON.
#include "bench/report.h"

#include <inttypes.h>
#include <stdarg.h>

#include "cli.h"
#include "farcall/version.h"
#include "file.h"
#include "json/writer.h"
#include "style.h"

static const struct {
  const char *name;
  double share;
} kShares[] = {{"p50", 0.5},  {"p75", 0.75},    {"p90", 0.9},
               {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};

// ---------------------------------------------------------------------------
// For people

static void print_latency(const char *name, const fc_bench_histogram_t *latency,
                          FILE *stream) {
  fprintf(stream, "  %-9s", name);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kShares); i++) {
    if (!fc_bench_is_known((double)latency->count, kShares[i].share)) break;
    const uint64_t ns = fc_bench_histogram_quantile(latency, kShares[i].share);
    fprintf(stream, " %s %s  ", kShares[i].name, fc_page_time((double)ns).text);
  }
  fprintf(stream, " max %s\n", fc_page_time((double)latency->max_ns).text);
}

static void print_errors(const fc_load_result_t *result, FILE *stream) {
  const struct {
    uint64_t count;
    const char *what;
  } rows[] = {{result->refused, "refused"},
              {result->broken, "connections broken"},
              {result->unanswered, "unanswered in time"},
              {result->different, "answers not as expected"}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    if (!rows[i].count) continue;
    fprintf(stream, "  errors    %" PRIu64 " %s\n", rows[i].count,
            rows[i].what);
  }
  if (result->first_status) {
    fprintf(stream, "  the first refused: %d ", result->first_status);
    fc_show(stream, fc_str_make(result->first_body, result->first_size));
    fputc('\n', stream);
  }
}

static void print_goals(const fc_bench_report_t *report, FILE *stream) {
  for (size_t i = 0; i < report->goal_count; i++) {
    const fc_bench_goal_t *goal = &report->goals[i];
    const double figure = fc_bench_goal_figure(goal, report->result);
    const bool count = goal->name && (!strcmp(goal->name, "errors") ||
                                      !strcmp(goal->name, "rate"));
    const bool met = fc_bench_goal_is_met(goal, report->result);
    if (!fc_bench_goal_is_known(goal, report->result)) {
      fprintf(stream,
              "  goal      %.*s: not known, %.0f requests are needed and there "
              "are %" PRIu64 "\n",
              FC_STR_ARG(goal->text), 10 / (1 - goal->share),
              report->result->latency.count);
      continue;
    }
    fprintf(stream, "  goal      %.*s: %s%s%s, ", FC_STR_ARG(goal->text),
            fc_style(stream, met ? FC_STYLE_GOOD : FC_STYLE_BAD),
            met ? "met" : "missed", fc_style(stream, FC_STYLE_PLAIN));
    if (count) fprintf(stream, "%.0f\n", figure);
    else fprintf(stream, "%s\n", fc_page_time(figure).text);
  }
}

// Prints where the arguments come from. Without a choice of the user they are zeros,
// which may be faster than other values.
static void print_input(const fc_bench_report_t *report, FILE *stream) {
  if (*report->example) {
    fputs("  input     the example '", stream);
    fc_show(stream, fc_str(report->example));
    fprintf(stream, "', %zu bytes\n", report->input_size);
    return;
  }
  if (!strcmp(report->input, "given")) return;
  fprintf(stream,
          "  input     made up from the %s, %zu bytes: --input or --json has "
          "another\n",
          strcmp(report->input, "example") == 0 ? "function's example"
                                                : "model's metadata",
          report->input_size);
}

void fc_bench_print(const fc_bench_report_t *report, FILE *stream) {
  const fc_load_plan_t *plan = report->plan;
  const fc_load_result_t *result = report->result;
  fprintf(stream, "%s of %s\n", report->target, report->server);
  fprintf(stream, "  %u connection%s, ", plan->connections,
          plan->connections == 1 ? "" : "s");
  if (plan->rate > 0) fprintf(stream, "%.6g requests a second", plan->rate);
  else fprintf(stream, "closed loop");
  fprintf(stream, ", %.3g s%s\n", (double)result->duration_ns / 1e9,
          result->interrupted ? " (interrupted)" : "");
  print_input(report, stream);
  fprintf(stream, "  answers   %" PRIu64, result->answers);
  if (result->answers < result->latency.count) {
    fprintf(stream, " in time, of %" PRIu64 " requests", result->latency.count);
  }
  if (result->answers > result->latency.count) {
    fprintf(stream, " to %" PRIu64 " requests and some from before",
            result->latency.count);
  }
  fprintf(stream, ", %.6g a second\n", fc_bench_rate(result));
  print_latency("latency", &result->latency, stream);
  if (plan->rate > 0) print_latency("once sent", &result->service, stream);
  fprintf(stream, "  compared  %" PRIu64 " answers, %" PRIu64 " different\n",
          result->compared, result->different);
  print_errors(result, stream);
  if (result->late) {
    fprintf(stream,
            "  note: this program sent %" PRIu64
            " requests more than 1 ms late: it had no processor\n",
            result->late);
  }
  print_goals(report, stream);
}

void fc_bench_print_step(const fc_bench_step_t *step, FILE *stream) {
  static const char *const kVerdicts[] = {"missed", "met", "not known"};
  char rate[32] = "closed loop";
  if (step->rate > 0) snprintf(rate, sizeof rate, "%.0f/s", step->rate);
  fprintf(stream, "  %-12s answered %.0f/s  p50 %s  p99 %s  max %s  %s\n", rate,
          step->answered, fc_page_time((double)step->p50_ns).text,
          fc_page_time((double)step->p99_ns).text,
          fc_page_time((double)step->max_ns).text, kVerdicts[step->verdict]);
}

void fc_bench_print_point(const fc_bench_point_t *point, FILE *stream) {
  fprintf(stream, "  %-12u answered %.0f/s  p50 %s  p99 %s  max %s",
          point->connections, point->answered,
          fc_page_time((double)point->p50_ns).text,
          fc_page_time((double)point->p99_ns).text,
          fc_page_time((double)point->max_ns).text);
  if (point->errors) fprintf(stream, "  errors %" PRIu64, point->errors);
  fputc('\n', stream);
}

// ---------------------------------------------------------------------------
// JSON

static fc_status_t put_text(fc_sink_t *sink, fc_error_t *err, const char *key,
                            const char *text) {
  FC_TRY(fc_print_to(sink, err, ",\"%s\":", key));
  return fc_json_write_string(sink, fc_str(text), err);
}

static fc_status_t put_latency(const char *key,
                               const fc_bench_histogram_t *latency,
                               fc_sink_t *sink, fc_error_t *err) {
  const uint64_t count = latency->count;
  FC_TRY(fc_print_to(sink, err,
                     ",\"%s\":{\"count\":%" PRIu64 ",\"mean_ns\":%" PRIu64
                     ",\"min_ns\":%" PRIu64,
                     key, count, count ? latency->sum_ns / count : 0,
                     latency->min_ns));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kShares); i++) {
    FC_TRY(fc_print_to(sink, err, ",\"%s_ns\":%" PRIu64, kShares[i].name,
                       fc_bench_histogram_quantile(latency, kShares[i].share)));
  }
  FC_TRY(fc_print_to(sink, err, ",\"max_ns\":%" PRIu64 ",\"buckets\":[",
                     latency->max_ns));
  bool any = false;
  for (size_t i = 0; i < FC_BENCH_HISTOGRAM_BUCKETS; i++) {
    if (!latency->buckets[i]) continue;
    FC_TRY(fc_print_to(sink, err, "%s[%" PRIu64 ",%" PRIu64 "]", any ? "," : "",
                       fc_bench_histogram_upper(i), latency->buckets[i]));
    any = true;
  }
  return fc_print_to(sink, err, "]}");
}

static fc_status_t put_slices(const fc_load_result_t *result, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, ",\"slices\":["));
  for (size_t i = 0; i < result->slice_count; i++) {
    const fc_load_slice_t *slice = &result->slices[i];
    FC_TRY(fc_print_to(
        sink, err,
        "%s{\"end_s\":%.3f,\"answers_per_s\":%.3f,\"errors\":%" PRIu64
        ",\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
        "}",
        i ? "," : "", (double)slice->end_ns / 1e9,
        (double)slice->answers * 1e9 / (double)slice->span_ns, slice->errors,
        slice->p50_ns, slice->p99_ns, slice->max_ns));
  }
  return fc_print_to(sink, err, "]");
}

static fc_status_t put_goals(const fc_bench_report_t *report, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, ",\"goals\":["));
  for (size_t i = 0; i < report->goal_count; i++) {
    const fc_bench_goal_t *goal = &report->goals[i];
    FC_TRY(fc_print_to(sink, err, "%s{\"goal\":", i ? "," : ""));
    FC_TRY(fc_json_write_string(sink, goal->text, err));
    FC_TRY(fc_print_to(
        sink, err, ",\"figure\":%.3f,\"known\":%s,\"met\":%s}",
        fc_bench_goal_figure(goal, report->result),
        fc_bench_goal_is_known(goal, report->result) ? "true" : "false",
        fc_bench_goal_is_met(goal, report->result) ? "true" : "false"));
  }
  return fc_print_to(sink, err, "]");
}

static fc_status_t put_steps(const fc_bench_report_t *report, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, ",\"steps\":["));
  for (size_t i = 0; i < report->step_count; i++) {
    const fc_bench_step_t *step = &report->steps[i];
    FC_TRY(fc_print_to(
        sink, err,
        "%s{\"rate\":%.3f,\"answers_per_s\":%.3f,\"p50_ns\":%" PRIu64
        ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
        ",\"known\":%s,\"met\":%s}",
        i ? "," : "", step->rate, step->answered, step->p50_ns, step->p99_ns,
        step->max_ns, step->verdict != FC_BENCH_UNKNOWN ? "true" : "false",
        step->verdict == FC_BENCH_MET ? "true" : "false"));
  }
  return fc_print_to(sink, err, "]");
}

static fc_status_t put_curve(const fc_bench_report_t *report, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, ",\"curve\":["));
  for (size_t i = 0; i < report->curve_count; i++) {
    const fc_bench_point_t *point = &report->curve[i];
    FC_TRY(fc_print_to(
        sink, err,
        "%s{\"connections\":%u,\"answers_per_s\":%.3f,\"p50_ns\":%" PRIu64
        ",\"p99_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64 ",\"errors\":%" PRIu64
        "}",
        i ? "," : "", point->connections, point->answered, point->p50_ns,
        point->p99_ns, point->max_ns, point->errors));
  }
  return fc_print_to(sink, err, "]");
}

fc_status_t fc_bench_print_json(const fc_bench_report_t *report,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_load_plan_t *plan = report->plan;
  const fc_load_result_t *result = report->result;
  const fc_bench_machine_t *machine = report->machine;
  FC_TRY(fc_print_to(sink, err, "{\"farcall_bench\":1,\"version\":\"%s\"",
                     fc_version()));
  FC_TRY(put_text(sink, err, "server", report->server));
  FC_TRY(put_text(sink, err, "target", report->target));
  FC_TRY(put_text(sink, err, "protocol", report->protocol));
  FC_TRY(put_text(sink, err, "verify", report->verify));
  FC_TRY(put_text(sink, err, "date", machine->date));
  FC_TRY(put_text(sink, err, "cpu", machine->cpu));
  FC_TRY(put_text(sink, err, "kernel", machine->kernel));
  FC_TRY(fc_print_to(sink, err, ",\"processors\":%u,\"same_machine\":%s",
                     machine->processors,
                     report->same_machine ? "true" : "false"));
  FC_TRY(put_text(sink, err, "input", report->input));
  FC_TRY(put_text(sink, err, "example", report->example));
  FC_TRY(put_text(sink, err, "input_sha256", report->input_sha256));
  FC_TRY(fc_print_to(sink, err, ",\"input_size\":%zu", report->input_size));
  FC_TRY(fc_print_to(
      sink, err,
      ",\"loop\":\"%s\",\"rate\":%.3f,\"connections\":%u"
      ",\"duration_s\":%.6f,\"interrupted\":%s,\"answers\":%" PRIu64
      ",\"answers_per_s\":%.3f,\"compared\":%" PRIu64 ",\"late\":%" PRIu64,
      plan->rate > 0 ? "open" : "closed", plan->rate, plan->connections,
      (double)result->duration_ns / 1e9, result->interrupted ? "true" : "false",
      result->answers, fc_bench_rate(result), result->compared, result->late));
  FC_TRY(fc_print_to(sink, err,
                     ",\"errors\":{\"refused\":%" PRIu64 ",\"broken\":%" PRIu64
                     ",\"unanswered\":%" PRIu64 ",\"different\":%" PRIu64 "}",
                     result->refused, result->broken, result->unanswered,
                     result->different));
  FC_TRY(put_latency("latency", &result->latency, sink, err));
  FC_TRY(put_latency("service", &result->service, sink, err));
  FC_TRY(put_slices(result, sink, err));
  FC_TRY(put_goals(report, sink, err));
  FC_TRY(put_curve(report, sink, err));
  FC_TRY(put_steps(report, sink, err));
  return fc_print_to(sink, err, "}\n");
}
