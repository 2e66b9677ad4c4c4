// SPDX-License-Identifier: Apache-2.0
//
// The page of a load: figures, latency by percentile, answers and latency over time, and
// the rates that --steps tried.
#include "bench/html.h"

#include <math.h>

#include "bench/load.h"
#include "bench/plot.h"
#include "bench/report.h"
#include "file.h"

#define POINTS_MAX 256
#define NINES_STEP 0.05

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t put_text(fc_sink_t *sink, const char *text,
                            fc_error_t *err) {
  return fc_page_text(sink, fc_str(text), err);
}

// ---------------------------------------------------------------------------
// Figures

static fc_status_t put_row(const fc_bench_document_t *documents, size_t count,
                           const char *name, double share, fc_sink_t *sink,
                           fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, "<tr><th scope=row>%s", name));
  for (size_t i = 0; i < count; i++) {
    const double ns = fc_bench_quantile(&documents[i], share).value;
    const bool known = share >= 1 || fc_bench_knows(&documents[i], share);
    FC_TRY(
        fc_print_to(sink, err, "<td>%s", known ? fc_page_time(ns).text : "-"));
  }
  return put(sink, "</tr>\n", err);
}

static fc_status_t put_number(const fc_bench_document_t *documents,
                              size_t count, const char *name, const char *key,
                              fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_print_to(sink, err, "<tr><th scope=row>%s", name));
  for (size_t i = 0; i < count; i++) {
    yyjson_val *root = documents[i].root,
               *errors = yyjson_obj_get(root, "errors");
    const double value = yyjson_obj_get(root, key)
                             ? fc_bench_number(root, key)
                             : fc_bench_number(errors, key);
    FC_TRY(fc_print_to(sink, err, "<td>%.8g", value));
  }
  return put(sink, "</tr>\n", err);
}

static fc_status_t put_texts(const fc_bench_document_t *documents, size_t count,
                             const char *name, const char *key, fc_sink_t *sink,
                             fc_error_t *err) {
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    any = any || *fc_bench_text(documents[i].root, key);
  }
  if (!any) return FC_OK;
  FC_TRY(fc_print_to(sink, err, "<tr><th scope=row>%s", name));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(put(sink, "<td>", err));
    FC_TRY(put_text(sink, fc_bench_text(documents[i].root, key), err));
  }
  return put(sink, "</tr>\n", err);
}

// Writes what was measured, when, where and how.
static fc_status_t put_circumstances(const fc_bench_document_t *documents,
                                     size_t count, fc_sink_t *sink,
                                     fc_error_t *err) {
  static const struct {
    const char *name, *key;
  } kTexts[] = {{"target", "target"},     {"server", "server"},
                {"date (UTC)", "date"},   {"farcall", "version"},
                {"processor", "cpu"},     {"system", "kernel"},
                {"arguments", "input"},   {"example", "example"},
                {"protocol", "protocol"}, {"compared", "verify"}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTexts); i++) {
    FC_TRY(
        put_texts(documents, count, kTexts[i].name, kTexts[i].key, sink, err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Sentences

// Writes a summary of one run's figures.
static fc_status_t put_verdict(const fc_bench_document_t *document,
                               fc_sink_t *sink, fc_error_t *err) {
  yyjson_val *errors = yyjson_obj_get(document->root, "errors");
  const double wrong = fc_bench_number(errors, "refused") +
                       fc_bench_number(errors, "broken") +
                       fc_bench_number(errors, "unanswered") +
                       fc_bench_number(errors, "different");
  const double connections = fc_bench_number(document->root, "connections");
  FC_TRY(put(sink, "<p class=verdict>", err));
  FC_TRY(put_text(sink, document->name, err));
  FC_TRY(fc_print_to(
      sink, err,
      ": %.6g answers a second over %.0f connection%s, half of them within %s",
      fc_bench_number(document->root, "answers_per_s"), connections,
      connections == 1 ? "" : "s",
      fc_page_time(fc_bench_quantile(document, 0.5).value).text));
  if (fc_bench_knows(document, 0.99)) {
    FC_TRY(fc_print_to(
        sink, err, ", 99 of 100 within %s",
        fc_page_time(fc_bench_quantile(document, 0.99).value).text));
  }
  if (wrong > 0) {
    return fc_print_to(sink, err, "; <b>%.0f went wrong</b>.</p>\n", wrong);
  }
  return put(sink, "; none went wrong.</p>\n", err);
}

// Writes why the figures may be wrong, or not valid elsewhere.
static fc_status_t put_caveats(const fc_bench_document_t *document,
                               fc_sink_t *sink, fc_error_t *err) {
  yyjson_val *root = document->root;
  const double late = fc_bench_number(root, "late");
  const struct {
    bool holds;
    const char *text;
  } rows[] = {
      {yyjson_get_bool(yyjson_obj_get(root, "same_machine")),
       "Server and load shared the processors of one machine."},
      {!strcmp(fc_bench_text(root, "input"), "example") &&
           !*fc_bench_text(root, "example"),
       "The arguments are the function's example, which may be zeros."},
      {!strcmp(fc_bench_text(root, "input"), "metadata"),
       "The arguments are zeros, made from the model's metadata."},
      {late > 0, "Requests were sent late, because the load had no processor."},
      {yyjson_get_bool(yyjson_obj_get(root, "interrupted")),
       "The load was interrupted."},
      {!fc_bench_knows(document, 0.99),
       "There are too few answers to say what 99 of 100 are within."},
      {!strcmp(fc_bench_text(root, "verify"), "first"),
       "Only the first answer of each connection was compared."}};
  bool any = false;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    if (!rows[i].holds) continue;
    FC_TRY(fc_print_to(sink, err, "%s<li>%s\n",
                       any ? "" : "<ul class=caveats>\n", rows[i].text));
    any = true;
  }
  return any ? put(sink, "</ul>\n", err) : FC_OK;
}

// ---------------------------------------------------------------------------

static fc_status_t put_table(const fc_bench_document_t *documents, size_t count,
                             fc_sink_t *sink, fc_error_t *err) {
  static const struct {
    const char *name, *key;
  } kNumbers[] = {{"asked a second (0: closed loop)", "rate"},
                  {"answers a second", "answers_per_s"},
                  {"connections", "connections"},
                  {"seconds", "duration_s"},
                  {"processors", "processors"},
                  {"answers compared", "compared"},
                  {"not as expected", "different"},
                  {"refused", "refused"},
                  {"connections broken", "broken"},
                  {"unanswered in time", "unanswered"}};
  static const struct {
    const char *name;
    double share;
  } kShares[] = {{"p50", 0.5},     {"p90", 0.9},       {"p99", 0.99},
                 {"p99.9", 0.999}, {"p99.99", 0.9999}, {"longest", 1}};
  FC_TRY(put(sink, "<table><tr><td>", err));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(fc_print_to(sink, err, "<th scope=col class=k%zu>", i));
    FC_TRY(put_text(sink, documents[i].name, err));
  }
  FC_TRY(put(sink, "</tr>\n", err));
  FC_TRY(put_circumstances(documents, count, sink, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNumbers); i++) {
    FC_TRY(put_number(documents, count, kNumbers[i].name, kNumbers[i].key, sink,
                      err));
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kShares); i++) {
    FC_TRY(put_row(documents, count, kShares[i].name, kShares[i].share, sink,
                   err));
  }
  return put(sink, "</table>\n", err);
}

// ---------------------------------------------------------------------------
// Plots

// Latency by percentile. x is the number of nines, so that the tail gets as much room as
// the rest.
static size_t percentiles(const fc_bench_document_t *document,
                          fc_plot_point_t *points) {
  yyjson_val *latency = yyjson_obj_get(document->root, "latency");
  const double answers = fc_bench_number(latency, "count");
  size_t count = 0;
  if (!(answers > 0)) return 0;
  // Up to the last percentile that fc_bench_is_known accepts, if there are more than a
  // few answers.
  const double most = log10(answers > 100 ? answers / 10 : answers);
  for (double nines = 0; count < POINTS_MAX; nines += NINES_STEP) {
    const double x = nines < most ? nines : most;
    const double ns = fc_bench_quantile(document, 1 - pow(10, -x)).value;
    points[count++] = (fc_plot_point_t){x, ns > 1 ? ns : 1};
    if (nines >= most) break;
  }
  return count;
}

static size_t over_time(const fc_bench_document_t *document, const char *key,
                        fc_plot_point_t *points) {
  yyjson_val *slices = yyjson_obj_get(document->root, "slices"), *slice;
  size_t index, count, used = 0;
  yyjson_arr_foreach(slices, index, count, slice) {
    if (used == POINTS_MAX) break;
    points[used++] = (fc_plot_point_t){fc_bench_number(slice, "end_s"),
                                       fc_bench_number(slice, key)};
  }
  return used;
}

// Gives the points of a plot: `key` of the slices, or latency by percentile if `key` is
// NULL.
static size_t series(const fc_bench_document_t *document, const char *key,
                     fc_plot_point_t *points) {
  return key ? over_time(document, key, points) : percentiles(document, points);
}

static fc_status_t put_marks(const fc_plot_t *plot, const char *key,
                             fc_error_t *err) {
  static const char *const kNines[] = {"p0",     "p90",     "p99",     "p99.9",
                                       "p99.99", "p99.999", "p99.9999"};
  if (key) return fc_plot_marks(plot, err);
  FC_TRY(fc_plot_mark(plot, log10(2), "p50", err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNines); i++) {
    FC_TRY(fc_plot_mark(plot, (double)i, kNines[i], err));
  }
  return FC_OK;
}

static fc_status_t put_plot(const fc_bench_document_t *documents, size_t count,
                            fc_plot_t plot, const char *key, fc_error_t *err) {
  fc_plot_point_t points[POINTS_MAX];
  plot.least.y = plot.log_y ? 1e18 : 0;
  for (size_t i = 0; i < count; i++) {
    fc_plot_include(&plot, points, series(&documents[i], key, points));
  }
  if (plot.least.y > plot.most.y) return FC_OK;  // there are no values
  FC_TRY(fc_plot_begin(&plot, err));
  FC_TRY(put_marks(&plot, key, err));
  for (size_t i = 0; i < count; i++) {
    const size_t used = series(&documents[i], key, points);
    FC_TRY(fc_plot_line(&plot, i, points, used, err));
  }
  return fc_plot_end(&plot, err);
}

static fc_status_t put_steps(const fc_bench_document_t *document,
                             fc_sink_t *sink, fc_error_t *err) {
  yyjson_val *steps = yyjson_obj_get(document->root, "steps"), *step;
  size_t index, count;
  fc_plot_t plot = {.title = "Rates that were tried: p99 latency",
                    .what_x = "requests a second; filled: the goals are kept",
                    .least = {0, 1e18},
                    .log_y = true,
                    .is_time = true,
                    .sink = sink};
  if (!yyjson_arr_size(steps)) return FC_OK;
  for (int draws = 0; draws < 2; draws++) {
    if (draws) FC_TRY(fc_plot_begin(&plot, err));
    if (draws) FC_TRY(put_marks(&plot, "rate", err));
    yyjson_arr_foreach(steps, index, count, step) {
      const double rate = fc_bench_number(step, "rate");
      const fc_plot_point_t point = {rate, fc_bench_number(step, "p99_ns") + 1};
      const bool met = yyjson_get_bool(yyjson_obj_get(step, "met"));
      if (!(rate > 0)) continue;  // the closed loop
      if (draws) FC_TRY(fc_plot_dot(&plot, met, point, err));
      else fc_plot_include(&plot, &point, 1);
    }
    if (plot.least.y > plot.most.y) return FC_OK;
  }
  return fc_plot_end(&plot, err);
}

static fc_status_t put_curve(const fc_bench_document_t *documents, size_t count,
                             fc_sink_t *sink, fc_error_t *err) {
  fc_plot_t plot = {.title = "Answers a second by connections",
                    .what_x = "connections",
                    .sink = sink};
  fc_plot_point_t points[2][POINTS_MAX];
  size_t used[2] = {0, 0};
  bool any = false;
  for (size_t i = 0; i < count && i < FC_ARRAY_COUNT(points); i++) {
    yyjson_val *curve = yyjson_obj_get(documents[i].root, "curve"), *point;
    size_t index, size;
    yyjson_arr_foreach(curve, index, size, point) {
      if (used[i] == POINTS_MAX) break;
      points[i][used[i]++] =
          (fc_plot_point_t){fc_bench_number(point, "connections"),
                            fc_bench_number(point, "answers_per_s")};
    }
    fc_plot_include(&plot, points[i], used[i]);
    any = any || used[i];
  }
  if (!any) return FC_OK;
  FC_TRY(fc_plot_begin(&plot, err));
  FC_TRY(fc_plot_marks(&plot, err));
  for (size_t i = 0; i < count && i < FC_ARRAY_COUNT(points); i++) {
    FC_TRY(fc_plot_line(&plot, i, points[i], used[i], err));
    for (size_t k = 0; k < used[i]; k++) {
      FC_TRY(fc_plot_dot(&plot, i == 0, points[i][k], err));
    }
  }
  return fc_plot_end(&plot, err);
}

fc_status_t fc_bench_print_html(const fc_bench_document_t *documents,
                                size_t count, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(fc_page_begin(sink, "farcall bench", err));
  FC_TRY(put(sink, "<h1>", err));
  FC_TRY(put_text(sink, fc_bench_text(documents[0].root, "target"), err));
  FC_TRY(put(sink, "</h1>\n<p>farcall bench of ", err));
  FC_TRY(put_text(sink, fc_bench_text(documents[0].root, "server"), err));
  FC_TRY(put(sink, "</p>\n", err));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(put_verdict(&documents[i], sink, err));
    FC_TRY(put_caveats(&documents[i], sink, err));
  }
  FC_TRY(put_table(documents, count, sink, err));
  FC_TRY(put_curve(documents, count, sink, err));
  FC_TRY(put_plot(documents, count,
                  (fc_plot_t){.title = "Latency by percentile",
                              .what_x = "of all requests",
                              .log_y = true,
                              .is_time = true,
                              .sink = sink},
                  NULL, err));
  FC_TRY(put_plot(
      documents, count,
      (fc_plot_t){
          .title = "Answers a second", .what_x = "seconds", .sink = sink},
      "answers_per_s", err));
  FC_TRY(put_plot(documents, count,
                  (fc_plot_t){.title = "p99 latency over time",
                              .what_x = "seconds",
                              .log_y = true,
                              .is_time = true,
                              .sink = sink},
                  "p99_ns", err));
  for (size_t i = 0; i < count; i++) {
    FC_TRY(put_steps(&documents[i], sink, err));
  }
  return put(sink, "</main></html>\n", err);
}
