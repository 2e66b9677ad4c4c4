// SPDX-License-Identifier: Apache-2.0
//
// Pages for people and programs that look after the server: /, health, metrics. A
// dialect of their own, because no API owns them: another one at other paths adds
// its rows beside these and changes none. They take any query parameter, since
// whoever asks has its own ideas.
#include "dialect/http_status.h"
#include "dialect/problem.h"
#include "dialect/reflect.h"

const fc_dialect_t fc_dialect_pages = {
    .name = "pages",
    .document = fc_reflect_document,
    .status_of = fc_http_status,
    .encode_error = fc_problem_write,
    .error_type = "application/problem+json",
};
