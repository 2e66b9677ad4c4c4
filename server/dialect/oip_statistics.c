// SPDX-License-Identifier: Apache-2.0
//
// How many calls a model had and how long they took. Programs that measure want all
// eight members of "inference_stats": cache_hit and cache_miss are always 0, because
// no answer is cached.
#include "dialect/oip.h"
#include "json/writer.h"

static fc_status_t write_number(fc_sink_t *sink, const char *lead,
                                uint64_t value, fc_error_t *err) {
  return fc_json_print(sink, err, "%s%lu", lead, value);
}

static fc_status_t write_pair(fc_sink_t *sink, const char *lead, uint64_t count,
                              uint64_t ns, fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "%s", lead));
  FC_TRY(write_number(sink, ":{\"count\":", count, err));
  FC_TRY(write_number(sink, ",\"ns\":", ns, err));
  return fc_json_print(sink, err, "}");
}

static fc_status_t write_compute(fc_sink_t *sink,
                                 const fc_function_counts_t *counts,
                                 fc_error_t *err) {
  const uint64_t count = counts->succeeded;
  FC_TRY(write_pair(sink, "\"compute_input\"", count, counts->decode_ns, err));
  FC_TRY(write_pair(sink, ",\"compute_infer\"", count, counts->call_ns, err));
  return write_pair(sink, ",\"compute_output\"", count, counts->encode_ns, err);
}

// When the last call ended, milliseconds since 1970; 0: none has ended.
static uint64_t last_ms(const fc_server_t *server,
                        const fc_function_counts_t *counts) {
  if (!counts->last_ns) return 0;
  const uint64_t since_ns = counts->last_ns - server->started_ns;
  return (server->started_unix_ns + since_ns) / 1000000u;
}

fc_status_t fc_oip_write_statistics(const fc_server_t *server,
                                    const fc_generation_t *generation,
                                    const fc_function_t *function,
                                    fc_sink_t *sink, fc_error_t *err) {
  const fc_function_counts_t *counted =
      fc_generation_counts(generation, function->index);
  const fc_function_counts_t counts =
      counted ? *counted : (fc_function_counts_t){0};
  FC_TRY(fc_json_print(sink, err, "{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  FC_TRY(fc_json_print(sink, err, ",'version':"));
  FC_TRY(
      fc_json_write_string(sink, fc_module_get_version(function->module), err));
  FC_TRY(write_number(sink, ",\"last_inference\":", last_ms(server, &counts),
                      err));
  FC_TRY(write_number(sink, ",\"inference_count\":", counts.succeeded, err));
  FC_TRY(write_number(sink, ",\"execution_count\":", counts.succeeded, err));
  FC_TRY(write_pair(sink, ",\"inference_stats\":{\"success\"", counts.succeeded,
                    counts.success_ns, err));
  FC_TRY(write_pair(sink, ",\"fail\"", counts.failed, counts.fail_ns, err));
  FC_TRY(
      write_pair(sink, ",\"queue\"", counts.succeeded, counts.queue_ns, err));
  FC_TRY(fc_json_print(sink, err, ","));
  FC_TRY(write_compute(sink, &counts, err));
  FC_TRY(write_pair(sink, ",\"cache_hit\"", 0, 0, err));
  FC_TRY(write_pair(sink, ",\"cache_miss\"", 0, 0, err));
  FC_TRY(fc_json_print(sink, err, "},'response_stats':{},'batch_stats':["));
  if (counts.succeeded) {
    FC_TRY(fc_json_print(sink, err, "{'batch_size':1,"));
    FC_TRY(write_compute(sink, &counts, err));
    FC_TRY(fc_json_print(sink, err, "}"));
  }
  return fc_json_print(sink, err, "],'memory_usage':[]}");
}
