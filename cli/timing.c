// SPDX-License-Identifier: Apache-2.0
//
// The time of every call is kept, so that each percentile is the time of a call.
#include "timing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "file.h"

#define CALLS_MAX 10000000
#define JSON_LIMIT ((size_t)1 << 16)

typedef struct figures_t {
  uint64_t least;
  uint64_t median;
  uint64_t p99;
  uint64_t most;
  double mean;
  double rate;  // calls a second
} figures_t;

int fc_timing_init(const fc_args_t *args, fc_timing_t *out_timing) {
  const char *text = fc_args_get(args, FC_OPTION_REPEAT, "1");
  char *end;
  const unsigned long count = strtoul(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || !count || count > CALLS_MAX) {
    return fc_complain(FC_EXIT_USAGE, "--repeat=%s: it is 1 to %d calls", text,
                       CALLS_MAX);
  }
  uint64_t *ns = fc_alloc(fc_allocator_system(), count * sizeof *ns);
  if (!ns) return fc_complain(FC_EXIT_FAILED, "out of memory");
  *out_timing = (fc_timing_t){.ns = ns, .count = count};
  return FC_EXIT_OK;
}

void fc_timing_deinit(fc_timing_t *timing) {
  fc_free(fc_allocator_system(), timing->ns);
}

static int by_time(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

// Returns the time that `percent` of the calls did not exceed.
static uint64_t rank(const fc_timing_t *timing, size_t percent) {
  const size_t at = (timing->count * percent + 99) / 100;
  return timing->ns[at ? at - 1 : 0];
}

static figures_t figures_of(fc_timing_t *timing) {
  double sum = 0;
  qsort(timing->ns, timing->count, sizeof *timing->ns, by_time);
  for (size_t i = 0; i < timing->count; i++) sum += (double)timing->ns[i];
  if (sum < 1) sum = 1;  // a clock that stands
  return (figures_t){.least = rank(timing, 0),
                     .median = rank(timing, 50),
                     .p99 = rank(timing, 99),
                     .most = rank(timing, 100),
                     .mean = sum / (double)timing->count,
                     .rate = (double)timing->count * 1e9 / sum};
}

static fc_status_t put_json(const fc_timing_t *timing, const figures_t *figures,
                            fc_sink_t *sink, fc_error_t *err) {
  return fc_print_to(sink, err,
                     "{\"farcall_run\":1,\"calls\":%zu,\"min_ns\":%" PRIu64
                     ",\"median_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
                     ",\"max_ns\":%" PRIu64
                     ",\"mean_ns\":%.1f,\"calls_per_s\":%.2f}\n",
                     timing->count, figures->least, figures->median,
                     figures->p99, figures->most, figures->mean, figures->rate);
}

static int save(const fc_args_t *args, const char *path,
                const fc_timing_t *timing, const figures_t *figures) {
  fc_error_t err;
  fc_text_t json;
  fc_error_reset(&err);
  fc_text_init(&json, fc_allocator_system(), JSON_LIMIT);
  fc_status_t status = put_json(timing, figures, &json.sink, &err);
  if (status == FC_OK && !strcmp(path, "-")) {
    fc_show(stdout, fc_text_str(&json));
  } else if (status == FC_OK) {
    status = fc_file_write(args->arena, path, fc_text_str(&json), &err);
  }
  fc_text_deinit(&json);
  return status ? fc_complain(FC_EXIT_DATA, "%s", err.message) : FC_EXIT_OK;
}

int fc_timing_report(const fc_args_t *args, fc_timing_t *timing) {
  const char *path = fc_args_get(args, FC_OPTION_SAVE, NULL);
  const bool shown = fc_args_has(args, FC_OPTION_TIME);
  if (!path && !shown) return FC_EXIT_OK;
  const figures_t figures = figures_of(timing);
  if (shown) {
    fflush(stdout);
    fprintf(stderr,
            "%zu call%s: min %.2f us, median %.2f us, p99 %.2f us, max %.2f "
            "us, %.1f calls/s\n",
            timing->count, timing->count == 1 ? "" : "s",
            (double)figures.least / 1e3, (double)figures.median / 1e3,
            (double)figures.p99 / 1e3, (double)figures.most / 1e3,
            figures.rate);
  }
  return path ? save(args, path, timing, &figures) : FC_EXIT_OK;
}
