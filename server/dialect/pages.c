// SPDX-License-Identifier: Apache-2.0
//
// Routes for operators and monitoring: / (the explorer, for browsers), health, metrics,
// OpenAPI. They are a separate dialect because they belong to no API. They accept any
// query parameter, because programs that use them add their own.
#include "dialect/problem.h"
#include "dialect/reflect.h"
#include "obs/code.h"

const fc_dialect_t fc_dialect_pages = {
    .name = "pages",
    .document = fc_reflect_document,
    .status_of = fc_http_status,
    .encode_error = fc_problem_write,
    .error_type = "application/problem+json",
};
