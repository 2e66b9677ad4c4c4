// SPDX-License-Identifier: Apache-2.0
//
// An event (a refused call, a crash) makes its condition hold for a while: long enough
// that one scrape of Prometheus sees it. A crash makes it hold longer, so that people
// who look after an alert still see it.
#include "dialect/condition.h"

#include <stdio.h>
#include <time.h>

#include "config/limits.h"
#include "json/writer.h"
#include "modules/retry.h"

#define MINUTE_NS (60u * 1000000000ull)
#define CRASH_NS (10 * MINUTE_NS)

#define MODULE true
#define SERVER false
#define ALL true
#define READERS false
const fc_condition_row_t fc_conditions[FC_CONDITION_COUNT] = {
#define FC_CONDITION(id, of, code, severity, seen_by, text) \
  [FC_CONDITION_##id] = {code, text, FC_SEVERITY_##severity, of, seen_by},
#include "dialect/condition.def"
};
#undef MODULE
#undef SERVER
#undef ALL
#undef READERS

_Static_assert(FC_CONDITION_COUNT <= 32, "fc_held_conditions_t has 32 bits");

const char *fc_condition_severity_name(fc_condition_severity_t severity) {
  return severity == FC_SEVERITY_CRITICAL ? "critical" : "warning";
}

void fc_time_print(uint64_t at_ns, char out[FC_TIME_TEXT]) {
  struct timespec now;
  struct tm utc;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t left_ns = (int64_t)at_ns - (int64_t)fc_clock_ns();
  const time_t at = now.tv_sec + (time_t)(left_ns / 1000000000);
  gmtime_r(&at, &utc);
  if (!strftime(out, FC_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc)) out[0] = '\0';
}

void fc_condition_note_reread(fc_server_t *server, fc_reread_file_t file,
                              const fc_error_t *error) {
  fc_refused_file_t *refused = &server->refused[file];
  refused->at_ns = error ? fc_clock_ns() : 0;
  if (error) refused->reason = *error;
}

// ---------------------------------------------------------------------------
// Finding the conditions that hold

// What is known of one condition. A time of 0 (`at_ns`, `until_ns`) is not known.
typedef struct found_t {
  bool held;
  uint64_t at_ns;
  uint64_t until_ns;
  const char *detail;  // NULL: nothing
  char room[200];
} found_t;

// The input of a check: one module or the server, at one time.
typedef struct look_t {
  const fc_server_t *server;
  const fc_generation_t *generation;
  fc_host_facts_t facts;
  uint64_t now_ns;
} look_t;

static look_t look_at(const fc_server_t *server,
                      const fc_generation_t *generation) {
  look_t look = {
      .server = server, .generation = generation, .now_ns = fc_clock_ns()};
  const fc_host_t *host =
      generation && fc_step_in_pool(generation->step) && generation->module
          ? fc_pool_host(server->pool, generation->index)
          : NULL;
  if (host) fc_host_describe(host, &look.facts);
  return look;
}

static void happened(const look_t *look, uint64_t at_ns, uint64_t for_ns,
                     found_t *out) {
  if (!at_ns || look->now_ns > at_ns + for_ns) return;
  out->held = true;
  out->at_ns = at_ns;
}

static void lasts(uint64_t until_ns, const look_t *look, found_t *out) {
  if (until_ns <= look->now_ns) return;
  out->held = true;
  out->until_ns = until_ns;
}

static void find_failure(fc_condition_t condition, const look_t *look,
                         found_t *out) {
  const fc_generation_t *generation = look->generation;
  const fc_generation_state_t state = fc_generation_state(generation);
  const bool failed = state == FC_GENERATION_FAILED;
  const bool serves = state == FC_GENERATION_READY;
  const bool asleep = state == FC_GENERATION_DESCRIBED;
  const bool told = generation->error.code != FC_CODE_NONE;
  const bool retries = (failed || asleep) && told &&
                       generation->loading.retries &&
                       fc_retry_may_help(&generation->error);
  if (condition == FC_CONDITION_LOAD_FAILED) out->held = failed;
  if (condition == FC_CONDITION_FILE_REFUSED) {
    out->held = told && (serves || (asleep && !retries));
  }
  if (condition == FC_CONDITION_RETRYING) {
    out->held = retries;
    out->until_ns = generation->loading.retry_ns;
  }
  if (out->held) out->detail = generation->error.message;
}

static void find_of_module(fc_condition_t condition, const look_t *look,
                           found_t *out) {
  const fc_generation_t *generation = look->generation;
  const fc_host_facts_t *facts = &look->facts;
  switch (condition) {
    case FC_CONDITION_QUARANTINED:
      out->held = facts->quarantined_ns != 0;
      out->until_ns = facts->quarantined_ns;
      out->detail = facts->crash;
      break;
    case FC_CONDITION_RESTARTING:
      lasts(facts->restart_ns, look, out);
      out->detail = facts->crash;
      break;
    case FC_CONDITION_OVERLOADED:
      happened(look, generation->overloaded_ns, MINUTE_NS, out);
      break;
    case FC_CONDITION_WORKER_STUCK:
      out->held = facts->stuck != 0;
      if (!out->held) break;
      snprintf(out->room, sizeof out->room, "%u of its workers",
               (unsigned)facts->stuck);
      out->detail = out->room;
      break;
    case FC_CONDITION_MEMORY_LIMIT:
      happened(look,
               generation->memory_ns > facts->memory_ns ? generation->memory_ns
                                                        : facts->memory_ns,
               MINUTE_NS, out);
      break;
    case FC_CONDITION_BUDGET_USED:
      happened(look, facts->budget_ns, MINUTE_NS, out);
      break;
    case FC_CONDITION_BODIES_REFUSED:
      lasts(facts->blamed_ns, look, out);
      break;
    case FC_CONDITION_CRASHED:
      happened(look, facts->crashed_ns, CRASH_NS, out);
      out->detail = facts->crash;
      break;
    default:
      find_failure(condition, look, out);
  }
}

static void find_certificate(fc_condition_t condition, const look_t *look,
                             found_t *out) {
  const fc_certificates_t *dates = &look->server->certificates;
  const int64_t now_s = (int64_t)time(NULL);
  const bool begins = now_s < dates->begin_s;
  const bool ended = begins || now_s >= dates->end_s;
  if (!dates->count) return;
  out->held = condition == FC_CONDITION_CERTIFICATE_ENDED
                  ? ended
                  : !ended && now_s >= dates->end_s - FC_LIMIT_CERTIFICATE_S;
  const time_t when = (time_t)(begins ? dates->begin_s : dates->end_s);
  struct tm utc;
  char day[16] = "?";
  if (gmtime_r(&when, &utc)) (void)strftime(day, sizeof day, "%Y-%m-%d", &utc);
  snprintf(out->room, sizeof out->room, "%s %s",
           begins  ? "begins on"
           : ended ? "has ended on"
                   : "ends on",
           day);
  out->detail = out->room;
}

static void find_refused(const look_t *look, found_t *out) {
  for (int i = 0; i < FC_REREAD_COUNT && !out->held; i++) {
    const fc_refused_file_t *refused = &look->server->refused[i];
    out->held = refused->at_ns != 0;
    out->at_ns = refused->at_ns;
    out->detail = refused->reason.message;
  }
}

static void find_of_server(fc_condition_t condition, const look_t *look,
                           found_t *out) {
  const fc_server_t *server = look->server;
  const fc_blocks_usage_t usage = fc_blocks_usage(server->blocks);
  const uint32_t lost = fc_pool_lost_threads(server->pool);
  switch (condition) {
    case FC_CONDITION_CERTIFICATE_ENDED:
    case FC_CONDITION_CERTIFICATE_ENDS:
      find_certificate(condition, look, out);
      break;
    case FC_CONDITION_REREAD_REFUSED:
      find_refused(look, out);
      break;
    case FC_CONDITION_THREADS_LOST:
      out->held = lost != 0;
      snprintf(out->room, sizeof out->room, "%u threads", lost);
      out->detail = out->room;
      break;
    case FC_CONDITION_MEMORY_FULL:
      out->held = usage.limit && usage.taken > usage.limit / 10 * 9;
      break;
    case FC_CONDITION_CONNECTIONS_FULL:
      out->held = server->connections >= server->connection_max;
      break;
    default:
      break;
  }
}

// The caller must not move `out`: its detail may point to text inside it.
static bool find(fc_condition_t condition, const look_t *look, found_t *out) {
  out->held = false;
  out->at_ns = out->until_ns = 0;
  out->detail = NULL;
  if (look->generation) find_of_module(condition, look, out);
  else find_of_server(condition, look, out);
  return out->held;
}

// Is the condition about this generation? It is if a name leads to the generation, or if
// its file could not be loaded. Of a draining generation, only a stuck worker is shown.
static bool is_about(fc_condition_t condition,
                     const fc_generation_t *generation) {
  if (!generation) return !fc_conditions[condition].of_module;
  if (!fc_conditions[condition].of_module) return false;
  const fc_generation_state_t state = fc_generation_state(generation);
  if (state == FC_GENERATION_DRAINING) {
    return condition == FC_CONDITION_WORKER_STUCK;
  }
  return generation->claim.current || state == FC_GENERATION_FAILED;
}

fc_held_conditions_t fc_conditions_held(const fc_server_t *server,
                                        const fc_generation_t *generation) {
  fc_held_conditions_t held = 0;
  // A module that nobody has asked for has no conditions; there may be ten thousand of
  // them.
  if (generation &&
      fc_generation_state(generation) == FC_GENERATION_DESCRIBED &&
      generation->error.code == FC_CODE_NONE) {
    return 0;
  }
  const look_t look = look_at(server, generation);
  found_t found;
  for (int i = 0; i < FC_CONDITION_COUNT; i++) {
    const fc_condition_t condition = (fc_condition_t)i;
    if (!is_about(condition, generation)) continue;
    if (find(condition, &look, &found)) held |= 1u << i;
  }
  return held;
}

// ---------------------------------------------------------------------------
// Writing conditions

static fc_status_t put_text(fc_sink_t *sink, const char *lead,
                            const char *value, fc_error_t *err) {
  return fc_json_print(sink, err, "%s'%s'", lead, value);
}

static fc_status_t put_time(fc_sink_t *sink, const char *lead, uint64_t at_ns,
                            fc_error_t *err) {
  char text[FC_TIME_TEXT];
  if (!at_ns) return FC_OK;
  fc_time_print(at_ns, text);
  return put_text(sink, lead, text, err);
}

static fc_status_t put_row(fc_condition_t condition, bool first,
                           fc_sink_t *sink, fc_error_t *err) {
  const fc_condition_row_t *row = &fc_conditions[condition];
  FC_TRY(put_text(sink, first ? "{\"code\":" : ",{\"code\":", row->code, err));
  FC_TRY(put_text(
      sink, ",\"severity\":", fc_condition_severity_name(row->severity), err));
  return put_text(sink, ",\"text\":", row->text, err);
}

fc_status_t fc_conditions_write(const fc_server_t *server,
                                const fc_generation_t *generation,
                                fc_sink_t *sink, fc_error_t *err) {
  const look_t look = look_at(server, generation);
  found_t found;
  bool first = true;
  FC_TRY(fc_json_print(sink, err, "["));
  for (int i = 0; i < FC_CONDITION_COUNT; i++) {
    const fc_condition_t condition = (fc_condition_t)i;
    if (!is_about(condition, generation) || !find(condition, &look, &found)) {
      continue;
    }
    FC_TRY(put_row(condition, first, sink, err));
    if (found.detail) {
      FC_TRY(put_text(sink, ",\"detail\":", found.detail, err));
    }
    FC_TRY(put_time(sink, ",\"at\":", found.at_ns, err));
    FC_TRY(put_time(sink, ",\"until\":", found.until_ns, err));
    FC_TRY(fc_json_print(sink, err, "}"));
    first = false;
  }
  return fc_json_print(sink, err, "]");
}

static void count_all(const fc_server_t *server,
                      uint32_t counts[FC_CONDITION_COUNT]) {
  const fc_generations_t *all = &server->modules->generations;
  for (uint32_t at = 0; at <= all->count; at++) {
    const fc_generation_t *generation =
        at < all->count ? all->places[at] : NULL;
    if (at < all->count && !generation) continue;
    const fc_held_conditions_t held = fc_conditions_held(server, generation);
    for (int i = 0; i < FC_CONDITION_COUNT; i++) counts[i] += held >> i & 1;
  }
}

fc_status_t fc_conditions_write_summary(const fc_server_t *server,
                                        uint64_t *out_more, fc_sink_t *sink,
                                        fc_error_t *err) {
  uint32_t counts[FC_CONDITION_COUNT] = {0};
  bool first = true;
  *out_more = 0;
  count_all(server, counts);
  FC_TRY(fc_json_print(sink, err, "["));
  for (int i = 0; i < FC_CONDITION_COUNT; i++) {
    if (!fc_conditions[i].for_all) *out_more += counts[i];
    if (!counts[i] || !fc_conditions[i].for_all) continue;
    FC_TRY(put_row((fc_condition_t)i, first, sink, err));
    FC_TRY(fc_json_print(sink, err, ",'count':%u}", counts[i]));
    first = false;
  }
  return fc_json_print(sink, err, "]");
}
