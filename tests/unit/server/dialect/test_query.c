// SPDX-License-Identifier: Apache-2.0
//
// Conditions as in RFC 9110, 13.1, and which signatures cannot be written in which
// form. The forms themselves are tested with their printers.
#include "dialect/query.h"

#include "farcall/type.h"
#include "helpers/test.h"

#define TAG "0123456789abcdef0123456789abcdef"

typedef enum outcome_t { MET, SAME, FAILED } outcome_t;

static void conditions_are_those_of_rfc_9110(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *match;  // NULL: no such field
    const char *none_match;
    outcome_t get;
    outcome_t post;
  } rows[] = {
      {"no condition", NULL, NULL, MET, MET},
      {"the tag", "\"" TAG "\"", NULL, MET, MET},
      {"any", "*", NULL, MET, MET},
      {"another tag", "\"x\"", NULL, FAILED, FAILED},
      {"no tag", "", NULL, FAILED, FAILED},
      {"in a list", "\"x\", \"" TAG "\"", NULL, MET, MET},
      {"in a list with gaps", ", ,\"x\",,\t\"" TAG "\",", NULL, MET, MET},
      {"weak does not match strongly", "W/\"" TAG "\"", NULL, FAILED, FAILED},
      {"weak, then strong", "W/\"" TAG "\",\"" TAG "\"", NULL, MET, MET},
      {"without quotes", TAG, NULL, FAILED, FAILED},
      {"quote left open", "\"" TAG, NULL, FAILED, FAILED},
      {"only the beginning", "\"0123\"", NULL, FAILED, FAILED},
      {"longer", "\"" TAG "0\"", NULL, FAILED, FAILED},
      {"upper case", "\"0123456789ABCDEF0123456789ABCDEF\"", NULL, FAILED,
       FAILED},
      {"a comma in a tag", "\"a,\", \"" TAG "\"", NULL, MET, MET},
      {"the tag inside another", "\"a\" TAG \"", NULL, FAILED, FAILED},
      {"a star among others", "\"x\", *", NULL, FAILED, FAILED},
      {"a W alone", "W/", NULL, FAILED, FAILED},
      {"none: the tag", NULL, "\"" TAG "\"", SAME, FAILED},
      {"none: weak", NULL, "W/\"" TAG "\"", SAME, FAILED},
      {"none: any", NULL, "*", SAME, FAILED},
      {"none: another", NULL, "\"x\"", MET, MET},
      {"none: in a list", NULL, "W/\"x\", \"" TAG "\"", SAME, FAILED},
      {"none: malformed", NULL, TAG, MET, MET},
      {"both hold", "\"" TAG "\"", "\"x\"", MET, MET},
      {"If-Match goes first", "\"x\"", "\"" TAG "\"", FAILED, FAILED},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    for (int post = 0; post < 2; post++) {
      fc_request_t request = {.method = post ? FC_METHOD_POST : FC_METHOD_GET};
      fc_error_t error;
      bool same = true;
      fc_error_reset(&error);
      if (row->match) request.fields[FC_FIELD_IF_MATCH] = fc_str(row->match);
      if (row->none_match) {
        request.fields[FC_FIELD_IF_NONE_MATCH] = fc_str(row->none_match);
      }
      fc_status_t status = fc_query_check(&request, FC_STR(TAG), &same, &error);
      outcome_t got = status != FC_OK ? FAILED : same ? SAME : MET;
      assert_int_equal(got, post ? row->post : row->get);
      assert_int_equal(error.code, got == FAILED ? FC_CODE_PRECONDITION_FAILED
                                                 : FC_CODE_NONE);
      if (got == FAILED) assert_string_equal(error.expected, "\"" TAG "\"");
    }
  }
}

static void a_tag_that_is_not_known_yet_is_waited_for(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_method_t method;
    fc_request_field_t field;
    const char *value;
    bool waits;
  } rows[] = {
      {"get if it is", FC_METHOD_GET, FC_FIELD_IF_MATCH, "\"a\"", true},
      {"call if it is", FC_METHOD_POST, FC_FIELD_IF_MATCH, "\"\"", true},
      {"call if it is any", FC_METHOD_POST, FC_FIELD_IF_MATCH, "*", false},
      {"get if it is not", FC_METHOD_GET, FC_FIELD_IF_NONE_MATCH, "\"a\"",
       false},
      {"get if it is empty", FC_METHOD_GET, FC_FIELD_IF_NONE_MATCH, "\"\"",
       false},
      {"call if it is not", FC_METHOD_POST, FC_FIELD_IF_NONE_MATCH, "\"a\"",
       true},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_request_t request = {.method = row->method};
    fc_error_t error;
    bool same = true;
    fc_error_reset(&error);
    request.fields[row->field] = fc_str(row->value);
    (void)fc_query_check(&request, FC_STR(""), &same, &error);
    assert_int_equal(error.code, row->waits ? FC_CODE_NOT_READY : FC_CODE_NONE);
    assert_false(same);
  }
}

// The condition may be cut anywhere; nothing is read past its end.
static void every_prefix_of_a_list_is_read_within_its_bounds(void **state) {
  (void)state;
  static const char kList[] = " W/\"a\" ,\"b\",W/\"" TAG "\", \"" TAG "\"";
  for (size_t size = 0; size < sizeof kList; size++) {
    char *copy = fc_alloc(fc_allocator_system(), size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, kList, size);
    fc_request_t request = {.method = FC_METHOD_POST};
    request.fields[FC_FIELD_IF_MATCH] = fc_str_make(copy, size);
    bool same,
        good = fc_query_check(&request, FC_STR(TAG), &same, NULL) == FC_OK;
    assert_int_equal(good, size >= sizeof kList - 1);
    fc_free(fc_allocator_system(), copy);
  }
}

// ---------------------------------------------------------------------------

typedef void (*make_t)(fc_builder_t *builder);

static void make_tree(fc_builder_t *b) {  // sip: (a) -> a leaf
  fc_builder_source(b, FC_SOURCE_SIP);
  fc_builder_root_tree(b, true);
  uint32_t root = fc_builder_node(b, FC_TYPE_DICT);
  uint32_t leaf = fc_builder_scalar(b, FC_DTYPE_F32);
  fc_type_t *type = fc_builder_at(b, leaf);
  if (type) type->raw_index = 0;
  fc_builder_append_key(b, root, FC_STR("a"), leaf);
  fc_builder_argument(b, FC_STR(""), root, FC_ROLE_IN, false, FC_RAW_NONE);
}

static void make_plain(fc_builder_t *b) {
  fc_builder_argument(b, FC_STR("x"), fc_builder_scalar(b, FC_DTYPE_F32),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
}

static void make_inout(fc_builder_t *b) {
  const int64_t dim = 4;
  fc_builder_argument(b, FC_STR("x"),
                      fc_builder_tensor(b, FC_DTYPE_F32, 1, &dim),
                      FC_ROLE_INOUT, true, FC_RAW_NEXT);
}

static void make_vector(fc_builder_t *b) {
  const int64_t dim = 4;
  fc_builder_argument(b, FC_STR("x"),
                      fc_builder_vector(b, FC_DTYPE_F32, 1, &dim), FC_ROLE_IN,
                      true, FC_RAW_NEXT);
  fc_builder_refuse(b, FC_STR("argument 0 is a vector"));
}

static void make_large(fc_builder_t *b) {
  const int64_t dim = 1 << 28;
  fc_builder_argument(b, FC_STR("x"),
                      fc_builder_tensor(b, FC_DTYPE_F32, 1, &dim), FC_ROLE_IN,
                      true, FC_RAW_NEXT);
}

static fc_signature_t *build(make_t make) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature = NULL;
  assert_non_null(builder);
  fc_builder_name(builder, FC_STR("f"));
  make(builder);
  assert_int_equal(fc_signature_build(builder, &signature, NULL), FC_OK);
  fc_builder_destroy(builder);
  return signature;
}

static void a_form_is_there_or_the_reason_is(void **state) {
  (void)state;
  static const struct {
    const char *name;
    make_t make;
    const char *query;
    fc_code_t code;
    const char *expected;  // the document, or part of the message
  } rows[] = {
      {"text", make_plain, "format=text", FC_CODE_NONE, "f(x: f32) -> ()"},
      {"v1", make_plain, "format=v1", FC_CODE_NONE,
       "{\"a\":[[\"named\",\"x\",\"f32\"]],\"r\":[],\"v\":1}"},
      {"sip", make_tree, "format=sip", FC_CODE_NONE, "I10!D7!K2!a_0R1!"},
      {"sip of positions", make_plain, "format=sip", FC_CODE_NONE,
       "I8!S5!k0_0R1!"},
      {"v1 of a vector", make_vector, "format=v1", FC_CODE_NONE,
       "{\"a\":[[\"named\",\"x\",\"unknown\"]],\"r\":[],\"v\":1}"},
      {"no v1 of a role", make_inout, "format=v1", FC_CODE_NOT_ACCEPTABLE,
       "argument 0 is written to; this form has inputs alone"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_signature_t *signature = build(row->make);
    fc_function_t function = {.name = FC_STR("f"), .signature = signature};
    fc_text_t text;
    fc_error_t error;
    fc_error_reset(&error);
    fc_text_init(&text, fc_allocator_system(), 1u << 16);
    (void)fc_query_write(&function, fc_str(row->query), &text.sink, &error);
    assert_int_equal(error.code, row->code);
    if (row->code == FC_CODE_NONE) {
      assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->expected)));
    } else {
      assert_non_null(strstr(error.message, row->expected));
    }
    fc_text_deinit(&text);
    fc_signature_destroy(signature);
  }
}

static void an_example_needs_a_function_that_can_be_called(void **state) {
  (void)state;
  static const struct {
    const char *name;
    make_t make;
    bool callable;
    fc_code_t code;
    const char *expected;
    const char *query;
  } rows[] = {
      {"plain", make_plain, true, FC_CODE_NONE, "{\"kwargs\":{\"x\":0.0}}", ""},
      {"no name", make_plain, true, FC_CODE_NONE, "{\"kwargs\":{\"x\":0.0}}",
       "name="},
      {"a name", make_plain, true, FC_CODE_UNKNOWN_FIELD,
       "no example 'a b' of function 'f': there is none", "name=a%20b"},
      {"half an escape", make_plain, true, FC_CODE_HTTP_SYNTAX,
       "the name of the example has a wrong percent-encoding", "name=a%2"},
      {"not callable", make_vector, false, FC_CODE_UNSUPPORTED_TYPE,
       "function 'f': argument 0 is a vector", ""},
      {"large", make_large, true, FC_CODE_TENSOR_TOO_LARGE,
       "an example for function 'f' would exceed 67108864 bytes", ""},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_signature_t *signature = build(row->make);
    fc_plan_t *plan = NULL;
    if (row->callable) {
      assert_int_equal(
          fc_plan_create(signature, fc_allocator_system(), &plan, NULL), FC_OK);
    }
    fc_function_t function = {
        .name = FC_STR("f"), .signature = signature, .plan = plan};
    fc_text_t text;
    fc_error_t error;
    fc_error_reset(&error);
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    (void)fc_query_example(&function, fc_str(row->query), &text.sink, &error);
    assert_int_equal(error.code, row->code);
    if (row->code == FC_CODE_NONE) {
      assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->expected)));
    } else {
      assert_string_equal(error.message, row->expected);
    }
    fc_text_deinit(&text);
    fc_plan_destroy(plan);
    fc_signature_destroy(signature);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(conditions_are_those_of_rfc_9110),
      FC_TEST(a_tag_that_is_not_known_yet_is_waited_for),
      FC_TEST(every_prefix_of_a_list_is_read_within_its_bounds),
      FC_TEST(a_form_is_there_or_the_reason_is),
      FC_TEST(an_example_needs_a_function_that_can_be_called),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
