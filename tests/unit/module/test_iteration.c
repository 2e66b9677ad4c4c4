// SPDX-License-Identifier: Apache-2.0
//
// Loops of steps (marshal/iteration.h) over real modules, machine code and bytecode.
// The oracle is a series of single calls: it makes each call document from the previous
// answer, as a client would. Numbers are compared as text.
#include "marshal/iteration.h"

#include <stdio.h>
#include <yyjson.h>

#include "farcall/farcall.h"
#include "helpers/carry.h"
#include "helpers/test.h"
#include "module/instance.h"

#define NATIVE FARCALL_BUILD_DIR "/tests/modules/native/"
#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus/iree/"
#define EXAMPLES FARCALL_SOURCE_DIR "/examples/iree/"
#define SCALARS CORPUS "releases/scalars-3.13.0.vmfb"

typedef struct row_t {
  const char *name, *path, *function;
  const char *args;
  const char *repeat;   // the members of "repeat"
  unsigned steps;       // that succeed
  const char *message;  // of the step that fails; NULL: none
} row_t;

static const row_t rows[] = {
    {"add_one of i8", NATIVE "scalars.so", "s_i8", "[3]",
     "\"times\":7,\"feed\":{\"0\":0}", 7, NULL},
    {"f64", NATIVE "scalars.so", "s_f64", "[1.25]",
     "\"times\":9,\"feed\":{\"0\":0}", 9, NULL},
    {"f16", NATIVE "scalars.so", "s_f16", "[0.3]",
     "\"times\":9,\"feed\":{\"0\":0}", 9, NULL},
    {"complex", NATIVE "scalars.so", "s_c64", "[[1,2]]",
     "\"times\":5,\"feed\":{\"0\":0}", 5, NULL},
    {"i4", NATIVE "scalars.so", "s_i4", "[3]", "\"times\":9,\"feed\":{\"0\":0}",
     9, NULL},
    {"two results, one fed", NATIVE "scalars.so", "m_i32_i64", "[3,4]",
     "\"times\":5,\"feed\":{\"0\":0},\"emit\":[1]", 5, NULL},
    {"a memref between scalars", NATIVE "scalars.so", "m_scalar_memref",
     "[3,[1,2.5,-7],0.5]", "\"times\":5,\"feed\":{\"0\":0,\"1\":1,\"2\":2}", 5,
     NULL},
    {"storage of the caller", NATIVE "simple.so", "add_sub",
     "[[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]],"
     "[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]]",
     "\"times\":6,\"feed\":{\"0\":0,\"1\":1}", 6, NULL},
    {"fact", SCALARS, "fact", "[4]", "\"times\":3", 3, NULL},
    {"fact of fact", SCALARS, "fact", "[3]",
     "\"times\":9,\"feed\":{\"0\":0},\"until\":{\"result\":0,\"equals\":720}",
     2, NULL},
    {"hyp", SCALARS, "hyp", "[3,4]", "\"times\":8,\"feed\":{\"0\":1}", 8, NULL},
    {"state of the module", SCALARS, "add_total", "[3]",
     "\"times\":8,\"feed\":{\"0\":0}", 8, NULL},
    {"a step that fails", SCALARS, "divide", "[3,4]",
     "\"times\":8,\"feed\":{\"0\":1}", 1, "step 2: "},
    {"a matrix", EXAMPLES "matmul.vmfb", "matmul",
     "[[[1,2],[3,4]],[[0.5,1],[-1,2]]]", "\"times\":6,\"feed\":{\"0\":0}", 6,
     NULL},
    {"a signal that becomes shorter", EXAMPLES "filter.vmfb", "fir",
     "[[1,2,3,4,5,6,7,8],[0.5,-1,2]]", "\"times\":9,\"feed\":{\"0\":0}", 3,
     "step 4: "},
    {"an image", EXAMPLES "filter.vmfb", "edges",
     "[[[0,1,2,3,4],[0,1,3,3,4],[0,1,2,5,4],[0,9,2,3,4],[0,1,2,3,4]]]",
     "\"times\":2,\"feed\":{\"0\":0}", 2, NULL},
    {"dynamic rows", CORPUS "dims/dims-vmvx.vmfb", "add",
     "[[[1,2,3],[4,5,6]],[[1,1,1],[2,2,2]]]", "\"times\":4,\"feed\":{\"0\":1}",
     4, NULL},
    {"nothing fed", CORPUS "dims/dims-vmvx.vmfb", "square", "[[[1,2],[3,4]]]",
     "\"times\":4", 4, NULL},
    {"an argument that is written", CORPUS "roles/roles.vmfb", "bump",
     "[[1,2,3,4],[0,0,0,0]]", "\"times\":4,\"feed\":{\"1\":1}", 4, NULL},
    {"and begins anew", CORPUS "roles/roles.vmfb", "bump",
     "[[1,2,3,4],[0,0,0,0]]", "\"times\":4", 4, NULL},
    {"its old contents go elsewhere", CORPUS "roles/roles.vmfb", "bump",
     "[[1,2,3,4],[1,1,1,1]]", "\"times\":4,\"feed\":{\"0\":0,\"1\":1}", 4,
     NULL},
};

// ---------------------------------------------------------------------------
// Modules

typedef struct user_t {
  fc_module_t *module;
  fc_instance_t *instances[2];
  const fc_function_t *function;
  fc_frame_t *frames[2];
  fc_error_t err;
} user_t;

static void enter(user_t *user, const row_t *row) {
  *user = (user_t){0};
  fc_error_t *err = &user->err;
  if (fc_module_open(row->path, NULL, &user->module, err)) {
    fail_msg("%s", err->message);
  }
  user->function = fc_module_find(user->module, fc_str(row->function));
  assert_non_null(user->function);
  for (int i = 0; i < 2; i++) {
    if (fc_instance_create(user->module, NULL, &user->instances[i], err) ||
        fc_frame_create(fc_allocator_system(), NULL, &user->frames[i], err)) {
      fail_msg("%s", err->message);
    }
  }
}

static void leave(user_t *user) {
  for (int i = 0; i < 2; i++) {
    fc_frame_destroy(user->frames[i]);
    fc_instance_destroy(user->instances[i]);
  }
  fc_module_release(user->module);
}

// ---------------------------------------------------------------------------
// The oracle

static void put(fc_text_t *text, const char *piece) {
  fc_error_t err;
  assert_int_equal(fc_sink_put(&text->sink, fc_str(piece), &err), FC_OK);
}

static void put_value(fc_text_t *text, yyjson_val *value) {
  char *written = yyjson_val_write(value, 0, NULL);
  assert_non_null(written);
  put(text, written);
  free(written);
}

// Makes a single call, as a client would. NULL: it failed.
static yyjson_doc *call(user_t *user, fc_str_t body) {
  fc_text_t answer;
  fc_error_t *err = &user->err;
  fc_frame_t *frame = user->frames[0];
  fc_text_init(&answer, fc_allocator_system(), SIZE_MAX);
  fc_frame_begin(frame, user->function->plan, NULL);
  yyjson_doc *doc = NULL;
  if (fc_frame_decode(frame, body, err) == FC_OK &&
      fc_frame_invoke(frame, fc_module_get_backend(user->module),
                      user->instances[0]->handle, user->function->index, NULL,
                      0, err) == FC_OK &&
      fc_frame_encode(frame, &answer.sink, err) == FC_OK) {
    doc = yyjson_read(answer.data, fc_text_str(&answer).size,
                      YYJSON_READ_NUMBER_AS_RAW);
    assert_non_null(doc);
  }
  fc_frame_end(frame);
  fc_text_deinit(&answer);
  return doc;
}

// Makes the arguments of the next call: fed ones are results, the others stay.
static yyjson_doc *next_arguments(yyjson_val *args, yyjson_val *feed,
                                  yyjson_val *results) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  put(&text, "[");
  for (size_t i = 0; i < yyjson_arr_size(args); i++) {
    yyjson_val *value = yyjson_arr_get(args, i), *key, *to;
    size_t at, count;
    yyjson_obj_foreach(feed, at, count, key, to) {
      if ((size_t)atoi(yyjson_get_raw(to)) != i) continue;
      value = yyjson_arr_get(results, (size_t)atoi(yyjson_get_str(key)));
    }
    if (i) put(&text, ",");
    put_value(&text, value);
  }
  put(&text, "]");
  yyjson_doc *doc = yyjson_read(text.data, fc_text_str(&text).size,
                                YYJSON_READ_NUMBER_AS_RAW);
  assert_non_null(doc);
  fc_text_deinit(&text);
  return doc;
}

static void put_line(fc_text_t *text, unsigned step, yyjson_val *results,
                     yyjson_val *emit) {
  char head[40];
  snprintf(head, sizeof head, "{\"step\":%u,\"results\":", step);
  put(text, head);
  if (!emit) {
    put_value(text, results);
  } else {
    put(text, "[");
    for (size_t i = 0; i < yyjson_arr_size(emit); i++) {
      const char *number = yyjson_get_raw(yyjson_arr_get(emit, i));
      if (i) put(text, ",");
      put_value(text, yyjson_arr_get(results, (size_t)atoi(number)));
    }
    put(text, "]");
  }
  put(text, "}\n");
}

static bool is_met(yyjson_val *until, yyjson_val *results) {
  if (!until) return false;
  yyjson_val *result = yyjson_arr_get(
      results, (size_t)atoi(yyjson_get_raw(yyjson_obj_get(until, "result"))));
  return !strcmp(yyjson_get_raw(result),
                 yyjson_get_raw(yyjson_obj_get(until, "equals")));
}

// Writes the lines that the loop must write, by single calls one after the other.
static void expect(const row_t *row, fc_text_t *text) {
  char repeat[400], done[64];
  user_t user;
  enter(&user, row);
  snprintf(repeat, sizeof repeat, "{%s}", row->repeat);
  yyjson_doc *how =
      yyjson_read(repeat, strlen(repeat), YYJSON_READ_NUMBER_AS_RAW);
  yyjson_doc *args =
      yyjson_read(row->args, strlen(row->args), YYJSON_READ_NUMBER_AS_RAW);
  assert_true(how && args);
  yyjson_val *root = yyjson_doc_get_root(how);
  const unsigned times =
      (unsigned)atoi(yyjson_get_raw(yyjson_obj_get(root, "times")));
  bool met = false;
  unsigned step = 0;
  while (step < times && !met) {
    char *body = yyjson_val_write(yyjson_doc_get_root(args), 0, NULL);
    yyjson_doc *answer = call(&user, fc_str(body));
    free(body);
    if (!answer) break;
    yyjson_val *results =
        yyjson_obj_get(yyjson_doc_get_root(answer), "results");
    put_line(text, ++step, results, yyjson_obj_get(root, "emit"));
    met = is_met(yyjson_obj_get(root, "until"), results);
    yyjson_doc *next = next_arguments(yyjson_doc_get_root(args),
                                      yyjson_obj_get(root, "feed"), results);
    yyjson_doc_free(args);
    yyjson_doc_free(answer);
    args = next;
  }
  assert_int_equal(step, row->steps);
  snprintf(done, sizeof done, "{\"done\":\"%s\",\"steps\":%u}\n",
           met ? "until" : "times", step);
  if (met || step == times) put(text, done);
  yyjson_doc_free(args);
  yyjson_doc_free(how);
  leave(&user);
}

// ---------------------------------------------------------------------------

static bool always(void *context, uint64_t steps) {
  (void)context;
  (void)steps;
  return true;
}

// Runs the loop to its end. With `turns`, each step is a turn of its own, with another
// frame, another instance and the carry at another address.
static void iterate(const row_t *row, bool turns, bool guard, fc_text_t *text) {
  user_t user;
  fc_carry_t carry;
  fc_error_t *err = &user.err;
  fc_allocator_t allocator = fc_allocator_system();
  char body[2000];
  snprintf(body, sizeof body, "{\"repeat\":{%s},\"args\":%s}", row->repeat,
           row->args);
  fc_test_carry_init(&carry, &allocator);
  enter(&user, row);
  fc_iteration_t iteration = {.plan = user.function->plan,
                              .backend = fc_module_get_backend(user.module),
                              .index = user.function->index,
                              .pause = turns ? always : NULL,
                              .after = FC_STR("\n")};
  fc_frame_begin(user.frames[0], iteration.plan, NULL);
  if (fc_iteration_begin(user.frames[0], fc_str(body), FC_ITERATION_TIMES_MAX,
                         &carry, err)) {
    fail_msg("%s at %s", err->message, err->pointer);
  }
  fc_frame_end(user.frames[0]);
  fc_iterated_t out = {0};
  fc_status_t status = FC_OK;
  while (status == FC_OK && out.end == FC_ITERATION_MORE) {
    const int turn = turns ? (int)(out.steps % 2) : 0;
    const size_t whole = fc_text_str(text).size;
    iteration.instance = user.instances[turn]->handle;
    fc_frame_set_guard(user.frames[turn], guard);
    if (turns) assert_true(fc_test_carry_move(&carry));
    status = fc_iteration_run(&iteration, user.frames[turn], &carry,
                              &text->sink, &out, err);
    if (text->data) text->sink.cursor = text->data + whole + out.written;
  }
  assert_int_equal(status == FC_OK, row->message == NULL);
  if (row->message) {
    assert_true(fc_str_starts(fc_str(err->message), fc_str(row->message)));
  }
  assert_int_equal(out.steps, row->steps);
  fc_test_carry_deinit(&carry);
  leave(&user);
}

static void a_loop_is_so_many_calls(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_text_t wanted;
    fc_text_init(&wanted, fc_allocator_system(), SIZE_MAX);
    expect(row, &wanted);
    for (int how = 0; how < 4; how++) {
      fc_text_t got;
      fc_text_init(&got, fc_allocator_system(), SIZE_MAX);
      iterate(row, how & 1, how & 2, &got);
      put(&got, "");
      assert_int_equal(fc_text_str(&got).size, fc_text_str(&wanted).size);
      assert_memory_equal(got.data, wanted.data, fc_text_str(&got).size);
      fc_text_deinit(&got);
    }
    fc_text_deinit(&wanted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(a_loop_is_so_many_calls)};
  return cmocka_run_group_tests_name("iteration", tests, NULL, NULL);
}
