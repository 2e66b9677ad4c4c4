// SPDX-License-Identifier: Apache-2.0
//
// How many calls a model had and how long they took. Programs that measure want all
// eight members of "inference_stats": cache_hit and cache_miss are always 0, because
// no answer is cached.
#include "dialect/oip.h"
#include "json/writer.h"

static fc_status_t write_compute(fc_sink_t *sink, uint64_t count,
                                 uint64_t decode_ns, uint64_t call_ns,
                                 uint64_t encode_ns, fc_error_t *err) {
  return fc_json_print(sink, err,
                       "'compute_input':{'count':%lu,'ns':%lu},"
                       "'compute_infer':{'count':%lu,'ns':%lu},"
                       "'compute_output':{'count':%lu,'ns':%lu}",
                       count, decode_ns, count, call_ns, count, encode_ns);
}

static fc_status_t write_sizes(fc_sink_t *sink,
                               const fc_function_counts_t *counts,
                               fc_error_t *err) {
  fc_size_counts_t size = {0};
  const char *comma = "";
  for (; fc_counts_next_size(counts, &size); comma = ",") {
    FC_TRY(fc_json_print(sink, err, "%s{'batch_size':%lu,", comma, size.rows));
    FC_TRY(write_compute(sink, size.executions, size.decode_ns, size.call_ns,
                         size.encode_ns, err));
    FC_TRY(fc_json_print(sink, err, "}"));
  }
  return FC_OK;
}

uint64_t fc_oip_last_ms(const fc_server_t *server,
                        const fc_function_counts_t *counts) {
  if (!counts->last_ns) return 0;
  const uint64_t since_ns = counts->last_ns - server->started_ns;
  return (server->started_unix_ns + since_ns) / 1000000u;
}

uint64_t fc_oip_executions(const fc_function_counts_t *counts) {
  return counts->executions / FC_BATCH_SHARES;
}

uint64_t fc_oip_inferences(const fc_function_counts_t *counts) {
  return counts->rows / FC_BATCH_SHARES;
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
  const uint64_t count = counts.succeeded;
  FC_TRY(fc_json_print(
      sink, err,
      ",'version':'%.*s','last_inference':%lu,'inference_count':%lu,"
      "'execution_count':%lu,'inference_stats':{"
      "'success':{'count':%lu,'ns':%lu},'fail':{'count':%lu,'ns':%lu},"
      "'queue':{'count':%lu,'ns':%lu},",
      FC_STR_ARG(fc_module_get_version(function->module)),
      fc_oip_last_ms(server, &counts), fc_oip_inferences(&counts),
      fc_oip_executions(&counts), count, counts.success_ns, counts.failed,
      counts.fail_ns, count, counts.queue_ns));
  FC_TRY(write_compute(sink, count, counts.decode_ns, counts.call_ns,
                       counts.encode_ns, err));
  FC_TRY(fc_json_print(sink, err,
                       ",'cache_hit':{'count':0,'ns':0},"
                       "'cache_miss':{'count':0,'ns':0}},"
                       "'response_stats':{},'batch_stats':["));
  FC_TRY(write_sizes(sink, &counts, err));
  return fc_json_print(sink, err, "],'memory_usage':[]}");
}
