// SPDX-License-Identifier: Apache-2.0
//
// The table of code.def, indexed by rows and by codes. A static assert checks that it has
// a row for every code.
#include "obs/code.h"

enum { LOOP, WORKER };

const fc_code_traits_t fc_code_rows[] = {
#define FC_CODE_TRAITS(name, status, about, giver, reason)           \
  {FC_CODE_##name, status, FC_CODE_ABOUT_##about, (giver) == WORKER, \
   FC_CODE_REASON_##reason},
#include "obs/code.def"
#undef FC_CODE_TRAITS
};

enum {
  FIRST = -1
#define FC_CODE_TRAITS(name, ...) , ROW_##name
#include "obs/code.def"
#undef FC_CODE_TRAITS
  ,
  ROW_COUNT
};
_Static_assert((int)ROW_COUNT == (int)FC_CODE_COUNT, "one row for each code");

static const uint8_t kRowOf[FC_CODE_COUNT] = {
#define FC_CODE_TRAITS(name, ...) [FC_CODE_##name] = ROW_##name,
#include "obs/code.def"
#undef FC_CODE_TRAITS
};

const fc_code_traits_t *fc_code_traits(fc_code_t code) {
  const bool known = (size_t)code < FC_CODE_COUNT;
  return &fc_code_rows[kRowOf[known ? code : FC_CODE_INTERNAL]];
}

int fc_http_status(const fc_error_t *error) {
  if (error->code == FC_CODE_CALL_FAILED) {
    if (error->status == FC_RESOURCE_EXHAUSTED) return 503;
    if (error->status == FC_UNIMPLEMENTED) return 501;
  }
  return fc_code_traits(error->code)->status;
}
