// SPDX-License-Identifier: Apache-2.0
//
// Reading a saved profile back: a server may have sent anything.
#include "helpers/test.h"

#include "helpers/arena.h"
#include "flame.h"

#define HEAD "{\"ns\":9,\"dropped\":0,\"rows\":["
#define CALL \
  "{\"kind\":\"call\",\"name\":\"f\",\"count\":1,\"ns\":9,\"self_ns\":1}"
#define ROW(kind, name, parent, ns)                                  \
  ",{\"kind\":\"" kind "\",\"name\":\"" name "\",\"parent\":" parent \
  ",\"count\":2,\"ns\":" ns ",\"self_ns\":1"
#define PLAIN(name, parent, ns) ROW("function", name, parent, ns) "}"

static void what_is_no_profile_is_refused(void **state) {
  fc_arena_t *arena = &fc_test_arena;
  (void)state;
  static const struct {
    const char *name;
    const char *json;
    bool good;
  } rows[] = {
      {"the call", HEAD CALL "]}", true},
      {"a row below it", HEAD CALL PLAIN("g", "0", "3") "]}", true},
      {"a dispatch",
       HEAD CALL ROW("dispatch", "d", "0",
                     "3") ",\"grid\":[1,2,3],\"bytes\":4}]}",
       true},
      {"a kind of tomorrow", HEAD CALL ROW("fence", "d", "0", "3") "}]}", true},
      {"nothing", "", false},
      {"an array", "[]", false},
      {"no rows", HEAD "]}", false},
      {"no number of those without a row", "{\"ns\":9,\"rows\":[" CALL "]}",
       false},
      {"a row of its own", HEAD CALL PLAIN("g", "1", "3") "]}", false},
      {"a later row", HEAD CALL PLAIN("g", "7", "3") "]}", false},
      {"before the first", HEAD CALL PLAIN("g", "-1", "3") "]}", false},
      {"no parent", HEAD CALL "," CALL "]}", false},
      {"a time below 0", HEAD CALL PLAIN("g", "0", "-3") "]}", false},
      {"a time that is text", HEAD CALL PLAIN("g", "0", "\"3\"") "]}", false},
      {"a grid of two",
       HEAD CALL ROW("dispatch", "d", "0", "3") ",\"grid\":[1,2]}]}", false},
      {"no name",
       HEAD "{\"kind\":\"call\",\"count\":1,\"ns\":9,\"self_ns\":1}]}", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_flame_t flame;
    fc_error_t err;
    fc_error_reset(&err);
    const fc_status_t status =
        fc_flame_read(arena, fc_str(row->json), &flame, &err);
    assert_int_equal(status == FC_OK, row->good);
    assert_int_equal(err.code, row->good ? FC_CODE_NONE : FC_CODE_BAD_RESULT);
  }
}

static void rows_come_below_their_callers_the_longest_first(void **state) {
  fc_arena_t *arena = &fc_test_arena;
  (void)state;
  static const char kJson[] =
      HEAD CALL PLAIN("a", "0", "2") PLAIN("b", "0", "5") PLAIN("c", "1", "1")
          PLAIN("d", "2", "1") PLAIN("e", "2", "3") "]}";
  static const char *const kNames[] = {"f", "b", "e", "d", "a", "c"};
  static const size_t kDepths[] = {0, 1, 2, 2, 1, 2};
  fc_flame_t flame;
  fc_error_t err;
  assert_int_equal(fc_flame_read(arena, fc_str(kJson), &flame, &err), FC_OK);
  assert_int_equal(flame.count, FC_ARRAY_COUNT(kNames));
  for (size_t i = 0; i < flame.count; i++) {
    const fc_flame_row_t *row = &flame.rows[flame.order[i]];
    assert_string_equal(row->name, kNames[i]);
    assert_int_equal(row->depth, kDepths[i]);
  }
}

// The name of a function is any text of a module: it must not end a string of the file,
// nor control a terminal.
static void names_are_text(void **state) {
  fc_arena_t *arena = &fc_test_arena;
  (void)state;
  static const char kJson[] =
      HEAD CALL ROW("b\\\"", "<script>\\\"&\\u001b[1m", "0", "9") "}]}";
  fc_flame_t flame;
  fc_error_t err;
  fc_text_t file;
  char shown[1024] = "";
  assert_int_equal(fc_flame_read(arena, fc_str(kJson), &flame, &err), FC_OK);
  fc_text_init(&file, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_flame_print_speedscope(&flame, &file.sink, &err), FC_OK);
  assert_int_equal(fc_sink_put(&file.sink, fc_str_make("", 1), &err), FC_OK);
  assert_non_null(
      strstr(fc_text_str(&file).data,
             "{\"name\":\"<script>\\\"&\\u001b[1m\",\"file\":\"b\\\"\"}"));
  fc_text_deinit(&file);
  FILE *stream = fmemopen(shown, sizeof shown, "w");
  assert_non_null(stream);
  fc_flame_show(&flame, stream);
  fclose(stream);
  assert_non_null(strstr(shown, "<script>\\\"&\\x1b[1m"));
  assert_null(strchr(shown, '\x1b'));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(what_is_no_profile_is_refused),
      FC_TEST_WITH_ARENA(rows_come_below_their_callers_the_longest_first),
      FC_TEST_WITH_ARENA(names_are_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
