// SPDX-License-Identifier: Apache-2.0
#include "dialect/dialect.h"

void fc_dialect_workers(
    const fc_routes_t *routes,
    const fc_dialect_worker_t *out_workers[FC_DIALECTS_MAX]) {
  FC_ASSERT(routes->dialect_count <= FC_DIALECTS_MAX);
  for (uint32_t i = 0; i < routes->dialect_count; i++) {
    out_workers[i] = routes->dialects[i]->worker;
  }
}
