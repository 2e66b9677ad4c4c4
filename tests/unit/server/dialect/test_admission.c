// SPDX-License-Identifier: Apache-2.0
//
// How a client states its deadline, in both forms, and the form of an answer in parts.
#include "dialect/admission.h"

#include "helpers/test.h"
#include "pool/turn.h"

static const fc_str_t kGrpc = FC_STR("application/grpc");

static void deadlines_are_read_in_their_units(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *grpc;   // grpc-timeout, of a request of gRPC; NULL: not one
    const char *plain;  // Farcall-Timeout-Ms, NULL: not said
    uint64_t ms;        // 0: refused
  } rows[] = {
      {"one millisecond", NULL, "1", 1},
      {"the most", NULL, "999999999999", 999999999999},
      {"more", NULL, "1000000000000", 0},
      {"none", NULL, "0", 0},
      {"a sign", NULL, "-1", 0},
      {"nothing", NULL, "", 0},
      {"an hour", "1H", NULL, 3600000},
      {"a minute", "1M", NULL, 60000},
      {"a second", "1S", NULL, 1000},
      {"a millisecond", "1m", NULL, 1},
      {"a microsecond", "1u", NULL, 1},
      {"microseconds round up", "1001u", NULL, 2},
      {"a nanosecond", "1n", NULL, 1},
      {"nanoseconds round up", "1000001n", NULL, 2},
      {"it is over at once", "0m", NULL, 1},
      // In nanoseconds, either would need more than 64 bits.
      {"hours", "5124096H", NULL, 999999999999},
      {"the most hours", "99999999H", NULL, 999999999999},
      {"the most minutes", "99999999M", NULL, 999999999999},
      {"the most seconds", "99999999S", NULL, 99999999000},
      {"nine digits", "100000000S", NULL, 0},
      {"no unit", "1", NULL, 0},
      {"no number", "S", NULL, 0},
      {"an unknown unit", "1s", NULL, 0},
      {"a gap", "1 S", NULL, 0},
      {"two units", "1SS", NULL, 0},
      {"a sign", "-1S", NULL, 0},
      {"an empty field", "", NULL, 0},
      {"gRPC's goes first", "1S", "7", 1000},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_request_t request = {.has_trailers = row->grpc};
    fc_error_t error;
    uint64_t ms = 0;
    fc_error_reset(&error);
    if (row->grpc) {
      request.fields[FC_FIELD_CONTENT_TYPE] = kGrpc;
      request.fields[FC_FIELD_GRPC_TIMEOUT] = fc_str(row->grpc);
    }
    if (row->plain) request.fields[FC_FIELD_TIMEOUT] = fc_str(row->plain);
    assert_int_equal(fc_admission_timeout(&request, &ms, &error),
                     row->ms ? FC_OK : FC_INVALID_ARGUMENT);
    assert_int_equal(ms, row->ms);
    if (!row->ms) assert_int_equal(error.code, FC_CODE_HTTP_SYNTAX);
  }
}

// Each row of the table by what it says, so that a new row behind the others is offered.
static void forms_that_are_offered_are_chosen_and_named(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *type;
    bool offered;
  } rows[] = {
#define FC_PART_OFFERED true
#define FC_PART_APART false
#define FC_PART_FORM(name, offer, type, subtype, before, last, after, error) \
  {#name, type "/" subtype, FC_PART_##offer},
#include "pool/part_form.def"
#undef FC_PART_FORM
#undef FC_PART_OFFERED
#undef FC_PART_APART
  };
  const fc_request_t other = {
      .fields = {[FC_FIELD_ACCEPT] = FC_STR("image/png")}};
  fc_admission_t admission = {0};
  fc_error_t error;
  fc_error_reset(&error);
  assert_int_equal(fc_admission_parts(&other, &admission, &error),
                   FC_INVALID_ARGUMENT);
  assert_int_equal(error.code, FC_CODE_NOT_ACCEPTABLE);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    if (!row->offered) continue;
    const fc_request_t request = {
        .fields = {[FC_FIELD_ACCEPT] = fc_str(row->type)}};
    fc_error_t none;
    fc_error_reset(&none);
    assert_int_equal(fc_admission_parts(&request, &admission, &none), FC_OK);
    assert_int_equal(admission.parts, FC_PART_FORM_FIRST + (row - rows));
    assert_non_null(strstr(error.message, row->type));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(deadlines_are_read_in_their_units),
      FC_TEST(forms_that_are_offered_are_chosen_and_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
