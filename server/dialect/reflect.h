// SPDX-License-Identifier: Apache-2.0
//
// The documents GET answers with: what the server is, what it has loaded, what
// a function takes and gives. Written into a sink on the loop thread.
#ifndef FARCALL_SERVER_DIALECT_REFLECT_H_
#define FARCALL_SERVER_DIALECT_REFLECT_H_

#include "dialect/route.h"
#include "obs/metrics.h"
#include "config/options.h"
#include "pool/pool.h"

// What the documents tell about. Borrowed.
typedef struct fc_reflect_t {
  const fc_generations_t *generations;
  const fc_server_options_t *options;
  fc_pool_t *pool;
  fc_blocks_t *blocks;
  uint64_t uptime_ms;
  uint32_t connections;
  const fc_metrics_t *metrics;
  uint32_t failed_paths;  // PATHs in which there was no module to list
  bool ready;             // every PATH was tried
  bool leaving;
} fc_reflect_t;

// Writes the document of a place. The health routes answer FC_CODE_NOT_READY
// and FC_CODE_SHUTTING_DOWN. `query` is the request's.
fc_status_t fc_reflect_write(const fc_reflect_t *reflect,
                             const fc_place_t *place, fc_str_t query,
                             fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_REFLECT_H_
