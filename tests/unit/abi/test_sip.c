// SPDX-License-Identifier: Apache-2.0
//
// SIP signatures: the test vectors of IREE's own mangler and parser (run against its
// sources), real signatures of TensorFlow imports, every negative vector, and random
// trees.
#include "helpers/compare.h"
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "abi/cconv.h"
#include "farcall/abi.h"

#define UNKNOWN_COUNTS ((fc_raw_counts_t){FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN})

static fc_signature_t *parse(fc_str_t text, fc_str_t raw,
                             fc_raw_counts_t counts, fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  assert_non_null(builder);
  fc_signature_t *signature = NULL;
  if (fc_sip_parse(text, raw, counts, builder, err) == FC_OK) {
    if (fc_signature_build(builder, &signature, err) != FC_OK) signature = NULL;
  }
  fc_builder_destroy(builder);
  return signature;
}

// ---------------------------------------------------------------------------
// Reading

typedef struct text_row_t {
  const char *name;
  const char *text;
  const char *inputs;
  const char *results;
} text_row_t;

static const text_row_t texts[] = {
    {"nothing", "I1!R1!", "", ""},
    {"two positional, one result", "I12!S9!k0_0k1_1R3!_0",
     ":[\n  0=raw(0),\n  1=raw(1),\n],\n", "=raw(0),\n"},
    {"nested", "I31!S27!k0D17!K4!bar_1K4!foo_0k1_2R12!S9!k0_0k1_1",
     ":[\n  0:{\n    bar=raw(1),\n    foo=raw(0),\n  },\n  1=raw(2),\n],\n",
     ":[\n  0=raw(0),\n  1=raw(1),\n],\n"},
    {"empty list and dict", "I4!S1!R4!D1!", ":[\n],\n", ":{\n},\n"},
    {"mobilebert",
     "I53!D49!K10!input_ids_1K11!input_mask_2K12!segment_ids_0"
     "R39!D35!K11!end_logits_0K13!start_logits_1",
     ":{\n  input_ids=raw(1),\n  input_mask=raw(2),\n  segment_ids=raw(0),\n"
     "},\n",
     ":{\n  end_logits=raw(0),\n  start_logits=raw(1),\n},\n"},
    {"empty key", "I9!D6!K1!_0R1!", ":{\n  =raw(0),\n},\n", ""},
    {"real: result only", "I1!R3!_0", "", "=raw(0),\n"},
    {"real: one argument", "I8!S5!k0_0R1!", ":[\n  0=raw(0),\n],\n", ""},
    {"real: one and one", "I8!S5!k0_0R3!_0", ":[\n  0=raw(0),\n],\n",
     "=raw(0),\n"},
    {"real: f({x,y})", "I23!S19!k0D13!K2!x_0K2!y_1R3!_0",
     ":[\n  0:{\n    x=raw(0),\n    y=raw(1),\n  },\n],\n", "=raw(0),\n"},
    {"real: dict result", "I12!S9!k0_0k1_1R26!D22!K2!x_0K10!x_squared_1",
     ":[\n  0=raw(0),\n  1=raw(1),\n],\n",
     ":{\n  x=raw(0),\n  x_squared=raw(1),\n},\n"},
    {"real: one key", "I1!R10!D7!K2!x_0", "", ":{\n  x=raw(0),\n},\n"},
    {"real: three results", "I1!R17!S13!k0_0k1_1k2_2", "",
     ":[\n  0=raw(0),\n  1=raw(1),\n  2=raw(2),\n],\n"},
    {"real: (p, {a, b})", "I1!R27!S23!k0_0k1D13!K2!a_1K2!b_2", "",
     ":[\n  0=raw(0),\n  1:{\n    a=raw(1),\n    b=raw(2),\n  },\n],\n"},
    {"gap", "I12!S9!k0_0k2_1R1!", ":[\n  0=raw(0),\n  2=raw(1),\n],\n", ""},
    {"a raw result twice", "I1!R12!S9!k0_0k1_0", "",
     ":[\n  0=raw(0),\n  1=raw(0),\n],\n"},
    {"key with marks", "I21!D17!K4!a!1D8!K3!\xc3\xa9_0R1!",
     ":{\n  a!1:{\n    \xc3\xa9=raw(0),\n  },\n},\n", ""},
};

static void texts_print_and_write_back(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const text_row_t, row, texts) {
    fc_error_t err;
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 20);
    const fc_str_t sip = fc_str(row->text);
    assert_int_equal(fc_sip_print_text(sip, FC_SIP_INPUTS, &text.sink, &err),
                     0);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->inputs)));
    fc_text_reset(&text);
    assert_int_equal(fc_sip_print_text(sip, FC_SIP_RESULTS, &text.sink, &err),
                     0);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->results)));
    fc_signature_t *signature = parse(sip, FC_STR(""), UNKNOWN_COUNTS, &err);
    assert_non_null(signature);
    fc_text_reset(&text);
    assert_int_equal(fc_sip_mangle(signature, &text.sink, &err), 0);
    assert_true(fc_str_equal(fc_text_str(&text), sip));
    fc_signature_destroy(signature);
    fc_text_deinit(&text);
  }
}

typedef struct bad_row_t {
  const char *name;
  const char *text;
  uint64_t offset;
  const char *reason;
} bad_row_t;

static const bad_row_t bad[] = {
    {"empty", "", 0, "inputs span 'I' not found"},
    {"no results", "I1!", 3, "results span 'R' not found"},
    {"no inputs", "R3!_0", 0, "inputs span 'I' expected"},
    {"results first", "R3!_0I1!", 0, "inputs span 'I' expected"},
    {"something before", "X3!_6I1!R1!", 0, "inputs span 'I' expected"},
    {"span too long", "I99!R1!", 1, "claims 99 bytes where 4 are left"},
    {"broken before", "Z4abcI1!R1!", 0, "inputs span 'I' expected"},
    {"two roots", "I5!_0_1R1!", 5, "more than one root"},
    {"two values for a key", "I10!S7!k0_0_1R1!", 11, "value without a key"},
    {"two keys", "I8!S5!k0k1R1!", 8, "two keys in a row"},
    {"negative index", "I9!S6!k-1_0R1!", 6, "index -1 is not above -1"},
    {"descending", "I12!S9!k1_1k0_0R1!", 11, "index 0 is not above 1"},
    {"index twice", "I12!S9!k0_0k0_1R1!", 11, "index 0 is not above 0"},
    {"indices in a dict", "I12!D9!k0_0k1_1R1!", 7, "key 'k' is not for a 'D'"},
    {"name in a list", "I10!S7!K2!a_0R1!", 7, "key 'K' is not for a 'S'"},
    {"negative raw", "I4!_-1R1!", 3, "raw index -1 is negative"},
    {"raw beyond 32 bits", "I16!_99999999999999R1!", 5, "beyond 32 bits"},
    {"key at the root", "I3!k0R1!", 3, "key at the root"},
    {"dangling key", "I6!S3!k0R1!", 8, "the last key has no value"},
    {"trailing bytes", "I3!_0R3!_0trailing", 10, "bytes after the results"},
    {"third span", "I3!_0R3!_0I3!_9", 10, "bytes after the results"},
    {"length 0", "I0R1!", 1, "length 0"},
    {"key that is no UTF-8", "I10!D7!K2!\xff_0R1!", FC_NO_OFFSET,
     "is not UTF-8"},
    {"key name twice", "I17!D13!K2!a_0K2!a_1R1!", 17, "comes twice"},
    {"raw input twice", "I12!S9!k0_0k1_0R1!", 13, "raw input is used twice"},
    {"raw input missing", "I8!S5!k0_1R1!", 8, "raw input 1 where there are 1"},
    {"foreign tag", "I6!B3!d1R1!", 3, "tag 'B' is unknown"},
    {"no tag", "I3!*0R1!", 3, "is no tag"},
};

static void bad_texts_say_where(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_row_t, row, bad) {
    fc_error_t err;
    fc_signature_t *signature =
        parse(fc_str(row->text), FC_STR(""), UNKNOWN_COUNTS, &err);
    assert_null(signature);
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    if (!strstr(err.message, row->reason)) print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, row->reason));
    assert_int_equal(err.byte_offset, row->offset);
  }
}

static void nesting_is_capped(void **state) {
  (void)state;
  // Builds the nested list S…!k0<inner> from the inside, one level a turn.
  char inner[512] = "_0", outer[560];
  for (int depth = 1; depth <= FC_TYPE_DEPTH_MAX + 1; depth++) {
    snprintf(outer, sizeof outer, "S%zu!k0%s", strlen(inner) + 3, inner);
    assert_true(strlen(outer) < sizeof inner);
    memcpy(inner, outer, sizeof inner);
    char text[600];
    snprintf(text, sizeof text, "I%zu!%sR1!", strlen(inner) + 1, inner);
    fc_error_t err;
    fc_signature_t *signature =
        parse(fc_str(text), FC_STR(""), UNKNOWN_COUNTS, &err);
    assert_int_equal(signature != NULL, depth <= FC_TYPE_DEPTH_MAX);
    if (!signature) assert_non_null(strstr(err.message, "nested deeper"));
    fc_signature_destroy(signature);
  }
}

static void a_far_index_costs_nothing(void **state) {
  (void)state;
  fc_error_t err;
  assert_null(parse(FC_STR("I18!S14!k2000000000_0R1!"), FC_STR(""),
                    UNKNOWN_COUNTS, &err));
  assert_int_equal(err.code, FC_CODE_ABI_METADATA);
}

typedef struct count_row_t {
  const char *name;
  const char *text;
  const char *raw;
  fc_raw_counts_t counts;
  bool fits;
} count_row_t;

static const count_row_t counts[] = {
    {"the function agrees", "I8!S5!k0_0R3!_0", "", {1, 1}, true},
    {"one argument more", "I8!S5!k0_0R3!_0", "", {2, 1}, false},
    {"no argument", "I8!S5!k0_0R3!_0", "", {0, 1}, false},
    {"a result nobody names", "I1!R3!_0", "", {0, 2}, true},
    {"a result too few", "I1!R12!S9!k0_0k1_1", "", {0, 1}, false},
    {"results without structure", "I1!R1!", "", {0, 2}, true},
    {"arguments without structure", "I1!R1!", "", {1, 0}, false},
    {"raw agrees", "I8!S5!k0_0R3!_0", "I6!S3!t6R6!S3!t2", {1, 1}, true},
    {"raw has one result, used twice",
     "I1!R12!S9!k0_0k1_0",
     "I1!R6!S3!t6",
     {0, 1},
     true},
    {"raw has one more",
     "I8!S5!k0_0R3!_0",
     "I10!S3!t6S3!t6R6!S3!t2",
     {1, 1},
     false},
    {"raw and function differ",
     "I8!S5!k0_0R3!_0",
     "I6!S3!t6R6!S3!t2",
     {1, 2},
     false},
};

static void counts_must_agree(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const count_row_t, row, counts) {
    fc_error_t err;
    fc_signature_t *signature =
        parse(fc_str(row->text), fc_str(row->raw), row->counts, &err);
    assert_int_equal(signature != NULL, row->fits);
    if (!signature) assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    fc_signature_destroy(signature);
  }
}

// Each use of a raw result needs a node of its own: a shared node would lose its next
// sibling in one of the lists.
static void a_raw_result_used_twice_is_two_nodes(void **state) {
  (void)state;
  fc_error_t err;
  const fc_str_t sip = FC_STR("I1!R17!S13!k0_1k1_1k2_0");
  fc_signature_t *signature =
      parse(sip, FC_STR("I1!R11!S3!t6S3!t2"), (fc_raw_counts_t){0, 2}, &err);
  assert_non_null(signature);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_sip_mangle(signature, &text.sink, &err), 0);
  assert_true(fc_str_equal(fc_text_str(&text), sip));
  fc_text_deinit(&text);
  fc_signature_destroy(signature);
}

// The raw signature has more results than a signature has room for, and the tree uses
// some of them.
static void raw_values_beyond_all_nodes_are_refused(void **state) {
  (void)state;
  enum { ITEMS = 21000, SHOWN = 8 };
  char *raw = malloc(3 * ITEMS + 32), tree[128], sip[160];
  assert_non_null(raw);
  int size = sprintf(raw, "I1!R%d!", 3 * ITEMS + 1);
  for (int i = 0; i < ITEMS; i++) size += sprintf(raw + size, "U1!");
  int used = 0;
  for (int i = 0; i < SHOWN; i++) {
    used += sprintf(tree + used, "k%d_%d", i, FC_NODE_MAX + 8 * i);
  }
  char list[140];
  int whole = snprintf(list, sizeof list, "S%d!%s", used + 1, tree);
  snprintf(sip, sizeof sip, "I1!R%d!%s", whole + 1, list);
  fc_error_t err;
  assert_null(
      parse(fc_str(sip), fc_str_make(raw, (size_t)size), UNKNOWN_COUNTS, &err));
  assert_string_equal(err.message,
                      "a signature holds at most 16384 type nodes");
  free(raw);
}

// The published signature of mobilebert: names refer to the raw order, and the types of
// leaves come from `f`.
static void mobilebert_binds_names_to_raw_order(void **state) {
  (void)state;
  fc_error_t err;
  fc_signature_t *signature = parse(
      FC_STR("I53!D49!K10!input_ids_1K11!input_mask_2K12!segment_ids_0"
             "R39!D35!K11!end_logits_0K13!start_logits_1"),
      FC_STR("I34!B9!t6d1d384B9!t6d1d384B9!t6d1d384R19!B7!d1d384B7!d1d384"),
      (fc_raw_counts_t){3, 2}, &err);
  assert_non_null(signature);
  static const struct {
    const char *name;
    int32_t raw_index;
  } inputs[] = {{"input_ids", 1}, {"input_mask", 2}, {"segment_ids", 0}};
  assert_int_equal(signature->argument_count, 1);
  assert_true(signature->root_tree);
  const fc_type_t *root =
      fc_signature_node(signature, signature->arguments[0].type);
  assert_int_equal(root->kind, FC_TYPE_DICT);
  uint32_t child = root->child;
  for (size_t i = 0; i < FC_ARRAY_COUNT(inputs); i++) {
    const fc_type_t *leaf = fc_signature_node(signature, child);
    assert_true(fc_str_equal(fc_signature_text(signature, leaf->key),
                             fc_str(inputs[i].name)));
    assert_int_equal(leaf->raw_index, inputs[i].raw_index);
    assert_int_equal(leaf->kind, FC_TYPE_TENSOR);
    assert_int_equal(leaf->dtype, FC_DTYPE_SI32);
    assert_int_equal(leaf->rank, 2);
    assert_int_equal(fc_signature_dims(signature, leaf)[1], 384);
    child = leaf->next;
  }
  assert_int_equal(child, FC_NODE_NONE);
  assert_int_equal(signature->raw_argument_count, 3);
  assert_int_equal(signature->raw_result_count, 2);
  fc_signature_destroy(signature);
}

static void every_proper_prefix_is_refused(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const text_row_t, row, texts) {
    const fc_str_t text = fc_str(row->text);
    for (size_t size = 0; size < text.size; size++) {
      fc_error_t err;
      assert_null(parse(fc_str_make(text.data, size), FC_STR(""),
                        UNKNOWN_COUNTS, &err));
      assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    }
  }
}

// parse(mangle(parse(x))) == parse(x). Only the order of dict keys may change, so the
// second mangling must equal the first.
static void assert_stable(fc_str_t sip) {
  fc_error_t err;
  fc_signature_t *first = parse(sip, FC_STR(""), UNKNOWN_COUNTS, &err);
  if (!first) return;
  fc_text_t once, twice;
  fc_text_init(&once, fc_allocator_system(), 1 << 20);
  fc_text_init(&twice, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_sip_mangle(first, &once.sink, &err), 0);
  assert_int_equal(fc_text_str(&once).size, sip.size);
  fc_signature_t *second =
      parse(fc_text_str(&once), FC_STR(""), UNKNOWN_COUNTS, &err);
  assert_non_null(second);
  assert_int_equal(fc_sip_mangle(second, &twice.sink, &err), 0);
  assert_true(fc_str_equal(fc_text_str(&once), fc_text_str(&twice)));
  fc_signature_destroy(first);
  fc_signature_destroy(second);
  fc_text_deinit(&once);
  fc_text_deinit(&twice);
}

// A key with a NUL is refused: its text would be cut at the NUL when it is written.
static void a_key_with_nul_is_refused(void **state) {
  (void)state;
  fc_error_t err;
  assert_null(
      parse(FC_STR("I12!D9!K4!a\0b_0R1!"), FC_STR(""), UNKNOWN_COUNTS, &err));
  assert_int_equal(err.code, FC_CODE_ABI_METADATA);
  assert_non_null(strstr(err.message, "without NUL"));
}

typedef struct flat_row_t {
  const char *name;
  const char *cconv;
  const char *sip;
} flat_row_t;

// Functions of plain positions, as in IREE's own tests.
static const flat_row_t flats[] = {
    {"nothing", "0v_v", "I1!R1!"},
    {"one argument", "0i_v", "I8!S5!k0_0R1!"},
    {"two arguments, one result", "0rI_r", "I12!S9!k0_0k1_1R3!_0"},
    {"one result alone", "0_i", "I1!R3!_0"},
    {"two results", "0_ii", "I1!R12!S9!k0_0k1_1"},
};

static void values_without_a_tree_are_written_by_position(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const flat_row_t, row, flats) {
    fc_error_t err;
    fc_cconv_t cconv;
    assert_int_equal(fc_cconv_parse(fc_str(row->cconv), &cconv, &err), FC_OK);
    fc_builder_t *builder = fc_builder_create(fc_allocator_system());
    fc_cconv_build(builder, &cconv);
    fc_signature_t *signature = NULL;
    assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
    fc_builder_destroy(builder);
    assert_non_null(signature);
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), 1 << 20);
    assert_int_equal(fc_sip_mangle(signature, &text.sink, &err), FC_OK);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(row->sip)));
    fc_text_deinit(&text);
    fc_signature_destroy(signature);
  }
}

static void one_changed_byte_is_refused_or_stable(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const text_row_t, row, texts) {
    char bytes[160];
    const size_t size = strlen(row->text);
    assert_true(size <= sizeof bytes);
    for (size_t at = 0; at < size; at++) {
      for (int byte = 0; byte < 256; byte++) {
        memcpy(bytes, row->text, size);
        bytes[at] = (char)byte;
        assert_stable(fc_str_make(bytes, size));
      }
    }
  }
}

// ---------------------------------------------------------------------------
// Writing

typedef struct mangle_row_t {
  const char *name;
  const char *inputs;   // as they are read
  const char *written;  // as IREE's mangler writes the same leaves
} mangle_row_t;

static const mangle_row_t manglings[] = {
    {"none", "I1!", "I1!"},
    {"a gap is kept", "I12!S9!k2_1k5_0", "I12!S9!k2_1k5_0"},
    {"names bytewise, empty first", "I22!D18!K2!b_0K2!a_1K1!_2",
     "I22!D18!K1!_2K2!a_1K2!b_0"},
    {"two", "I12!S9!k0_0k1_1", "I12!S9!k0_0k1_1"},
    {"marks in names", "I21!D17!K4!a!1D8!K3!\xc3\xa9_0",
     "I21!D17!K4!a!1D8!K3!\xc3\xa9_0"},
    {"twelve", "I57!S53!k0_0k1_1k2_2k3_3k4_4k5_5k6_6k7_7k8_8k9_9k10_10k11_11",
     "I57!S53!k0_0k1_1k2_2k3_3k4_4k5_5k6_6k7_7k8_8k9_9k10_10k11_11"},
    {"nested", "I31!S27!k0D17!K4!foo_0K4!bar_1k1_2",
     "I31!S27!k0D17!K4!bar_1K4!foo_0k1_2"},
};

// Reads the signature and writes it again.
static void write_again(fc_str_t sip, fc_text_t *text) {
  fc_error_t err;
  fc_signature_t *signature = parse(sip, FC_STR(""), UNKNOWN_COUNTS, &err);
  assert_non_null(signature);
  fc_text_init(text, fc_allocator_system(), 1 << 20);
  assert_int_equal(fc_sip_mangle(signature, &text->sink, &err), 0);
  fc_signature_destroy(signature);
}

static void manglings_match_the_reference(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const mangle_row_t, row, manglings) {
    char given[128], wanted[128];
    fc_text_t text;
    snprintf(given, sizeof given, "%sR1!", row->inputs);
    snprintf(wanted, sizeof wanted, "%sR1!", row->written);
    write_again(fc_str(given), &text);
    assert_true(fc_str_equal(fc_text_str(&text), fc_str(wanted)));
    fc_text_deinit(&text);
  }
}

// ---------------------------------------------------------------------------
// Random trees

typedef struct random_t {
  uint64_t state;
} random_t;

static uint32_t pick(random_t *random, uint32_t below) {
  random->state ^= random->state << 13;
  random->state ^= random->state >> 7;
  random->state ^= random->state << 17;
  return (uint32_t)(random->state >> 33) % below;
}

static const fc_str_t kNames[] = {
    // in their order
    {"", 0},
    {"!", 1},
    {"0", 1},
    {"12", 2},
    {"S5!k0_0", 7},
    {"_", 1},
    {"a", 1},
    {"a!b", 3},
    {"k0_0", 4},
    {"\xc3\xa9", 2},
    {"\xf0\x9f\x8d\x8b", 4},
};

// Writes the tag, the size of `content` with the '!', the '!', and `content`.
static size_t wrap(char *out, char tag, const char *content, size_t size) {
  const int head = snprintf(out, 16, "%c%zu!", tag, size + 1);
  memcpy(out + head, content, size);
  return (size_t)head + size;
}

// Writes a random tree with sorted keys; returns its size.
static size_t grow(random_t *random, size_t depth, int *next_raw, char *out) {
  if (depth == 5 || pick(random, 3) == 0) {
    return (size_t)snprintf(out, 16, "_%d", (*next_raw)++);
  }
  static char rooms[5][1 << 15];
  char *content = rooms[depth];
  size_t size = 0;
  const bool dict = pick(random, 2);
  const uint32_t count = 1 + pick(random, 4);
  uint32_t at = pick(random, 3);
  for (uint32_t i = 0; i < count; i++, at += 1 + pick(random, 2)) {
    if (dict) {
      size += wrap(content + size, 'K', kNames[at].data, kNames[at].size);
    } else {
      size += (size_t)snprintf(content + size, 16, "k%u", at);
    }
    size += grow(random, depth + 1, next_raw, content + size);
  }
  return wrap(out, dict ? 'D' : 'S', content, size);
}

static void random_trees_read_back(void **state) {
  (void)state;
  random_t random = {0x9e3779b97f4a7c15u};
  for (int round = 0; round < 3000; round++) {
    static char side[1 << 15], sip[1 << 17];
    size_t size = 0;
    for (int i = 0; i < 2; i++) {
      int next_raw = 0;
      const size_t side_size = grow(&random, 0, &next_raw, side);
      size += wrap(sip + size, "IR"[i], side, side_size);
    }
    fc_text_t again;
    write_again(fc_str_make(sip, size), &again);
    assert_true(fc_str_equal(fc_text_str(&again), fc_str_make(sip, size)));
    fc_text_deinit(&again);
  }
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  fc_builder_t *builder = fc_builder_create(allocator);
  if (!builder) return fc_fail_memory(err);
  fc_signature_t *signature = NULL;
  fc_text_t text;
  fc_text_init(&text, allocator, 1 << 20);
  fc_status_t status = fc_sip_parse(FC_STR("I16!S12!k0D7!K2!a_0R1!"),
                                    FC_STR(""), UNKNOWN_COUNTS, builder, err);
  if (status == FC_OK) status = fc_signature_build(builder, &signature, err);
  if (status == FC_OK) status = fc_sip_mangle(signature, &text.sink, err);
  fc_text_deinit(&text);
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
  return status;
}

// A dict with unsorted keys is written as ?format=sip.
static void many_keys_take_few_comparisons(void **state) {
  (void)state;
  enum { KEYS = 4000 };
  fc_builder_t *b = fc_builder_create(fc_allocator_system());
  assert_non_null(b);
  uint32_t dict = fc_builder_node(b, FC_TYPE_DICT);
  for (int i = 0; i < KEYS; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%04d", i * 2001 % KEYS);
    uint32_t leaf = fc_builder_node(b, FC_TYPE_UNKNOWN);
    fc_builder_at(b, leaf)->raw_index = i;
    fc_builder_append_key(b, dict, fc_str(name), leaf);
  }
  fc_builder_result(b, FC_STR(""), dict, FC_RAW_NONE);
  fc_signature_t *signature = NULL;
  fc_error_t err;
  assert_int_equal(fc_signature_build(b, &signature, &err), FC_OK);
  fc_builder_destroy(b);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 20);
  const uint64_t before = fc_test_comparisons();
  assert_int_equal(fc_sip_mangle(signature, &text.sink, &err), FC_OK);
  assert_in_range(fc_test_comparisons() - before, KEYS, 20 * KEYS);
  fc_signature_destroy(signature);
  // The text can be read back, so the keys are sorted and none is missing.
  signature = parse(fc_text_str(&text), FC_STR(""), UNKNOWN_COUNTS, &err);
  assert_non_null(signature);
  assert_int_equal(signature->raw_result_count, KEYS);
  fc_signature_destroy(signature);
  fc_text_deinit(&text);
}

static void the_mangler_survives_failing_allocations(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(attempt, NULL) >= 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(texts_print_and_write_back),
      FC_TEST(bad_texts_say_where),
      FC_TEST(nesting_is_capped),
      FC_TEST(a_far_index_costs_nothing),
      FC_TEST(counts_must_agree),
      FC_TEST(a_raw_result_used_twice_is_two_nodes),
      FC_TEST(raw_values_beyond_all_nodes_are_refused),
      FC_TEST(mobilebert_binds_names_to_raw_order),
      FC_TEST(every_proper_prefix_is_refused),
      FC_TEST(a_key_with_nul_is_refused),
      FC_TEST(values_without_a_tree_are_written_by_position),
      FC_TEST(one_changed_byte_is_refused_or_stable),
      FC_TEST(manglings_match_the_reference),
      FC_TEST(random_trees_read_back),
      FC_TEST(many_keys_take_few_comparisons),
      FC_TEST(the_mangler_survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("sip", tests, NULL, NULL);
}
