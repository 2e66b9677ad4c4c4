// SPDX-License-Identifier: Apache-2.0
//
// What a worker does with calls that it was given together: which are computed as one,
// which are made again, and in which order they are returned. The functions are in this
// file, and note the number of rows of each call. There is no host; this thread is the
// worker.
#include "pool/together.h"

#include <stdio.h>

#include "helpers/folder.h"
#include "helpers/test.h"
#include "helpers/types.h"
#include "module/prove.h"

#define CALLS 6
#define S 1000000000ull

// Numbers that a row may begin with. FAILS: the call fails. HANGS: it hangs. DIFFERS:
// the row's result alone differs from that beside other rows.
enum { FAILS = 13, HANGS = 19, DIFFERS = 23 };

static uint64_t now_ns;
static char made[128];  // rows of the calls, in their order
static int open_calls;
static uint64_t least_ns = 1;  // what a call of one row takes; others take 1 ns

uint64_t __wrap_fc_clock_ns(void);
uint64_t __wrap_fc_clock_ns(void) { return now_ns; }

// ---------------------------------------------------------------------------
// The module: f doubles each number of its rows

static fc_signature_t *signatures[2];
static fc_module_info_t info = {.signatures = signatures, .count = 2};

static fc_status_t probe(fc_str_t head, fc_error_t *err) {
  (void)head;
  (void)err;
  return FC_OK;
}

static fc_status_t open_module(const fc_module_source_t *source,
                               fc_allocator_t allocator, void **out_module,
                               fc_error_t *err) {
  (void)source;
  static const char *const kTypes[] = {"x: tensor<1xi32> -> tensor<1xi32>",
                                       "x: tensor<4xi32> -> tensor<4xi32>"};
  for (int i = 0; i < 2; i++) {
    fc_builder_t *builder = fc_builder_create(allocator);
    fc_signature_t *unnamed = fc_test_build(builder, kTypes[i]);
    fc_builder_name(builder, i ? FC_STR("f_bs4") : FC_STR("f_bs1"));
    FC_TRY(fc_signature_build(builder, &signatures[i], err));
    fc_signature_destroy(unnamed);
    fc_builder_destroy(builder);
  }
  *out_module = &info;
  return FC_OK;
}

static const fc_module_info_t *describe(const void *module) { return module; }

static fc_status_t make_instance(void *module, fc_allocator_t allocator,
                                 void **out_instance, fc_error_t *err) {
  (void)allocator;
  (void)err;
  *out_instance = module;
  return FC_OK;
}

static void nothing(void *handle) { (void)handle; }

static void close_module(void *module) {
  (void)module;
  for (int i = 0; i < 2; i++) fc_signature_destroy(signatures[i]);
}

static fc_status_t compute(int32_t x, const fc_backend_call_t *call,
                           int32_t *out_y, fc_error_t *err) {
  const bool alone = call->arguments[0].tensor.shape[0] == 1;
  *out_y = 2 * x + (x == DIFFERS && !alone);
  if (x == FAILS) return fc_fail(err, FC_CODE_CALL_FAILED, "this row fails");
  if (x != HANGS) return FC_OK;
  assert_true(call->deadline_ns > now_ns);
  now_ns = call->deadline_ns;
  return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED, "it hangs");
}

static fc_status_t call(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  const fc_tensor_t *x = &call->arguments[0].tensor;
  const int64_t rows = x->shape[0];
  const size_t used = strlen(made);
  (void)instance;
  assert_int_equal(rows, index ? 4 : 1);
  assert_int_equal(open_calls++, 0);
  snprintf(made + used, sizeof made - used, "%s%d", used ? " " : "", (int)rows);
  now_ns += rows == 1 ? least_ns : 1;
  int32_t *y = fc_arena_alloc_array(call->arena, (size_t)rows, sizeof *y);
  int64_t *shape = fc_arena_alloc_array(call->arena, 1, sizeof *shape);
  if (!y || !shape) return fc_fail_memory(err);
  shape[0] = rows;
  for (int64_t i = 0; i < rows; i++) {
    FC_TRY(compute(((const int32_t *)x->data)[i], call, &y[i], err));
  }
  call->results[0] = (fc_value_t){
      .kind = FC_VALUE_TENSOR,
      .tensor = {.dtype = FC_DTYPE_I32, .rank = 1, .shape = shape, .data = y}};
  return FC_OK;
}

static void call_end(void *instance, size_t index, fc_backend_call_t *call) {
  (void)instance;
  (void)index;
  (void)call;
  open_calls--;
}

static const fc_backend_t kRows = {.kind = "rows",
                                   .title = "rows",
                                   .suffix = ".rows",
                                   .probe = probe,
                                   .open = open_module,
                                   .describe = describe,
                                   .instance_create = make_instance,
                                   .inspect = describe,
                                   .call = call,
                                   .call_end = call_end,
                                   .instance_destroy = nothing,
                                   .close = close_module};

// ---------------------------------------------------------------------------
// The worker

static unsigned decoded;  // bodies, in one run

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  (void)parameters;
  decoded++;
  return fc_frame_decode(frame, body, err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  (void)function;
  (void)parameters;
  (void)out_document;
  return fc_frame_encode(frame, sink, err);
}

static const fc_dialect_worker_t kJson = {.decode = decode, .encode = encode};
static const fc_dialect_worker_t *const kDialects[] = {&kJson};

typedef struct desk_t {
  fc_test_allocator_t memory;
  fc_module_t *module;
  uint32_t function;  // f
  fc_region_t region;
  fc_worker_t worker;
  fc_slot_t slots[CALLS];
  char order[32];  // slots as they went back; "|": the loop was told
} desk_t;

static void note_done(void *context, const fc_slot_t *slot) {
  desk_t *desk = context;
  const size_t used = strlen(desk->order);
  snprintf(desk->order + used, sizeof desk->order - used, "%d",
           (int)(slot - desk->slots));
}

static void note_told(void *context) {
  desk_t *desk = context;
  const size_t used = strlen(desk->order);
  if (!used || desk->order[used - 1] == '|') return;
  snprintf(desk->order + used, sizeof desk->order - used, "|");
}

static void enter(desk_t *desk, uint64_t memory) {
  static const fc_backend_t *const kBackends[] = {&kRows, NULL};
  fc_test_put("m.rows", "rows");
  fc_error_t err;
  *desk = (desk_t){.region = {.slots = NULL}};
  now_ns = S;
  fc_allocator_t allocator = fc_test_allocator_init(&desk->memory, 0);
  if (fc_module_load(kBackends, fc_str(fc_test_in_folder("m.rows")), NULL,
                     allocator, &desk->module, &err) != FC_OK) {
    fail_msg("%s", err.message);
  }
  const fc_function_t *f = fc_module_find(desk->module, FC_STR("f"));
  desk->function = (uint32_t)f->index;
  assert_int_equal(
      fc_module_settle(desk->module, f->index, FC_STR("exact"), &err), FC_OK);
  assert_int_equal(fc_region_init(&desk->region, allocator, 1, &err), FC_OK);
  assert_int_equal(
      fc_blocks_create(allocator, memory, 1u << 20, &desk->region.blocks, &err),
      FC_OK);
  desk->region.dialects = kDialects;
  desk->region.worker_count = 1;
  assert_int_equal(fc_region_add(&desk->region, 0, desk->module, 1, &err),
                   FC_OK);
  assert_int_equal(fc_worker_init(&desk->worker, &desk->region, 0, &err),
                   FC_OK);
}

static void leave(desk_t *desk) {
  fc_blocks_t *blocks = desk->region.blocks;
  fc_worker_deinit(&desk->worker);
  fc_region_deinit(&desk->region);
  fc_module_release(desk->module);
  fc_blocks_destroy(blocks);
  assert_int_equal(open_calls, 0);
  assert_int_equal(atomic_load(&desk->memory.live), 0);
}

#define ALONE UINT64_MAX

// Gives the worker one call for each body. `limit_ns` is the time for computing calls
// together; ALONE: they are computed one by one.
static void run(desk_t *desk, const char *const *bodies, uint64_t limit_ns,
                bool in_order) {
  fc_mates_t mates = {.in_order = in_order,
                      .done = note_done,
                      .tell = note_told,
                      .context = desk};
  fc_error_t err;
  made[0] = desk->order[0] = '\0';
  decoded = 0;
  for (uint32_t i = 0; i < CALLS && bodies[i]; i++) {
    fc_slot_t *slot = &desk->slots[i];
    const size_t size = strlen(bodies[i]);
    *slot = (fc_slot_t){.call = {.function = desk->function,
                                 .deadline_ns = now_ns + 60 * S,
                                 .batch_ns = limit_ns,
                                 .body = {.size = size}},
                        .answer_block = FC_BLOCK_NONE,
                        .carry_block = FC_BLOCK_NONE};
    assert_int_equal(
        fc_block_take(desk->region.blocks, size, &slot->call.body.block, &err),
        FC_OK);
    uint8_t *data = fc_block_data(desk->region.blocks, slot->call.body.block);
    memcpy(data, bodies[i], size);
    memset(data + size, 0, FC_BLOCK_TAIL);
    mates.slots[mates.count++] = slot;
  }
  if (limit_ns == ALONE) {
    for (uint32_t i = 0; i < mates.count; i++) {
      mates.slots[i]->mate = FC_SLOT_NONE;
      fc_worker_run(&desk->worker, mates.slots[i]);
      note_done(desk, mates.slots[i]);
    }
  } else {
    fc_worker_run_mates(&desk->worker, &mates);
  }
  uint32_t back = 0;
  for (const char *at = desk->order; *at; at++) back += *at != '|';
  assert_int_equal(back, mates.count);
}

static void print_outcome(const desk_t *desk, const fc_outcome_t *outcome,
                          char *out, size_t size) {
  if (outcome->status != FC_OK) {
    snprintf(out, size, "%s", fc_code_info(outcome->error.code)->text);
    return;
  }
  assert_int_equal(outcome->piece_count, 1);
  const fc_piece_t *piece = &outcome->pieces[0];
  snprintf(out, size, "%.*s", (int)piece->size,
           (const char *)fc_block_data(desk->region.blocks, piece->block) +
               piece->offset);
}

static void drop(desk_t *desk) {
  for (int i = 0; i < CALLS; i++) {
    fc_slot_t *slot = &desk->slots[i];
    if (!slot->call.body.size) continue;
    fc_outcome_drop(&slot->outcome, desk->region.blocks);
    fc_block_give(desk->region.blocks, slot->call.body.block);
    slot->call.body.size = 0;
  }
}

// ---------------------------------------------------------------------------

typedef struct row_t {
  const char *name;
  const char *bodies[CALLS];
  const char *made, *order, *ordered;
  const char *ends[CALLS];
} row_t;

#define Y(text) "{\"results\":[[" text "]]}"

static const row_t rows[] = {
    {"one for all",
     {"[[1]]", "[[2]]", "[[3]]", "[[4]]"},
     "4",
     "0123|",
     "0123|",
     {Y("2"), Y("4"), Y("6"), Y("8")}},
    {"rows of their own",
     {"[[1,2]]", "[[3]]", "[[4]]"},
     "4",
     "012|",
     "012|",
     {Y("2,4"), Y("6"), Y("8")}},
    {"more rows than a function has",
     {"[[1,2,3]]", "[[4,5]]", "[[6]]", "[[7,8]]"},
     "4 4",
     "02|13|",
     "0|123|",
     {Y("2,4,6"), Y("8,10"), Y("12"), Y("14,16")}},
    {"one is malformed",
     {"[[1]]", "[[2", "[[3]]", "[[4]]", "[[5]]"},
     "4",
     "1|0234|",
     "01234|",
     {Y("2"), "json_syntax", Y("6"), Y("8"), Y("10")}},
    {"one has the wrong shape",
     {"[[1]]", "[2]", "[[3]]"},
     "4",
     "1|02|",
     "012|",
     {Y("2"), "shape_mismatch", Y("6")}},
    {"one fails",
     {"[[1]]", "[[13]]", "[[3]]"},
     "4 1 1 1",
     "0|1|2|",
     "0|1|2|",
     {Y("2"), "call_failed", Y("6")}},
    {"one hangs: the others are answered before",
     {"[[1]]", "[[19]]", "[[3]]", "[[4]]"},
     "4 1 1 1 1 1",
     "0|2|3|1|",
     "0|123|",
     {Y("2"), "deadline_exceeded", Y("6"), Y("8")}},
    {"a single call", {"[[7]]"}, "1", "0|", "0|", {Y("14")}},
};

static void each_call_is_answered_as_it_is_alone(void **state) {
  (void)state;
  for (int in_order = 0; in_order < 2; in_order++) {
    static desk_t desk;
    static const char *const kFirst[CALLS] = {"[[1]]", "[[2]]"};
    enter(&desk, 1u << 30);
    for (int i = 0; i < FC_TOGETHER_FIRST; i++) {
      run(&desk, kFirst, 0, in_order);
      assert_string_equal(made, "1 4");
      drop(&desk);
    }
    FC_TEST_EACH_ROW(const row_t, row, rows) {
      const uint64_t began_ns = now_ns;
      run(&desk, row->bodies, S, in_order);
      assert_string_equal(made, row->made);
      assert_string_equal(desk.order, in_order ? row->ordered : row->order);
      assert_true(now_ns - began_ns <= 64 * S);
      for (int i = 0; i < CALLS && row->bodies[i]; i++) {
        char end[128];
        print_outcome(&desk, &desk.slots[i].outcome, end, sizeof end);
        assert_string_equal(end, row->ends[i]);
        assert_int_equal(desk.slots[i].outcome.batch.differs, 0);
      }
      drop(&desk);
    }
    leave(&desk);
  }
}

// If results differ, each call gets the result that it has alone, and its outcome says
// that they differed. Later calls are then computed row by row.
static void what_differs_is_told(void **state) {
  (void)state;
  static const char *const kBodies[CALLS] = {"[[23]]", "[[2]]", "[[3,4]]"};
  static const char *const kNext[CALLS] = {"[[23,1,2,3,4]]"};
  static desk_t desk;
  enter(&desk, 1u << 30);
  // For a call of one row, the function of one row is not the cheapest.
  least_ns = 100;
  for (int i = 0; i < 12; i++) {
    static const char *const kOne[CALLS] = {"[[1]]"};
    static const char *const kFour[CALLS] = {"[[1,2,3,4]]"};
    run(&desk, i < 8 ? i < 4 ? kOne : kFour : kOne, 0, false);
    drop(&desk);
  }
  assert_string_equal(made, "4");
  least_ns = 1;
  run(&desk, kBodies, 0, false);
  assert_string_equal(made, "1 4 1 1 1 1");
  for (int i = 0; i < 3; i++) {
    static const char *const kEnds[] = {Y("46"), Y("4"), Y("6,8")};
    char end[128];
    print_outcome(&desk, &desk.slots[i].outcome, end, sizeof end);
    assert_string_equal(end, kEnds[i]);
    assert_int_equal(desk.slots[i].outcome.batch.differs, 1);
  }
  drop(&desk);
  run(&desk, kNext, 0, false);
  assert_string_equal(made, "1 1 1 1 1");
  drop(&desk);
  leave(&desk);
}

// The first batches are checked, then one of each FC_TOGETHER_CHECKED, for ever. Each
// place in a batch gets its turn.
static void batches_are_looked_at_for_ever(void **state) {
  (void)state;
  static desk_t desk;
  enter(&desk, 1u << 30);
  for (unsigned i = 0; i < 4 * FC_TOGETHER_CHECKED; i++) {
    const char *bodies[CALLS] = {"[[1]]", "[[2]]", "[[3]]"};
    const bool due = i < FC_TOGETHER_FIRST || i % FC_TOGETHER_CHECKED == 0;
    if (i / FC_TOGETHER_CHECKED == 3) bodies[0] = "[[23]]";
    run(&desk, bodies, 0, false);
    const char *wanted = !due ? "4" : bodies[0][2] == '1' ? "1 4" : "1 4 1 1 1";
    assert_string_equal(made, i > 3 * FC_TOGETHER_CHECKED ? "1 1 1" : wanted);
    drop(&desk);
  }
  leave(&desk);
}

// Calls that nobody waits for are not made, nor those that the loop has taken back.
static void who_has_left_is_not_computed(void **state) {
  (void)state;
  static desk_t desk;
  fc_error_t err;
  enter(&desk, 1u << 30);
  fc_mates_t mates = {.done = note_done, .tell = note_told, .context = &desk};
  for (uint32_t i = 0; i < 4; i++) {
    fc_slot_t *slot = &desk.slots[i];
    *slot = (fc_slot_t){.call = {.function = desk.function,
                                 .deadline_ns = i == 3 ? now_ns : 0,
                                 .body = {.size = 5}},
                        .mate = i + 1,
                        .answer_block = FC_BLOCK_NONE,
                        .carry_block = FC_BLOCK_NONE};
    assert_int_equal(
        fc_block_take(desk.region.blocks, 5, &slot->call.body.block, &err),
        FC_OK);
    uint8_t *data = fc_block_data(desk.region.blocks, slot->call.body.block);
    memcpy(data, "[[7]]", 5);
    memset(data + 5, 0, FC_BLOCK_TAIL);
    mates.slots[mates.count++] = slot;
  }
  atomic_store(&desk.slots[0].cancel, 1);
  atomic_store(&desk.slots[1].begun, FC_BEGUN_NEVER);
  made[0] = '\0';
  fc_worker_run_mates(&desk.worker, &mates);
  assert_string_equal(made, "1");
  assert_string_equal(desk.order, "0|1|3|2|");
  static const fc_status_t kEnds[] = {FC_CANCELLED, FC_CANCELLED, FC_OK,
                                      FC_DEADLINE_EXCEEDED};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(desk.slots[i].outcome.status, kEnds[i]);
  }
  drop(&desk);
  leave(&desk);
}

// Returns how many of four calls with many rows are answered with this much memory.
static unsigned count_answered(desk_t *desk, uint64_t memory,
                               const char *const *bodies, uint64_t limit_ns) {
  unsigned answered = 0;
  enter(desk, memory);
  run(desk, bodies, limit_ns, false);
  for (int i = 0; i < 4; i++) {
    const fc_outcome_t *outcome = &desk->slots[i].outcome;
    answered += outcome->status == FC_OK;
    assert_true(outcome->status == FC_OK ||
                outcome->error.status == FC_RESOURCE_EXHAUSTED);
  }
  return answered;
}

// With any amount of memory, all calls are answered that would be answered one by one.
static void calls_need_no_more_memory_than_by_themselves(void **state) {
  (void)state;
  enum { ROWS = 8192 };
  static char body[2 * ROWS + 8];
  static desk_t desk;
  const char *const bodies[CALLS] = {body, body, body, body};
  unsigned later = 0;
  size_t used = (size_t)snprintf(body, sizeof body, "[[7");
  for (int i = 1; i < ROWS; i++) {
    used += (size_t)snprintf(body + used, sizeof body - used, ",7");
  }
  snprintf(body + used, sizeof body - used, "]]");
  for (uint64_t memory = 300u << 10; memory < 1500u << 10; memory += 60000) {
    const unsigned alone = count_answered(&desk, memory, bodies, ALONE);
    drop(&desk);
    leave(&desk);
    const unsigned answered = count_answered(&desk, memory, bodies, 0);
    assert_int_equal(answered, alone);
    later += decoded > 4;
    drop(&desk);
    leave(&desk);
  }
  assert_true(later > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(each_call_is_answered_as_it_is_alone),
      FC_TEST_IN_FOLDER(what_differs_is_told),
      FC_TEST_IN_FOLDER(batches_are_looked_at_for_ever),
      FC_TEST_IN_FOLDER(who_has_left_is_not_computed),
      FC_TEST_IN_FOLDER(calls_need_no_more_memory_than_by_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
