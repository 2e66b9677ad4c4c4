// SPDX-License-Identifier: Apache-2.0
//
// Two results side by side. A difference is reported if the 95 % intervals do not
// overlap. The intervals do not include how the machine changes from run to run, so
// alternating runs say more.
#include "bench/compare.h"

#include "bench/report.h"
#include "cli.h"

// Returns a name of the arguments for people, who cannot compare digests; "" if the file
// has none.
static const char *input_of(const fc_bench_document_t *document) {
  const char *example = fc_bench_text(document->root, "example");
  return *example ? example : fc_bench_text(document->root, "input");
}

static fc_status_t check_input(const fc_bench_document_t *old,
                               const fc_bench_document_t *new,
                               fc_error_t *err) {
  const char *was = fc_bench_text(old->root, "input_sha256"),
             *is = fc_bench_text(new->root, "input_sha256");
  if (!*was || !*is || !strcmp(was, is)) return FC_OK;
  if (!strcmp(input_of(old), input_of(new))) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA,
                   "the runs are unlike: their arguments differ ('%.80s' of "
                   "SHA-256 %.8s… and %.8s…)",
                   input_of(old), was, is);
  }
  return fc_fail(err, FC_CODE_JSON_SCHEMA,
                 "the runs are unlike: their arguments differ ('%.80s' and "
                 "'%.80s')",
                 input_of(old), input_of(new));
}

// Fails if both files have a text for `key`, and the texts differ.
static fc_status_t check_text(const fc_bench_document_t *old,
                              const fc_bench_document_t *new, const char *key,
                              fc_error_t *err) {
  const char *was = fc_bench_text(old->root, key),
             *is = fc_bench_text(new->root, key);
  if (!*was || !*is || !strcmp(was, is)) return FC_OK;
  return fc_fail(err, FC_CODE_JSON_SCHEMA,
                 "the runs are unlike: '%s' was '%.80s' and is '%.80s'", key,
                 was, is);
}

static fc_status_t check_number(const fc_bench_document_t *old,
                                const fc_bench_document_t *new, const char *key,
                                fc_error_t *err) {
  const double was = fc_bench_number(old->root, key),
               is = fc_bench_number(new->root, key);
  const bool said =
      yyjson_obj_get(old->root, key) && yyjson_obj_get(new->root, key);
  if (!said || !(was < is || was > is)) return FC_OK;
  return fc_fail(err, FC_CODE_JSON_SCHEMA,
                 "the runs are unlike: '%s' was %g and is %g", key, was, is);
}

static bool searched(const fc_bench_document_t *document, const char *tried) {
  return yyjson_arr_size(yyjson_obj_get(document->root, tried)) > 0;
}

fc_status_t fc_bench_check_alike(const fc_bench_document_t *old,
                                 const fc_bench_document_t *new,
                                 fc_error_t *err) {
  const bool same_protocol = !strcmp(fc_bench_text(old->root, "protocol"),
                                     fc_bench_text(new->root, "protocol"));
  FC_TRY(check_text(old, new, "loop", err));
  // If both runs searched for the number of connections or the rate, it is a result and
  // may differ.
  if (!searched(old, "curve") || !searched(new, "curve")) {
    FC_TRY(check_number(old, new, "connections", err));
  }
  if (!searched(old, "steps") || !searched(new, "steps")) {
    FC_TRY(check_number(old, new, "rate", err));
  }
  // Another protocol writes the same arguments differently.
  return same_protocol ? check_input(old, new, err) : FC_OK;
}

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
    if (!fc_bench_knows(old, kRows[i].share) ||
        !fc_bench_knows(new, kRows[i].share)) {
      break;
    }
    const fc_bench_figure_t a = fc_bench_quantile(old, kRows[i].share),
                            b = fc_bench_quantile(new, kRows[i].share);
    fprintf(stream, "  %-10s %12s %12s", kRows[i].name,
            fc_page_time(a.value).text, fc_page_time(b.value).text);
    print_change(&a, &b, false, stream);
  }
}
