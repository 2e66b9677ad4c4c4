// SPDX-License-Identifier: Apache-2.0
//
// Pages for people and programs that look after the server: / (the explorer, for
// browsers), health, metrics, OpenAPI. They are a dialect of their own because they
// belong to no API: a further API changes none of them. They accept any query
// parameter, because the programs that ask for them add their own.
#include "dialect/explorer.h"
#include "dialect/metrics.h"
#include "dialect/problem.h"
#include "dialect/reflect.h"
#include "obs/code.h"

static fc_status_t document(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_document_t *out_document, fc_sink_t *sink,
                            fc_error_t *err) {
  if (place->route == FC_ROUTE_METRICS) {
    return fc_metrics_document(server, request, out_document, err);
  }
  return (fc_explorer_is_asked(request, place) ? fc_explorer_document
                                               : fc_reflect_document)(
      server, request, place, out_document, sink, err);
}

const fc_dialect_t fc_dialect_pages = {
    .name = "pages",
    .document = document,
    .status_of = fc_http_status,
    .encode_error = fc_problem_write,
    .error_type = "application/problem+json",
};
