// SPDX-License-Identifier: Apache-2.0
//
// Every reader and writer checks again and again whether its call must stop, and stops
// at the first check that says so. Each check ("look") reads the clock, and the clock
// is replaced by this file's (tests/CMakeLists.txt).
#include "base/stop.h"

#include <stdlib.h>

#include "helpers/call.h"
#include "helpers/test.h"
#include "marshal/oip.h"
#include "marshal/packed.h"
#include "marshal/tf.h"
#include "value/gather.h"
#include "value/npy.h"
#include "value/zip.h"

#define DEADLINE UINT64_C(1000)

static size_t looks, fire_at;
static bool by_word;
static _Atomic uint32_t word;

uint64_t __wrap_fc_clock_ns(void);
uint64_t __wrap_fc_clock_ns(void) {
  const bool fires = ++looks >= fire_at && fire_at;
  if (fires && by_word) word = 1;
  return fires && !by_word ? DEADLINE : 1;
}

typedef enum form_t { JSON, OIP, RAW, TF, NPY, NPZ, SAFETENSORS } form_t;

static fc_status_t decode(fc_frame_t *frame, form_t form, fc_str_t body,
                          fc_error_t *err) {
  switch (form) {
    case JSON:
      return fc_frame_decode(frame, body, err);
    case OIP:
      return fc_oip_decode(frame, body, FC_OIP_ALL, err);
    case RAW:
      return fc_oip_decode(frame, body, 0, err);
    case TF:
      return fc_tf_decode(frame, body, err);
    default:
      return fc_packed_decode(frame, (fc_packed_t)(form - NPY), body, SIZE_MAX,
                              err);
  }
}

static fc_status_t encode(fc_frame_t *frame, form_t form, fc_sink_t *sink,
                          fc_error_t *err) {
  uint64_t document = 0;
  switch (form) {
    case JSON:
      return fc_frame_encode(frame, sink, err);
    case OIP:
    case RAW:
      return fc_oip_encode(frame, FC_STR("m"), FC_STR("1"), sink, &document,
                           err);
    case TF:
      return fc_tf_encode(frame, sink, err);
    default:
      return fc_packed_encode(frame, (fc_packed_t)(form - NPY), sink, err);
  }
}

typedef struct row_t {
  const char *name;
  form_t form;
  const char *types;
  const char *head;  // of a document
  const char *element;
  const char *tail;
  size_t count;  // elements, with commas between; of raw bytes: how many
  bool sized;    // the row says that count
  // If not 0, the elements form a single token without commas, which is read this many
  // times.
  unsigned passes;
} row_t;

static const row_t rows[] = {
    {"one row", JSON, "tensor<?xf32> -> tensor<?xf32>", "[[", "1.25", "]]",
     200000, false, 0},
    {"rows", JSON, "tensor<?x2xi8> -> tensor<?x2xi8>", "[[", "[1,2]", "]]",
     100000, false, 0},
    {"known dims", JSON, "tensor<300000xi64> -> tensor<300000xi64>", "[[", "7",
     "]]", 300000, true, 0},
    {"strings of numbers", JSON, "tensor<?xi64> -> tensor<?xi64>", "[[",
     "\"77\"", "]]", 100000, false, 0},
    {"complex", JSON, "tensor<?xcomplex<f32>> -> tensor<?xcomplex<f32>>", "[[",
     "[1,2]", "]]", 100000, false, 0},
    {"a list", JSON, "[i8] -> [i8]", "[[", "1", "]]", 300000, false, 0},
    {"tensors", JSON, "[tensor<?xi8>] -> [tensor<?xi8>]", "[[", "[1]", "]]",
     100000, false, 0},
    {"text", JSON, "[str] -> [str]", "[[", "\"abc\"", "]]", 100000, false, 0},
    {"blanks", JSON, "[i8] -> [i8]", "[[", "1     ", "]]", 100000, false, 0},
    // One long value, or long text between values.
    {"base64", JSON, "tensor<?xi8> -> tensor<?xi8>",
     "[{\"shape\":[900000],\"b64\":\"", "AAAA", "\"}]", 300000, true, 2},
    {"base64 with escapes", JSON, "tensor<?xi8> -> tensor<?xi8>",
     "[{\"shape\":[900000],\"b64\":\"", "\\/AAA", "\"}]", 300000, true, 2},
    {"base64 of bytes", JSON, "bytes -> bytes", "[{\"b64\":\"", "AAAA", "\"}]",
     300000, false, 2},
    {"base64 of text", JSON, "str -> str", "[{\"b64\":\"", "YcOk", "\"}]",
     300000, false, 2},
    {"one text", JSON, "str -> str", "[\"", "plain", "\"]", 300000, false, 1},
    {"one text, not ASCII", JSON, "str -> str", "[\"", "\xE2\x82\xAC", "\"]",
     300000, false, 1},
    {"one text of escapes", JSON, "str -> str", "[\"", "\\u20AC\\n", "\"]",
     100000, false, 2},
    {"one blank", JSON, "i8 -> i8", "[", "       ", "1]", 100000, false, 1},
    {"one OIP text", OIP, "str -> str",
     "{\"inputs\":[{\"name\":\"0\",\"datatype\":\"BYTES\",\"shape\":[1],"
     "\"data\":[\"",
     "plain", "\"]}]}", 300000, false, 1},
    {"what stands behind", JSON, "tensor<?xi8> -> tensor<?xi8>", "[{\"data\":[",
     "1", "],\"shape\":[300000]}]", 300000, true, 0},
    {"OIP", OIP, "tensor<?xf32> -> tensor<?xf32>",
     "{\"inputs\":[{\"name\":\"0\",\"datatype\":\"FP32\",\"shape\":[200000],"
     "\"data\":[",
     "1.25", "]}]}", 200000, true, 0},
    {"OIP, skipped", OIP, "i8 -> i8", "{\"other\":[", "true",
     "],\"inputs\":[{\"name\":\"0\",\"datatype\":\"INT8\",\"shape\":[1],"
     "\"data\":[1]}]}",
     100000, false, 0},
    {"OIP, raw", RAW, "tensor<?xi1> -> tensor<?xi1>", NULL, NULL, NULL, 1 << 20,
     false, 0},
    {"TF", TF, "tensor<?x2xf32> -> tensor<?x2xf32>", "{\"inputs\":[", "[1,2]",
     "]}", 100000, false, 0},
    {"TF, rows", TF, "x: tensor<?x2xi8>, y: tensor<?xi8> -> tensor<?x2xi8>",
     "{\"instances\":[", "{\"x\":[1,2],\"y\":3}", "]}", 40000, false, 0},
    {"npy, Fortran's order", NPY, "tensor<?x?xf32> -> tensor<?x?xf32>", NULL,
     NULL, NULL, 1 << 20, false, 0},
    {"npz", NPZ, "tensor<?x?xf32> -> tensor<?x?xf32>", NULL, NULL, NULL,
     1 << 21, false, 0},
};

static void put(fc_text_t *text, fc_str_t bytes) {
  assert_int_equal(fc_sink_put(&text->sink, bytes, NULL), FC_OK);
}

// An array of 512 rows in Fortran order, as a file or as an entry of a zip file.
static void put_array(fc_text_t *text, form_t form, fc_str_t elements) {
  char head[FC_NPY_HEAD_MAX];
  size_t size;
  const fc_npy_t array = {.dtype = FC_DTYPE_F32,
                          .rank = 2,
                          .shape = {512, (int64_t)elements.size / 2048},
                          .data = elements};
  assert_int_equal(fc_npy_print_head(&array, head, &size, NULL), FC_OK);
  char *order = strstr(head + 10, "False");
  assert_non_null(order);
  memcpy(order, "True ", 5);
  if (form == NPY) {
    put(text, fc_str_make(head, size));
    put(text, elements);
    return;
  }
  fc_zip_part_t part = {.name = FC_STR("0.npy"),
                        .head = fc_str_make(head, size),
                        .data = elements};
  assert_int_equal(fc_zip_print(&part, 1, &text->sink, NULL), FC_OK);
}

static fc_str_t make_body(const row_t *row, size_t count, fc_text_t *text) {
  fc_text_init(text, fc_allocator_system(), SIZE_MAX);
  if (!row->head) {
    char *bytes = calloc(count, 1);
    assert_non_null(bytes);
    if (row->form == RAW) put(text, fc_str_make(bytes, count));
    else put_array(text, row->form, fc_str_make(bytes, count));
    free(bytes);
    return fc_text_str(text);
  }
  put(text, fc_str(row->head));
  for (size_t i = 0; i < count; i++) {
    if (i && !row->passes) put(text, FC_STR(","));
    put(text, fc_str(row->element));
  }
  put(text, fc_str(row->tail));
  return fc_text_str(text);
}

typedef struct subject_t {
  const row_t *row;
  fc_test_call_t call;
  fc_str_t body;
  bool encodes;
} subject_t;

// Runs the stage and counts the looks.
static fc_status_t run(subject_t *subject, size_t fires, bool cancels,
                       fc_error_t *err) {
  fc_frame_t *frame = subject->call.frame;
  fc_text_t answer;
  word = 0;
  fire_at = subject->encodes ? 0 : fires;
  by_word = cancels;
  looks = 0;
  fc_error_reset(err);
  fc_frame_begin(frame, subject->call.plan, NULL);
  fc_frame_set_stop(frame, &word, DEADLINE);
  fc_status_t status = decode(frame, subject->row->form, subject->body, err);
  if (!subject->encodes) return status;
  assert_int_equal(status, FC_OK);
  assert_int_equal(fc_frame_invoke(frame, &fc_backend_echo, &subject->call.echo,
                                   0, NULL, 0, err),
                   FC_OK);
  looks = 0;
  fire_at = fires;
  fc_text_init(&answer, fc_allocator_system(), SIZE_MAX);
  status = encode(frame, subject->row->form, &answer.sink, err);
  fc_text_deinit(&answer);
  return status;
}

static void each_look_can_end_it(subject_t *subject) {
  fc_error_t err;
  if (run(subject, 0, false, &err)) fail_msg("%s", err.message);
  const size_t all = looks;
  // At least one look for each 256 KiB; most rows need more.
  assert_in_range(all, 2 + subject->body.size / (256 << 10), SIZE_MAX);
  const row_t *row = subject->row;
  if (row->passes && !subject->encodes) {
    const size_t size = row->count * strlen(row->element);
    assert_in_range(all, row->passes * (size / FC_STOP_STEP - 1), SIZE_MAX);
  }
  const size_t fires[] = {1, 2, all / 2 + 1, all};
  for (size_t i = 0; i < FC_ARRAY_COUNT(fires); i++) {
    assert_int_equal(run(subject, fires[i], false, &err), FC_DEADLINE_EXCEEDED);
    assert_int_equal(err.code, FC_CODE_DEADLINE_EXCEEDED);
    // It stops at that look, or one look later if that one was only reading ahead.
    assert_in_range(looks, fires[i], fires[i] + 1);
    assert_int_equal(run(subject, fires[i], true, &err), FC_CANCELLED);
    assert_int_equal(err.code, FC_CODE_CALL_FAILED);
  }
}

static void look(const row_t *row, size_t count, bool encodes) {
  fc_text_t text;
  fc_error_t err;
  subject_t subject = {.row = row, .encodes = encodes};
  fc_test_call_init(&subject.call, row->types, NULL);
  subject.body = make_body(row, count, &text);
  if (count == row->count) {
    each_look_can_end_it(&subject);
  } else {
    assert_int_equal(run(&subject, 0, false, &err), FC_OK);
    assert_int_equal(looks, 0);
  }
  fc_frame_end(subject.call.frame);
  fc_text_deinit(&text);
  fc_test_call_deinit(&subject.call);
}

static void decode_ends_at_each_look(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    look(row, row->count, false);
  }
}

static void encode_ends_at_each_look(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    // The answer to one value is small, and raw bytes are copied at once.
    const bool small = !strcmp(row->name, "OIP, skipped") ||
                       !strcmp(row->name, "one blank") || !row->head;
    if (!small) look(row, row->count, true);
  }
}

static void small_bodies_are_not_looked_at(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    if (!row->sized) look(row, row->form >= NPY ? 2048 : 5, false);
  }
}

static void gathering_ends_at_each_look(void **state) {
  (void)state;
  enum { SIDE = 1000 };
  static const struct {
    const char *name;
    int64_t shape[2], strides[2];
    size_t least;  // looks
  } rows_of_strides[] = {
      {"dense", {2 * SIDE, SIDE}, {SIDE, 1}, 1},
      {"turned over", {SIDE, SIDE}, {1, SIDE}, SIDE * SIDE / 17384},
      {"one long row", {1, SIDE * SIDE}, {1, 2}, SIDE * SIDE / 16384},
      {"short rows", {SIDE * SIDE / 4, 2}, {8, 1}, SIDE * SIDE / 2 / 16384},
  };
  static uint8_t from[2 * SIDE * SIDE], to[2 * SIDE * SIDE];
  const fc_stop_t stop = {&word, DEADLINE};
  for (size_t i = 0; i < sizeof from; i++) from[i] = (uint8_t)(i * 7);
  FC_TEST_EACH_ROW(const __typeof__(rows_of_strides[0]), row, rows_of_strides) {
    fc_error_t err;
    const fc_tensor_t tensor = {.dtype = FC_DTYPE_I8,
                                .rank = 2,
                                .shape = row->shape,
                                .strides = row->strides,
                                .data = from};
    word = 0;
    by_word = false;
    looks = fire_at = 0;
    assert_int_equal(fc_gather(&tensor, to, &stop, &err), FC_OK);
    const size_t all = looks;
    assert_in_range(all, row->least, row->least + 2);
    const int64_t *shape = row->shape, *strides = row->strides;
    for (int64_t y = 0, at = 0; y < shape[0]; y++) {
      for (int64_t x = 0; x < shape[1]; x++, at++) {
        assert_true(to[at] == from[y * strides[0] + x * strides[1]]);
      }
    }
    for (fire_at = 1; fire_at <= all; fire_at++) {
      looks = 0;
      assert_int_equal(fc_gather(&tensor, to, &stop, &err),
                       FC_DEADLINE_EXCEEDED);
      assert_int_equal(looks, fire_at);
    }
  }
}

static void inflating_ends_at_each_look(void **state) {
  (void)state;
  fc_text_t packed, text;
  fc_deflate_t packer;
  fc_error_t err;
  bool is_packed;
  char bytes[4096] = "";
  fc_text_init(&packed, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(fc_deflate_init(&packer, FC_CODING_GZIP, &packed.sink,
                                   fc_allocator_system(), NULL),
                   FC_OK);
  for (size_t i = 0; i < 1000; i++) {
    bytes[i % sizeof bytes] = (char)i;
    assert_int_equal(
        fc_sink_put(&packer.sink, fc_str_make(bytes, sizeof bytes), NULL),
        FC_OK);
  }
  assert_int_equal(fc_deflate_finish(&packer, &is_packed, NULL), FC_OK);
  fc_deflate_deinit(&packer);
  const fc_stop_t stop = {&word, DEADLINE};
  static const size_t fires[] = {0, 1, 17, 60};
  for (size_t i = 0; i < FC_ARRAY_COUNT(fires); i++) {
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    word = 0;
    looks = 0;
    fire_at = fires[i];
    by_word = false;
    const fc_status_t status = fc_inflate(FC_CODING_GZIP, fc_text_str(&packed),
                                          SIZE_MAX, &text, &stop, &err);
    assert_int_equal(status, fires[i] ? FC_DEADLINE_EXCEEDED : FC_OK);
    if (fires[i]) assert_int_equal(looks, fires[i]);
    else assert_in_range(looks, 4096000 >> 16, SIZE_MAX);
    fc_text_deinit(&text);
  }
  fc_text_deinit(&packed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(decode_ends_at_each_look),
      FC_TEST(encode_ends_at_each_look),
      FC_TEST(small_bodies_are_not_looked_at),
      FC_TEST(gathering_ends_at_each_look),
      FC_TEST(inflating_ends_at_each_look),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
