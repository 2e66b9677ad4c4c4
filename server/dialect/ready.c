// SPDX-License-Identifier: Apache-2.0
#include "dialect/ready.h"

#include "dialect/condition.h"
#include "json/writer.h"

fc_load_counts_t fc_ready_count(const fc_server_t *server) {
  fc_load_counts_t counts = {.failed = server->modules->failed_paths};
  for (uint32_t i = 0; i < server->modules->generations.count; i++) {
    const fc_generation_t *generation = server->modules->generations.places[i];
    if (!generation) continue;
    const fc_generation_state_t state = fc_generation_state(generation);
    counts.served +=
        state == FC_GENERATION_READY || fc_generation_is_coming(generation);
    counts.described += state == FC_GENERATION_DESCRIBED;
    counts.failed += state == FC_GENERATION_FAILED;
    counts.draining += state == FC_GENERATION_DRAINING;
  }
  return counts;
}

fc_status_t fc_ready_check(const fc_server_t *server,
                           fc_load_counts_t *out_counts, fc_error_t *err) {
  if (server->leaving) {
    return fc_fail(err, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  }
  if (!server->modules->started) {
    return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
  }
  if (fc_pool_threads(server->pool) == 0) {
    return fc_fail(err, FC_CODE_NOT_READY,
                   "all worker threads are lost in native calls that do not "
                   "end: start the server again");
  }
  const fc_load_counts_t counts = *out_counts = fc_ready_count(server);
  // If modules may be added later, the server is ready without any module, unless one
  // failed to load.
  const bool empty = counts.failed == server->modules->failed_paths;
  if (counts.served == 0 && !(server->may_grow && empty)) {
    return fc_fail(err, FC_CODE_NOT_READY, "no module is served: %u failed",
                   counts.failed);
  }
  if (counts.failed == 0 || server->options->ready == FC_READY_ANY) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_NOT_READY,
                 "%u failed to load and %u are served; --ready=all wants all",
                 counts.failed, counts.served);
}

bool fc_ready_is(const fc_server_t *server) {
  fc_load_counts_t counts;
  return fc_ready_check(server, &counts, NULL) == FC_OK;
}

// Reads everything that fc_ready_check reads.
bool fc_ready_look(const fc_server_t *server, fc_ready_facts_t *facts) {
  const fc_ready_facts_t now = {.of = {
                                    server->modules->generations.changes,
                                    server->modules->failed_paths,
                                    server->modules->started,
                                    fc_pool_threads(server->pool),
                                    (uint64_t)server->options->ready,
                                    server->may_grow,
                                    server->leaving,
                                    server->draining,
                                }};
  const bool changed = memcmp(&now, facts, sizeof now) != 0;
  *facts = now;
  return changed;
}

fc_status_t fc_ready_write(const fc_server_t *server, fc_sink_t *sink,
                           fc_error_t *err) {
  fc_load_counts_t counts;
  FC_TRY(fc_ready_check(server, &counts, err));
  return fc_json_print(sink, err, "{'status':'ready','modules':%u,'failed':%u}",
                       counts.served, counts.failed);
}

bool fc_ready_is_verbose(fc_str_t query) {
  while (query.size) {
    const fc_str_t each = fc_str_take(&query, '&');
    if (fc_str_equal(each, FC_STR("verbose")) ||
        fc_str_equal(each, FC_STR("verbose=1"))) {
      return true;
    }
  }
  return false;
}

fc_status_t fc_ready_write_verbose(const fc_server_t *server,
                                   bool *out_unavailable, fc_sink_t *sink,
                                   fc_error_t *err) {
  fc_error_t why;
  uint64_t more;
  fc_load_counts_t counts = fc_ready_count(server);
  *out_unavailable = fc_ready_check(server, &counts, &why) != FC_OK;
  FC_TRY(fc_json_print(sink, err,
                       *out_unavailable ? "{'status':'unavailable'"
                                        : "{'status':'ready','reason':null"));
  if (*out_unavailable) {
    FC_TRY(fc_json_print(sink, err, ",'reason':'%s'", why.message));
  }
  FC_TRY(fc_json_print(sink, err, ",'modules':%u,'failed':%u,'conditions':",
                       counts.served, counts.failed));
  FC_TRY(fc_conditions_write_summary(server, &more, sink, err));
  return fc_json_print(sink, err, ",'more':%lu}", more);
}
