// SPDX-License-Identifier: Apache-2.0
//
// Results side by side. A difference is told when the intervals of 95 % do not meet.
// The intervals do not cover how the machine changes from one run to the next, so runs
// that alternate say more.
#include "bench/compare.h"

#include "bench/report.h"
#include "cli.h"

static const char *judge(const fc_bench_figure_t *old,
                         const fc_bench_figure_t *new, bool more_is_better) {
  const bool less = new->high<old->low, more = new->low> old->high;
  if (!less && !more) return "no difference that can be told";
  return more == more_is_better ? "better" : "worse";
}

static void print_change(const fc_bench_figure_t *old,
                         const fc_bench_figure_t *new, bool more_is_better,
                         FILE *stream) {
  if (old->value > 0) {
    fprintf(stream, "  %+7.1f %%", (new->value / old->value - 1) * 100);
  } else {
    fprintf(stream, "  %9s", "-");
  }
  fprintf(stream, "  %s\n", judge(old, new, more_is_better));
}

static void print_name(const char *label, const fc_bench_document_t *document,
                       FILE *stream) {
  yyjson_val *root = document->root;
  fprintf(stream, "%s  ", label);
  fc_show(stream, fc_str(document->name));
  fputs(": ", stream);
  fc_show(stream, fc_str(fc_bench_text(root, "target")));
  fprintf(stream, ", %.0f connections, ", fc_bench_number(root, "connections"));
  const double rate = fc_bench_number(root, "rate");
  if (rate > 0) fprintf(stream, "%.6g requests a second\n", rate);
  else fprintf(stream, "closed loop\n");
}

void fc_bench_compare(const fc_bench_document_t *old,
                      const fc_bench_document_t *new, FILE *stream) {
  static const struct {
    const char *name;
    double share;
  } kRows[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
  print_name("old", old, stream);
  print_name("new", new, stream);
  const fc_bench_figure_t was = fc_bench_answers(old),
                          is = fc_bench_answers(new);
  fprintf(stream, "  %-10s %12s %12s\n", "", "old", "new");
  fprintf(stream, "  %-10s %12.6g %12.6g", "answers/s", was.value, is.value);
  print_change(&was, &is, true, stream);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    const fc_bench_figure_t a = fc_bench_quantile(old, kRows[i].share),
                            b = fc_bench_quantile(new, kRows[i].share);
    fprintf(stream, "  %-10s %12s %12s", kRows[i].name,
            fc_page_time(a.value).text, fc_page_time(b.value).text);
    print_change(&a, &b, false, stream);
  }
}
