// SPDX-License-Identifier: Apache-2.0
//
// Pages for people and programs that look after the server: / (the explorer, for
// browsers), health, metrics, OpenAPI. They are a dialect of their own because they
// belong to no API: a further API changes none of them. They accept any query
// parameter, because the programs that ask for them add their own.
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
