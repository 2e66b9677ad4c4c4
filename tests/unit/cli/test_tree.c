// SPDX-License-Identifier: Apache-2.0
//
// Trees as text for people, from canonical JSON written by hand.
#include "tree.h"

#include "helpers/test.h"

#define SIGNATURE(arguments, results)                                 \
  "{\"name\":\"f\",\"source\":\"iree.abi\",\"arguments\":[" arguments \
  "],\"results\":[" results "]}"
#define ROOTED(arguments, results)                                                 \
  "{\"name\":\"f\",\"source\":\"sip\",\"root\":\"dict\",\"arguments\":[" arguments \
  "],\"results\":[" results "]}"
#define ARGUMENT(name, type) \
  "{\"name\":\"" name "\",\"keyword\":true,\"role\":\"in\",\"type\":" type "}"
#define F32 "{\"kind\":\"scalar\",\"dtype\":\"f32\"}"
#define F32_AT(raw) \
  "{\"kind\":\"scalar\",\"dtype\":\"f32\",\"raw_index\":" raw "}"
#define FIELD(name, type) "{\"name\":\"" name "\",\"type\":" type "}"

static const struct {
  const char *name;
  const char *json;
  const char *expected;  // NULL: refused
} rows[] = {
    {"leaves are in the line",
     SIGNATURE(ARGUMENT("x", F32), "{\"type\":" F32 "}"), ""},
    {"a dict and a tuple",
     SIGNATURE(
         ARGUMENT("x", "{\"kind\":\"dict\",\"fields\":[" FIELD("p", F32) "]}"),
         "{\"type\":{\"kind\":\"tuple\",\"flavor\":\"tuple\",\"items\":[" F32
         ",{\"kind\":\"tuple\",\"flavor\":\"list\",\"items\":[" F32 "]}]}}"),
     "  argument 0 x: dict\n"
     "    p: f32\n"
     "  result 0: tuple\n"
     "    [0] f32\n"
     "    [1] list\n"
     "      [0] f32\n"},
    {"any number of the same",
     SIGNATURE(ARGUMENT("", "{\"kind\":\"list\",\"items\":" F32 "}"), ""),
     "  argument 0: list, each\n    f32\n"},
    {"raw values",
     ROOTED(ARGUMENT("ids", F32_AT("1")) "," ARGUMENT(
                "mask",
                "{\"kind\":\"tuple\",\"flavor\":\"list\",\"items\":[" F32_AT(
                    "0") "]}"),
            ""),
     "  argument 0 ids: f32  raw 1\n"
     "  argument 1 mask: list\n"
     "    [0] f32  raw 0\n"},
    {"keys cannot write on the terminal",
     SIGNATURE(ARGUMENT("x", "{\"kind\":\"dict\",\"fields\":[" FIELD(
                                 "a\\u001b[2J\\n", F32) "]}"),
               ""),
     "  argument 0 x: dict\n    a\\x1b[2J\\x0a: f32\n"},
    {"no JSON", "no", NULL},
    {"no signature", "{\"arguments\":7}", NULL},
};

static void what_the_line_crowds_is_a_tree(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_text_t text;
    fc_error_t err;
    fc_error_reset(&err);
    fc_text_init(&text, fc_allocator_system(), 1u << 16);
    fc_status_t status = fc_tree_print(fc_str(row->json), &text.sink, &err);
    assert_int_equal(err.code,
                     row->expected ? FC_CODE_NONE : FC_CODE_ABI_METADATA);
    if (status == FC_OK) {
      assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), NULL),
                       FC_OK);
      assert_string_equal(text.data, row->expected);
    }
    fc_text_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(what_the_line_crowds_is_a_tree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
