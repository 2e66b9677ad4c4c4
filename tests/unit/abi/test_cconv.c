// SPDX-License-Identifier: Apache-2.0
#include "helpers/test.h"
#include "helpers/types.h"

#include <stdio.h>

#include "abi/cconv.h"

static const struct {
  const char *name;
  const char *text;  // of the signature
} rows[] = {
    {"", "() -> ()"},
    {"0", "() -> ()"},
    {"0v", "() -> ()"},
    {"0_", "() -> ()"},
    {"0v_v", "() -> ()"},
    {"0ri", "(unknown, i32) -> ()"},
    {"0_ir", "() -> (i32, unknown)"},
    {"0v_ir", "() -> (i32, unknown)"},
    {"0rr_r", "(unknown, unknown) -> unknown"},
    {"0f_F", "(f32) -> f64"},
    {"0rrrIII_r", "(unknown, unknown, unknown, i64, i64, i64) -> unknown"},
    {"0viv_v", "(i32) -> ()"},
    {"0iCiD_rr", "(i32, (i32)...) -> (unknown, unknown)"},
    {"0CiirIID_v", "((i32, i32, unknown, i64, i64)...) -> ()"},
    {"0rriiCID_v", "(unknown, unknown, i32, i32, (i64)...) -> ()"},
    {"0CDCvD", "(()..., ()...) -> ()"},
};

static void conventions_become_signatures(void **state) {
  (void)state;
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_cconv_t cconv;
    assert_int_equal(fc_cconv_parse(fc_str(rows[i].name), &cconv, NULL), FC_OK);
    fc_builder_reset(b);
    fc_cconv_build(b, &cconv);
    fc_signature_t *s = NULL;
    assert_int_equal(fc_signature_build(b, &s, NULL), FC_OK);
    assert_int_equal(s->source, FC_SOURCE_CCONV);
    assert_int_equal(s->raw_argument_count, cconv.argument_count);
    assert_int_equal(s->callable, strchr(rows[i].name, 'C') == NULL);
    assert_true(
        fc_str_equal(fc_signature_text(s, s->cconv), fc_str(rows[i].name)));
    assert_string_equal(fc_test_signature_text(s), rows[i].text);
    fc_signature_destroy(s);
  }
  fc_test_row(NULL);
  fc_builder_destroy(b);
}

static const struct {
  const char *name;
  size_t byte;
  const char *message;
} faults[] = {
    {"1r_r", 0, "only version 0"},       {"rr_r", 0, "only version 0"},
    {"0x", 1, "cannot stand here"},      {"0r_r_r", 4, "cannot stand here"},
    {"0CiCiDD", 3, "cannot stand here"}, {"0D", 1, "cannot stand here"},
    {"0rCi", 2, "does not end"},         {"0Ci_D", 3, "cannot stand here"},
    {"0_CiD", 2, "cannot stand here"},   {"0r_r ", 4, "cannot stand here"},
};

static void faults_have_a_place(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(faults); i++) {
    fc_test_row(faults[i].name);
    fc_cconv_t cconv;
    fc_error_t err;
    assert_int_not_equal(fc_cconv_parse(fc_str(faults[i].name), &cconv, &err),
                         FC_OK);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_int_equal(err.byte_offset, faults[i].byte);
    assert_non_null(strstr(err.message, faults[i].message));
  }
  fc_test_row(NULL);
  fc_cconv_t cconv;
  fc_error_t err;
  assert_int_not_equal(fc_cconv_parse(FC_STR("0r\0r"), &cconv, &err), FC_OK);
  assert_int_equal(err.byte_offset, 2);
}

// The grammar as a table: state x letter -> next state. A letter, unless it is v, is
// counted as an argument in ARGUMENTS (also the C that opens a span) and as a result in
// RESULTS.
enum { START, ARGUMENTS, SPAN, RESULTS, BAD };
static const char kLetters[] = "0viIfFrCD_";
static const uint8_t kNext[4][10] = {
    // 0       v          i          I          f
    // F          r          C     D          _
    {ARGUMENTS, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD},
    {BAD, ARGUMENTS, ARGUMENTS, ARGUMENTS, ARGUMENTS, ARGUMENTS, ARGUMENTS,
     SPAN, BAD, RESULTS},
    {BAD, SPAN, SPAN, SPAN, SPAN, SPAN, SPAN, BAD, ARGUMENTS, BAD},
    {BAD, RESULTS, RESULTS, RESULTS, RESULTS, RESULTS, RESULTS, BAD, BAD, BAD},
};

typedef struct model_t {
  bool valid;
  uint32_t arguments, results, in_spans;
} model_t;

static model_t model(const char *text, size_t size) {
  model_t m = {0};
  uint8_t at = START;
  for (size_t i = 0; i < size && at != BAD; i++) {
    size_t letter = (size_t)(strchr(kLetters, text[i]) - kLetters);
    uint8_t next = kNext[at][letter];
    bool item = letter >= 2 && letter <= 6;
    m.arguments += at == ARGUMENTS && (item || next == SPAN);
    m.in_spans += at == SPAN && item;
    m.results += at == RESULTS && item;
    at = next;
  }
  m.valid = at != BAD && at != SPAN;
  return m;
}

static uint32_t count_items(fc_str_t side, uint32_t *in_spans) {
  uint32_t count = 0;
  fc_cconv_item_t item, element;
  while (fc_cconv_next(&side, &item)) {
    count++;
    while (fc_cconv_next(&item.span, &element)) {
      (*in_spans)++;
      assert_non_null(strchr("iIfFr", element.kind));
    }
  }
  return count;
}

static void all_short_strings_agree_with_the_table(void **state) {
  (void)state;
  size_t total = 0, valid = 0;
  for (size_t size = 0; size <= 6; size++) {
    size_t count = 1;
    for (size_t i = 0; i < size; i++) count *= 10;
    for (size_t n = 0; n < count; n++) {
      char text[7] = "";
      for (size_t i = 0, rest = n; i < size; i++, rest /= 10) {
        text[i] = kLetters[rest % 10];
      }
      model_t expected = model(text, size);
      fc_cconv_t cconv;
      bool ok = fc_cconv_parse(fc_str_make(text, size), &cconv, NULL) == FC_OK;
      if (ok != expected.valid) fail_msg("'%s'", text);
      total++;
      if (!ok) continue;
      valid++;
      uint32_t in_spans = 0;
      bool agree =
          cconv.argument_count == expected.arguments &&
          cconv.result_count == expected.results &&
          count_items(cconv.arguments, &in_spans) == expected.arguments &&
          count_items(cconv.results, &in_spans) == expected.results &&
          in_spans == expected.in_spans;
      if (!agree) fail_msg("'%s'", text);
    }
  }
  assert_int_equal(total, 1111111);
  assert_true(valid > 10000 && valid < total / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(conventions_become_signatures),
      FC_TEST(faults_have_a_place),
      FC_TEST(all_short_strings_agree_with_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
