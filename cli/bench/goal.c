// SPDX-License-Identifier: Apache-2.0
//
// The goals of a load: their text, and whether a result meets them.
#include "bench/goal.h"

// Reads digits with at most one point; no sign, no exponent, no locale.
static bool take_number(fc_str_t *text, double *out_value) {
  double value = 0, scale = 1;
  size_t i = 0, digits = 0;
  bool point = false;
  for (; i < text->size && i < 32; i++) {
    const char c = text->data[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits++;
      value = value * 10 + (c - '0');
      if (point) scale *= 10;
    } else {
      break;
    }
  }
  *text = fc_str_make(text->data + i, text->size - i);
  *out_value = value / scale;
  return digits > 0;
}

bool fc_bench_read_time(fc_str_t text, double *out_ns) {
  static const struct {
    fc_str_t unit;
    double ns;
  } kUnits[] = {{{"", 0}, 1e9},   {{"ns", 2}, 1},  {{"us", 2}, 1e3},
                {{"ms", 2}, 1e6}, {{"s", 1}, 1e9}, {{"m", 1}, 6e10}};
  double value;
  if (!take_number(&text, &value)) return false;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kUnits); i++) {
    if (!fc_str_equal(text, kUnits[i].unit)) continue;
    *out_ns = value * kUnits[i].ns;
    return true;
  }
  return false;
}

static bool read_limit(fc_bench_goal_t *goal, fc_str_t text) {
  const bool plain = goal->name && (!strcmp(goal->name, "errors") ||
                                    !strcmp(goal->name, "rate"));
  if (!plain) return fc_bench_read_time(text, &goal->limit);
  return take_number(&text, &goal->limit) &&
         (!text.size || fc_str_equal(text, FC_STR("/s")));
}

static bool parse_goal(fc_str_t text, fc_bench_goal_t *goal) {
  static const char *const kNames[] = {"mean", "max", "errors", "rate"};
  size_t mark = 0;
  while (mark < text.size && text.data[mark] != '<' && text.data[mark] != '>') {
    mark++;
  }
  if (mark == text.size) return false;
  fc_str_t name = fc_str_make(text.data, mark);
  const fc_str_t limit =
      fc_str_make(text.data + mark + 1, text.size - mark - 1);
  *goal = (fc_bench_goal_t){.text = text, .above = text.data[mark] == '>'};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++) {
    if (fc_str_equal(name, fc_str(kNames[i]))) goal->name = kNames[i];
  }
  if (goal->name) return read_limit(goal, limit);
  if (!name.size || name.data[0] != 'p') return false;
  name = fc_str_make(name.data + 1, name.size - 1);
  if (!take_number(&name, &goal->share) || name.size) return false;
  goal->share /= 100;
  return goal->share > 0 && goal->share <= 1 && read_limit(goal, limit);
}

fc_status_t fc_bench_goals_parse(fc_str_t text, fc_bench_goal_t *goals,
                                 size_t *inout_count, fc_error_t *err) {
  while (text.size) {
    const fc_str_t part = fc_str_take(&text, ',');
    if (*inout_count == FC_BENCH_GOALS_MAX) {
      return fc_fail(err, FC_CODE_JSON_SCHEMA, "--slo: more than %u goals",
                     FC_BENCH_GOALS_MAX);
    }
    if (!parse_goal(part, &goals[(*inout_count)++])) {
      char shown[160];
      fc_escape(shown, sizeof shown, 40, part);
      return fc_fail(err, FC_CODE_JSON_SCHEMA,
                     "--slo=%s is no goal; goals are p99<5ms (any percentile), "
                     "mean<1ms, max<1s, errors<1, rate>1000",
                     shown);
    }
  }
  return FC_OK;
}

double fc_bench_rate(const fc_load_result_t *result) {
  if (!result->duration_ns) return 0;
  return (double)result->answers * 1e9 / (double)result->duration_ns;
}

uint64_t fc_bench_errors(const fc_load_result_t *result) {
  return result->refused + result->broken + result->unanswered +
         result->different;
}

void fc_bench_add_errors(fc_load_result_t *result,
                         const fc_load_result_t *other) {
  result->refused += other->refused;
  result->broken += other->broken;
  result->unanswered += other->unanswered;
  result->different += other->different;
  result->compared += other->compared;
  result->interrupted = result->interrupted || other->interrupted;
  if (result->first_status) return;
  result->first_status = other->first_status;
  result->first_size = other->first_size;
  memcpy(result->first_body, other->first_body, other->first_size);
}

double fc_bench_goal_figure(const fc_bench_goal_t *goal,
                            const fc_load_result_t *result) {
  const fc_bench_histogram_t *latency = &result->latency;
  if (!goal->name) {
    return (double)fc_bench_histogram_quantile(latency, goal->share);
  }
  if (!strcmp(goal->name, "max")) return (double)latency->max_ns;
  if (!strcmp(goal->name, "errors")) return (double)fc_bench_errors(result);
  if (!strcmp(goal->name, "rate")) return fc_bench_rate(result);
  return latency->count ? (double)latency->sum_ns / (double)latency->count : 0;
}

bool fc_bench_goal_is_known(const fc_bench_goal_t *goal,
                            const fc_load_result_t *result) {
  return goal->name || goal->share >= 1 || !result->latency.count ||
         fc_bench_is_known((double)result->latency.count, goal->share);
}

bool fc_bench_goal_is_met(const fc_bench_goal_t *goal,
                          const fc_load_result_t *result) {
  const double figure = fc_bench_goal_figure(goal, result);
  if (!fc_bench_goal_is_known(goal, result)) return false;
  // Without any answer, no goal for a latency is met.
  if (!result->latency.count) return false;
  return goal->above ? figure > goal->limit : figure < goal->limit;
}

fc_bench_verdict_t fc_bench_judge(const fc_bench_goal_t *goals, size_t count,
                                  const fc_load_result_t *result) {
  fc_bench_verdict_t verdict = FC_BENCH_MET;
  for (size_t i = 0; i < count; i++) {
    if (!fc_bench_goal_is_known(&goals[i], result)) verdict = FC_BENCH_UNKNOWN;
    else if (!fc_bench_goal_is_met(&goals[i], result)) return FC_BENCH_MISSED;
  }
  return verdict;
}
