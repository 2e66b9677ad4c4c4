// SPDX-License-Identifier: Apache-2.0
//
// The table of http_status.def. It does not compile unless it has as many rows as there
// are codes.
#include "dialect/http_status.h"

static const int kStatuses[FC_CODE_COUNT] = {
#define FC_HTTP_STATUS(name, status) [FC_CODE_##name] = status,
#include "dialect/http_status.def"
#undef FC_HTTP_STATUS
};

enum {
  ROW_COUNT = 0
#define FC_HTTP_STATUS(name, status) +1
#include "dialect/http_status.def"
#undef FC_HTTP_STATUS
};
_Static_assert((int)ROW_COUNT == (int)FC_CODE_COUNT, "one row for each code");

int fc_http_status(const fc_error_t *error) {
  if (error->code == FC_CODE_CALL_FAILED) {
    if (error->status == FC_RESOURCE_EXHAUSTED) return 503;
    if (error->status == FC_UNIMPLEMENTED) return 501;
  }
  const bool known = (size_t)error->code < FC_CODE_COUNT;
  return kStatuses[known ? error->code : FC_CODE_INTERNAL];
}
