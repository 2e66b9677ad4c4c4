// SPDX-License-Identifier: Apache-2.0
//
// V1 metadata (`iree.abi`): what the TensorFlow importer's tests write, what
// the Python runtime's tests call, what must be refused and where, the rule for
// inlined results, and random trees. `readable` is our own one-line form.
#include "helpers/test.h"
#include "helpers/types.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/iree_v1.h"

#define ANY ((fc_raw_counts_t){FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN})
#define T "[\"ndarray\",\"f32\",1,16]"
#define TEXT_T "tensor<16xf32>"
#define ND "[\"ndarray\",\"i32\",1,2]"
#define S0 "[\"ndarray\",\"f32\",0]"

static fc_signature_t *parse(fc_str_t text, fc_raw_counts_t counts,
                             fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_non_null(builder);
  fc_signature_t *signature = NULL;
  if (fc_v1_parse(text, counts, builder, err) == FC_OK) {
    if (fc_signature_build(builder, &signature, err) != FC_OK) signature = NULL;
  }
  fc_builder_destroy(builder);
  return signature;
}

typedef struct vector_row_t {
  const char *name;
  const char *text;
  const char *readable;
  uint32_t raw_arguments;
  uint32_t raw_results;
} vector_row_t;

static const vector_row_t vectors[] = {
    // From the importer's tests.
    {"two tensors in, tuple out",
     "{\"a\":[" T "," T "],\"r\":[[\"stuple\"," T "," T "]],\"v\":1}",
     "(" TEXT_T ", " TEXT_T ") -> ((" TEXT_T ", " TEXT_T "))", 2, 2},
    {"one and one", "{\"a\":[" T "],\"r\":[" T "],\"v\":1}",
     "(" TEXT_T ") -> " TEXT_T, 1, 1},
    {"nested dict and list",
     "{\"a\":[[\"sdict\",[\"dict\",[\"sdict\",[\"a\"," T "],[\"b\"," T
     "]]],[\"list\",[\"slist\"," T "," T "]]]," S0
     "],\"r\":[[\"sdict\",[\"dict\",[\"sdict\",[\"a\"," T "],[\"b\"," T
     "]]],[\"list\",[\"stuple\"," T "," T "]]]],\"v\":1}",
     "({dict: {a: " TEXT_T ", b: " TEXT_T "}, list: [" TEXT_T ", " TEXT_T
     "]}, tensor<f32>) -> {dict: {a: " TEXT_T ", b: " TEXT_T "}, list: (" TEXT_T
     ", " TEXT_T ")}",
     2, 2},
    {"keywords",
     "{\"a\":[[\"named\",\"a\"," T "],[\"named\",\"b\"," T
     "],[\"named\",\"scalar\"," S0 "]],\"r\":[[\"sdict\",[\"dict\",[\"sdict\","
     "[\"a\"," T "],[\"b\"," T "],[\"scalar\"," S0 "]]]]],\"v\":1}",
     "(a: " TEXT_T ", b: " TEXT_T ", scalar: tensor<f32>) -> {dict: {a: " TEXT_T
     ", b: " TEXT_T ", scalar: tensor<f32>}}",
     3, 1},
    // From the tests of the Python runtime.
    {"keyword args",
     "{\"a\":[\"i32\",[\"named\",\"a\",\"i32\"],[\"named\",\"b\",\"i32\"]],"
     "\"r\":[\"i32\"],\"v\":1}",
     "(i32, a: i32, b: i32) -> i32", 3, 1},
    {"list argument",
     "{\"a\":[[\"slist\",\"i32\",\"i32\"]],\"r\":[\"i32\"],\"v\":1}",
     "([i32, i32]) -> i32", 1, 1},
    {"tuple argument",
     "{\"a\":[[\"stuple\",\"i32\",\"i32\"]],\"r\":[\"i32\"],\"v\":1}",
     "((i32, i32)) -> i32", 1, 1},
    {"dict argument",
     "{\"a\":[[\"sdict\",[\"a\",\"i32\"],[\"b\",\"i32\"]]],\"r\":[\"i32\"],"
     "\"v\":1}",
     "({a: i32, b: i32}) -> i32", 1, 1},
    {"inlined results",
     "{\"a\":[],\"r\":[[\"slist\",\"i32\",\"i32\"]],\"v\":1}",
     "() -> [i32, i32]", 0, 2},
    {"nested results",
     "{\"a\":[],\"r\":[\"i32\",[\"slist\",[\"sdict\",[\"bar\",\"i32\"],"
     "[\"foo\",\"i32\"]],\"i64\"]],\"v\":1}",
     "() -> (i32, [{bar: i32, foo: i32}, i64])", 0, 2},
    {"ndarray argument", "{\"a\":[" ND "],\"r\":[],\"v\":1}",
     "(tensor<2xi32>) -> ()", 1, 0},
    {"bool ndarray result",
     "{\"a\":[],\"r\":[[\"ndarray\",\"i1\",1,2]],\"v\":1}",
     "() -> tensor<2xi1>", 0, 1},
    {"homogeneous list result",
     "{\"a\":[],\"r\":[[\"py_homogeneous_list\",\"i64\"]],\"v\":1}",
     "() -> list<i64>", 0, 1},
    // The rest of the grammar.
    {"nothing", "{\"a\":[],\"r\":[],\"v\":1}", "() -> ()", 0, 0},
    {"every primitive",
     "{\"a\":[\"i1\",\"i8\",\"i16\",\"i32\",\"i64\",\"f16\",\"bf16\",\"f32\","
     "\"f64\",\"complex<f32>\",\"complex<f64>\",\"unknown\",null],\"r\":[],"
     "\"v\":1}",
     "(i1, i8, i16, i32, i64, f16, bf16, f32, f64, complex<f32>, complex<f64>, "
     "unknown, null) -> ()",
     13, 0},
    {"null rank", "{\"a\":[[\"ndarray\",\"f32\",null]],\"r\":[],\"v\":1}",
     "(tensor<*xf32>) -> ()", 1, 0},
    {"null dims",
     "{\"a\":[[\"ndarray\",\"bf16\",3,null,4,null]],\"r\":[],\"v\":1}",
     "(tensor<?x4x?xbf16>) -> ()", 1, 0},
    {"null element", "{\"a\":[[\"ndarray\",null,1,4]],\"r\":[],\"v\":1}",
     "(tensor<4xunknown>) -> ()", 1, 0},
    {"unknown element",
     "{\"a\":[[\"ndarray\",\"unknown\",1,4]],\"r\":[],\"v\":1}",
     "(tensor<4xunknown>) -> ()", 1, 0},
    {"complex element",
     "{\"a\":[[\"ndarray\",\"complex<f32>\",0]],\"r\":[],\"v\":1}",
     "(tensor<complex<f32>>) -> ()", 1, 0},
    {"array of lists",
     "{\"a\":[[\"ndarray\",[\"slist\",\"i32\",\"f32\"],1,2]],\"r\":[],\"v\":1}",
     "(refarray<2x[i32, f32]>) -> ()", 1, 0},
    {"empty compounds",
     "{\"a\":[[\"slist\"],[\"stuple\"],[\"sdict\"]],\"r\":[],\"v\":1}",
     "([], (), {}) -> ()", 3, 0},
    {"key with escapes",
     "{\"a\":[[\"sdict\",[\"a\\\"b\",\"i32\"]]],\"r\":[],\"v\":1}",
     "({\"a\\\"b\": i32}) -> ()", 1, 0},
    {"list of tuples",
     "{\"a\":[[\"py_homogeneous_list\",[\"stuple\",\"i32\",\"f32\"]]],\"r\":[],"
     "\"v\":1}",
     "(list<(i32, f32)>) -> ()", 1, 0},
};

static void vectors_read_print_and_write_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const vector_row_t, row, vectors) {
    fc_error_t err;
    fc_signature_t *signature = parse(fc_str(row->text), ANY, &err);
    if (!signature) print_error("%s\n", err.message);
    assert_non_null(signature);
    assert_int_equal(signature->raw_argument_count, row->raw_arguments);
    assert_int_equal(signature->raw_result_count, row->raw_results);
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 20);
    assert_string_equal(fc_test_signature_text(signature), row->readable);
    assert_int_equal(fc_v1_mangle(signature, &text.sink, &err), 0);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->text)));
    fc_text_deinit(&text);
    fc_signature_destroy(signature);
  }
}

// Spellings that are read, but are written in another way.
static const vector_row_t lenient[] = {
    {"no version", "{\"a\":[],\"r\":[]}", "() -> ()", 0, 0},
    {"other members", "{\"x\":{\"y\":[1]},\"r\":[],\"a\":[],\"v\":2}",
     "() -> ()", 0, 0},
    {"historic kwargs",
     "{\"a\":[\"i32\",[\"sdict_kwargs\",[\"k\",\"f32\"]]],\"r\":[]}",
     "(i32, {k: f32}) -> ()", 2, 0},
    {"spaces", " { \"a\" : [ \"i32\" ] , \"r\" : [ ] } ", "(i32) -> ()", 1, 0},
};

static void other_spellings_read(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const vector_row_t, row, lenient) {
    fc_error_t err;
    fc_signature_t *signature = parse(fc_str(row->text), ANY, &err);
    assert_non_null(signature);
    assert_string_equal(fc_test_signature_text(signature), row->readable);
    assert_int_equal(signature->raw_argument_count, row->raw_arguments);
    fc_signature_destroy(signature);
  }
}

typedef struct inline_row_t {
  const char *name;
  const char *results;  // the records of "r"
  int32_t count;        // the function's raw results
  bool accepted;
  bool inlined;
} inline_row_t;

// One compound record. Its children are the raw results, unless the function returns
// one value and the number of children is not one.
static const inline_row_t inlinings[] = {
    {"children are the results", "[\"stuple\",\"i32\",\"f32\"]", 2, true, true},
    {"one list is the result", "[\"stuple\",\"i32\",\"f32\"]", 1, true, false},
    {"one child", "[\"stuple\",\"i32\"]", 1, true, true},
    {"one key", "[\"sdict\",[\"k\",\"i32\"]]", 1, true, true},
    {"nothing", "[\"stuple\"]", 0, true, true},
    {"nothing as a list", "[\"stuple\"]", 1, true, false},
    {"neither", "[\"stuple\",\"i32\",\"f32\"]", 3, false, false},
    {"two records are two results", "[\"stuple\",\"i32\"],\"i32\"", 2, true,
     false},
    {"leaf", "\"i32\"", 1, true, false},
    {"leaf and two results", "\"i32\"", 2, false, false},
    {"list is a leaf", "[\"py_homogeneous_list\",\"i32\"]", 1, true, false},
};

static void results_are_inlined_by_rule(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const inline_row_t, row, inlinings) {
    char text[256];
    snprintf(text, sizeof text, "{\"a\":[],\"r\":[%s]}", row->results);
    fc_error_t err;
    fc_signature_t *signature =
        parse(fc_str(text), (fc_raw_counts_t){0, row->count}, &err);
    assert_int_equal(signature != NULL, row->accepted);
    if (!signature) continue;
    assert_int_equal(signature->raw_result_count, row->count);
    assert_int_equal(signature->results[0].raw_index == FC_RAW_NONE,
                     row->inlined);
    const fc_type_t *type =
        fc_signature_node(signature, signature->results[0].type);
    if (row->inlined && type->child_count) {
      assert_int_equal(fc_signature_node(signature, type->child)->raw_index, 0);
    }
    fc_signature_destroy(signature);
  }
}

typedef struct bad_row_t {
  const char *name;
  const char *text;
  uint64_t offset;
  const char *reason;
} bad_row_t;

static const bad_row_t bad[] = {
    {"empty", "", 0, "not valid JSON"},
    {"not JSON", "{\"a\":[}", 6, "not valid JSON"},
    {"not an object", "[]", 0, "must be an object"},
    {"no a", "{\"r\":[]}", 7, "\"a\" is missing"},
    {"no r", "{\"a\":[]}", 7, "\"r\" is missing"},
    {"a twice", "{\"a\":[],\"a\":[],\"r\":[]}", 8, "comes twice"},
    {"a is no array", "{\"a\":1,\"r\":[]}", 5, "must be arrays"},
    {"number", "{\"a\":[1],\"r\":[]}", 6, "must be a string, null or an array"},
    {"object", "{\"a\":[{}],\"r\":[]}", 6, "must be a string"},
    {"unknown primitive", "{\"a\":[\"str\"],\"r\":[]}", 6, "unknown primitive"},
    {"unsigned", "{\"a\":[\"ui8\"],\"r\":[]}", 6, "unknown primitive"},
    {"index", "{\"a\":[\"index\"],\"r\":[]}", 6, "unknown primitive"},
    {"empty record", "{\"a\":[[]],\"r\":[]}", 7, "begin with its kind"},
    {"unknown record", "{\"a\":[[\"slits\"]],\"r\":[]}", 7,
     "unknown kind of record"},
    {"named in a result", "{\"a\":[],\"r\":[[\"named\",\"x\",\"i32\"]]}", 14,
     "only for arguments"},
    {"named below", "{\"a\":[[\"slist\",[\"named\",\"x\",\"i32\"]]],\"r\":[]}",
     16, "only for arguments"},
    {"named in named",
     "{\"a\":[[\"named\",\"x\",[\"named\",\"y\",\"i32\"]]],\"r\":[]}", 20,
     "only for arguments"},
    {"named without a name", "{\"a\":[[\"named\",1,\"i32\"]],\"r\":[]}", 15,
     "key must be a string"},
    {"named with two types",
     "{\"a\":[[\"named\",\"x\",\"i32\",\"i32\"]],"
     "\"r\":[]}",
     25, "more than one element"},
    {"kwargs not last",
     "{\"a\":[[\"sdict_kwargs\",[\"k\",\"f32\"]],\"i32\"],\"r\":[]}", 35,
     "must be the last argument"},
    {"rank 3, one dim", "{\"a\":[[\"ndarray\",\"f32\",3,4]],\"r\":[]}", 26,
     "fewer dims"},
    {"rank 1, two dims", "{\"a\":[[\"ndarray\",\"f32\",1,4,5]],\"r\":[]}", 27,
     "more dims"},
    {"null rank with dims", "{\"a\":[[\"ndarray\",\"f32\",null,4]],\"r\":[]}",
     28, "more dims"},
    {"negative dim", "{\"a\":[[\"ndarray\",\"f32\",1,-4]],\"r\":[]}", 25,
     "integers from 0"},
    {"fractional rank", "{\"a\":[[\"ndarray\",\"f32\",1.5,4]],\"r\":[]}", 23,
     "integers from 0"},
    {"rank 33", "{\"a\":[[\"ndarray\",\"f32\",33]],\"r\":[]}", 23, "over 32"},
    {"rank is a string", "{\"a\":[[\"ndarray\",\"f32\",\"1\"]],\"r\":[]}", 23,
     "integer or null"},
    {"no element", "{\"a\":[[\"ndarray\"]],\"r\":[]}", 16,
     "must be a string, null or an array"},
    {"unknown element", "{\"a\":[[\"ndarray\",\"x\",0]],\"r\":[]}", 17,
     "unknown element type"},
    {"dict entry is a string", "{\"a\":[[\"sdict\",\"k\"]],\"r\":[]}", 15,
     "[key, record]"},
    {"dict entry without a record", "{\"a\":[[\"sdict\",[\"k\"]]],\"r\":[]}",
     19, "must be a string, null or an array"},
    {"dict entry with two",
     "{\"a\":[[\"sdict\",[\"k\",\"i1\",\"i1\"]]],"
     "\"r\":[]}",
     25, "[key, record]"},
    {"two element types",
     "{\"a\":[[\"py_homogeneous_list\",\"i8\",\"i8\"]],\"r\":[]}", 34,
     "more than one element"},
    {"bytes behind", "{\"a\":[],\"r\":[]}x", 15, "not valid JSON"},
    {"key twice",
     "{\"a\":[[\"sdict\",[\"k\",\"i1\"],[\"k\",\"i1\"]]],\"r\":[]}",
     FC_NO_OFFSET, "key 'k' comes twice"},
};

static void bad_texts_say_where(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_row_t, row, bad) {
    fc_error_t err;
    assert_null(parse(fc_str(row->text), ANY, &err));
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_non_null(strstr(err.message, row->reason));
    assert_int_equal(err.byte_offset, row->offset);
  }
}

static void counts_must_agree(void **state) {
  (void)state;
  fc_error_t err;
  const fc_str_t text = FC_STR("{\"a\":[\"i32\"],\"r\":[\"i32\"]}");
  fc_signature_t *signature = parse(text, (fc_raw_counts_t){1, 1}, &err);
  assert_non_null(signature);
  fc_signature_destroy(signature);
  assert_null(parse(text, (fc_raw_counts_t){2, 1}, &err));
  assert_non_null(strstr(err.message, "describes 1 arguments"));
  assert_int_equal(err.byte_offset, 5);
}

// Types that other sources have, but not V1. Each is read from canonical JSON; the
// record that is written for it is read back as the same text.
static const struct {
  const char *name;
  const char *type;
  const char *record;
} forms[] = {
    {"a sign", "{\"kind\":\"scalar\",\"dtype\":\"ui8\"}", "\"i8\""},
    {"an index", "{\"kind\":\"scalar\",\"dtype\":\"index\"}", "\"i64\""},
    {"another float", "{\"kind\":\"scalar\",\"dtype\":\"f8E5M2\"}",
     "\"unknown\""},
    {"a tensor of another float",
     "{\"kind\":\"tensor\",\"dtype\":\"f8E5M2\",\"shape\":[2]}",
     "[\"ndarray\",\"unknown\",1,2]"},
    {"a width", "{\"kind\":\"scalar\",\"dtype\":\"ui24\"}", "\"i24\""},
    {"a great width", "{\"kind\":\"opaque\",\"type\":\"i128\"}", "\"i128\""},
    {"a wide float", "{\"kind\":\"opaque\",\"type\":\"f128\"}", "\"f128\""},
    {"a width with a sign", "{\"kind\":\"opaque\",\"type\":\"ui70\"}",
     "\"i70\""},
    {"a tensor of a width",
     "{\"kind\":\"tensor\",\"dtype\":\"i24\",\"shape\":[null,2]}",
     "[\"ndarray\",\"i24\",2,null,2]"},
    {"a tensor of a word",
     "{\"kind\":\"tensor\",\"dtype\":\"!tf.string\",\"shape\":[2]}",
     "[\"ndarray\",\"unknown\",1,2]"},
    {"a memref of a width", "{\"kind\":\"opaque\",\"type\":\"memref<?xi70>\"}",
     "[\"ndarray\",\"i70\",1,null]"},
    {"a memref of memrefs",
     "{\"kind\":\"opaque\",\"type\":\"memref<4xmemref<2xf32>>\"}",
     "[\"ndarray\",\"unknown\",1,4]"},
    {"a reference", "{\"kind\":\"opaque\",\"type\":\"!vm.ref<?>\"}",
     "\"unknown\""},
    {"bytes", "{\"kind\":\"bytes\",\"encoding\":\"raw\"}", "\"unknown\""},
    {"a string", "{\"kind\":\"bytes\",\"encoding\":\"i8\"}",
     "[\"py_homogeneous_list\",\"i8\"]"},
    {"a vector", "{\"kind\":\"vector\",\"dtype\":\"f32\",\"shape\":[4]}",
     "\"unknown\""},
    {"a dict of keywords",
     "{\"kind\":\"dict\",\"fields\":[{\"name\":\"a\",\"type\":{\"kind\":"
     "\"null\"}}],\"flavor\":\"kwargs\"}",
     "[\"sdict_kwargs\",[\"a\",null]]"},
};

static void every_type_has_a_form_that_reads_back(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(forms); i++) {
    char json[512], wanted[512];
    fc_error_t err;
    fc_test_row(forms[i].name);
    snprintf(json, sizeof json,
             "{\"source\":\"sidecar\",\"model\":\"sync\",\"arguments\":[{"
             "\"keyword\":false,\"role\":\"in\",\"type\":%s}],\"results\":[]}",
             forms[i].type);
    snprintf(wanted, sizeof wanted, "{\"a\":[%s],\"r\":[],\"v\":1}",
             forms[i].record);
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_signature_t *signature = NULL;
    assert_int_equal(fc_signature_parse_json(fc_str(json), builder, &err), 0);
    assert_int_equal(fc_signature_build(builder, &signature, &err), 0);
    fc_builder_destroy(builder);
    for (int round = 0; round < 2; round++) {
      fc_text_t text;
      fc_text_init(&text, fc_allocator_system(), 1 << 16);
      assert_int_equal(fc_v1_mangle(signature, &text.sink, &err), 0);
      assert_true(fc_str_equal(fc_text_str(&text), fc_str(wanted)));
      fc_signature_destroy(signature);
      signature = parse(fc_text_str(&text), ANY, &err);
      assert_non_null(signature);
      fc_text_deinit(&text);
    }
    fc_signature_destroy(signature);
  }
  fc_test_row(NULL);
}

static void a_structure_of_one_slot_may_be_a_list(void **state) {
  (void)state;
  for (int one_list = 0; one_list < 2; one_list++) {
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_signature_t *signature = NULL;
    fc_error_t err;
    assert_int_equal(
        fc_v1_read(FC_STR("{\"a\":[],\"r\":[[\"stuple\",\"i32\"]]}"),
                   (fc_raw_counts_t){0, 1}, one_list, builder, &err),
        FC_OK);
    assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
    assert_int_equal(signature->results[0].raw_index,
                     one_list ? 0 : FC_RAW_NONE);
    fc_signature_destroy(signature);
    fc_builder_destroy(builder);
  }
}

static void a_width_without_element_type_is_listed(void **state) {
  (void)state;
  fc_error_t err;
  fc_signature_t *signature =
      parse(FC_STR("{\"a\":[\"i128\"],\"r\":[]}"), ANY, &err);
  assert_non_null(signature);
  assert_false(signature->callable);
  assert_true(fc_str_equal(fc_signature_text(signature, signature->reason),
                           FC_STR("type i128 is not supported")));
  fc_signature_destroy(signature);
}

static void an_array_of_records_needs_dims(void **state) {
  (void)state;
  static const char *const ranks[] = {"null", "0"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(ranks); i++) {
    char text[96];
    snprintf(text, sizeof text,
             "{\"a\":[[\"ndarray\",[\"slist\",\"i32\"],%s]],\"r\":[]}",
             ranks[i]);
    fc_error_t err;
    fc_signature_t *signature = parse(fc_str(text), ANY, &err);
    assert_non_null(signature);
    assert_false(signature->callable);
    fc_signature_destroy(signature);
  }
}

static void a_depth_bomb_is_refused(void **state) {
  (void)state;
  enum { LEVELS = 5000 };
  static char text[LEVELS * 10 + 64];
  size_t size = 0;
  memcpy(text, "{\"r\":[],\"a\":[", 13);
  size = 13;
  for (int i = 0; i < LEVELS; i++) {
    memcpy(text + size, "[\"slist\",", 9);
    size += 9;
  }
  fc_error_t err;
  assert_null(parse(fc_str_make(text, size), ANY, &err));
  assert_non_null(strstr(err.message, "nested deeper than 32"));
}

static void every_proper_prefix_is_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const vector_row_t, row, vectors) {
    const fc_str_t text = fc_str(row->text);
    for (size_t size = 0; size < text.size; size++) {
      fc_error_t err;
      assert_null(parse(fc_str_make(text.data, size), ANY, &err));
      assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    }
  }
}

// ---------------------------------------------------------------------------
// Random trees: written, read, written again; through canonical JSON as well.

static uint64_t random_state = 0x2545f4914f6cdd1du;

static uint32_t pick(uint32_t below) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 33) % below;
}

static const char *const kPrimitives[] = {
    "\"i1\"",  "\"i8\"",  "\"i64\"", "\"f16\"",          "\"bf16\"",
    "\"f32\"", "\"f64\"", "null",    "\"complex<f64>\"", "\"unknown\""};

static void put(fc_text_t *text, const char *piece) {
  assert_int_equal(fc_sink_put(&text->sink, fc_str(piece), NULL), 0);
}

static void put_dims(fc_text_t *text) {
  const uint32_t rank = pick(4);
  char piece[32];
  snprintf(piece, sizeof piece, ",%u", rank);
  put(text, piece);
  for (uint32_t i = 0; i < rank; i++) {
    snprintf(piece, sizeof piece, ",%u", pick(5));
    put(text, pick(3) ? piece : ",null");
  }
  put(text, "]");
}

static void put_record(fc_text_t *text, int depth) {
  static const char *const kSequences[] = {"[\"slist\"", "[\"stuple\""};
  const uint32_t kind = depth ? pick(7) : pick(2);
  char key[32];
  switch (kind) {
    case 0:
      put(text, kPrimitives[pick(FC_ARRAY_COUNT(kPrimitives))]);
      return;
    case 1:
      put(text, pick(5) ? "[\"ndarray\",\"f32\"" : "[\"ndarray\",null");
      put_dims(text);
      return;
    case 2:
      put(text, "[\"py_homogeneous_list\",");
      put_record(text, depth - 1);
      put(text, "]");
      return;
    case 3:
      put(text, "[\"ndarray\",[\"stuple\"");
      for (uint32_t i = pick(3); i > 0; i--) {
        put(text, ",");
        put_record(text, depth - 1);
      }
      put(text, "]");
      put_dims(text);
      return;
    case 4:
      put(text, "[\"sdict\"");
      for (uint32_t i = 0, count = pick(4); i < count; i++) {
        snprintf(key, sizeof key, ",[\"k%u\",", i);
        put(text, key);
        put_record(text, depth - 1);
        put(text, "]");
      }
      put(text, "]");
      return;
    default:
      put(text, kSequences[kind - 5]);
      for (uint32_t i = pick(4); i > 0; i--) {
        put(text, ",");
        put_record(text, depth - 1);
      }
      put(text, "]");
  }
}

static void put_document(fc_text_t *text) {
  put(text, "{\"a\":[");
  for (uint32_t i = 0, count = pick(4); i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "[\"named\",\"n%u\",", i);
    const bool named = pick(3) == 0;
    if (i) put(text, ",");
    if (named) put(text, name);
    put_record(text, 5);
    if (named) put(text, "]");
  }
  put(text, "],\"r\":[");
  for (uint32_t i = 0, count = pick(4); i < count; i++) {
    if (i) put(text, ",");
    put_record(text, 5);
  }
  put(text, "],\"v\":1}");
}

static fc_signature_t *through_json(const fc_signature_t *signature) {
  fc_error_t err;
  fc_text_t json;
  fc_text_init(&json, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_signature_print_json(signature, FC_STR(""), FC_STR(""),
                                           &json.sink, &err),
                   0);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_status_t status =
      fc_signature_parse_json(fc_text_str(&json), builder, &err);
  if (status) print_error("%s\n", err.message);
  assert_int_equal(status, 0);
  fc_signature_t *again;
  status = fc_signature_build(builder, &again, &err);
  if (status) print_error("%s\n", err.message);
  assert_int_equal(status, 0);
  fc_builder_destroy(builder);
  fc_text_deinit(&json);
  return again;
}

static void random_trees_read_back(void **state) {
  (void)state;
  fc_text_t text, again;
  fc_text_init(&text, fc_allocator_system(), 1 << 22);
  fc_text_init(&again, fc_allocator_system(), 1 << 22);
  for (int round = 0; round < 2000; round++) {
    fc_error_t err;
    fc_text_reset(&text);
    put_document(&text);
    fc_signature_t *signature = parse(fc_text_str(&text), ANY, &err);
    if (!signature) print_error("%s\n", err.message);
    assert_non_null(signature);
    fc_signature_t *twin = through_json(signature);
    const fc_signature_t *both[] = {signature, twin};
    for (int i = 0; i < 2; i++) {
      fc_text_reset(&again);
      assert_int_equal(fc_v1_mangle(both[i], &again.sink, &err), 0);
      assert_true(fc_str_equal(fc_text_str(&again), fc_text_str(&text)));
    }
    fc_signature_destroy(signature);
    fc_signature_destroy(twin);
  }
  fc_text_deinit(&text);
  fc_text_deinit(&again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(vectors_read_print_and_write_back),
      FC_TEST(other_spellings_read),
      FC_TEST(results_are_inlined_by_rule),
      FC_TEST(bad_texts_say_where),
      FC_TEST(counts_must_agree),
      FC_TEST(every_type_has_a_form_that_reads_back),
      FC_TEST(a_structure_of_one_slot_may_be_a_list),
      FC_TEST(a_width_without_element_type_is_listed),
      FC_TEST(an_array_of_records_needs_dims),
      FC_TEST(a_depth_bomb_is_refused),
      FC_TEST(every_proper_prefix_is_refused),
      FC_TEST(random_trees_read_back),
  };
  return cmocka_run_group_tests_name("iree_v1", tests, NULL, NULL);
}
