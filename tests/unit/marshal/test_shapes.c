// SPDX-License-Identifier: Apache-2.0
//
// Every small tensor against every small type: ranks 1 to 4, dims 0 to 2, each dim
// static or dynamic, intact and with damage at each place. The oracle looks only at the
// nesting: it says whether the tensor must be accepted, and its shape.
#include <stdio.h>

#include "farcall/codec.h"
#include "helpers/test.h"

#define RANK_MAX 4
#define NODES_MAX 128

// Nested arrays as a tree. A number is a node that is no array.
typedef struct node_t {
  bool is_array;
  uint32_t count;
  uint32_t children[4];
} node_t;

typedef struct nesting_t {
  node_t nodes[NODES_MAX];
  uint32_t count;
} nesting_t;

static uint32_t add_node(nesting_t *nesting, bool is_array) {
  assert_true(nesting->count < NODES_MAX);
  nesting->nodes[nesting->count] = (node_t){.is_array = is_array};
  return nesting->count++;
}

// NOLINTNEXTLINE(misc-no-recursion): RANK_MAX deep.
static uint32_t fill(nesting_t *nesting, const int64_t *shape, int32_t rank) {
  uint32_t node = add_node(nesting, rank > 0);
  for (int64_t i = 0; rank > 0 && i < shape[0]; i++) {
    uint32_t child = fill(nesting, shape + 1, rank - 1);
    nesting->nodes[node].children[nesting->nodes[node].count++] = child;
  }
  return node;
}

// The elements are numbered in text order, so that a misplaced one is noticed.
// NOLINTNEXTLINE(misc-no-recursion)
static char *print(const nesting_t *nesting, uint32_t node, char *out,
                   uint32_t *number) {
  const node_t *at = &nesting->nodes[node];
  if (!at->is_array) return out + sprintf(out, "%u", ++*number);
  *out++ = '[';
  for (uint32_t i = 0; i < at->count; i++) {
    if (i) *out++ = ',';
    out = print(nesting, at->children[i], out, number);
  }
  *out++ = ']';
  *out = '\0';
  return out;
}

// ---------------------------------------------------------------------------
// The oracle

typedef struct verdict_t {
  bool accepted;
  int64_t shape[RANK_MAX];
} verdict_t;

// True if all nodes of the same depth have the same length, and those of the last depth
// are numbers.
// NOLINTNEXTLINE(misc-no-recursion)
static bool same_lengths(const nesting_t *nesting, uint32_t node, int32_t depth,
                         int32_t rank, int64_t *lengths) {
  const node_t *at = &nesting->nodes[node];
  if (depth == rank) return !at->is_array;
  if (!at->is_array) return false;
  if (lengths[depth] >= 0 && lengths[depth] != at->count) return false;
  lengths[depth] = at->count;
  for (uint32_t i = 0; i < at->count; i++) {
    if (!same_lengths(nesting, at->children[i], depth + 1, rank, lengths)) {
      return false;
    }
  }
  return true;
}

static verdict_t judge(const nesting_t *nesting, const int64_t *declared,
                       int32_t rank) {
  verdict_t verdict = {.accepted = false, .shape = {-1, -1, -1, -1}};
  if (!same_lengths(nesting, 0, 0, rank, verdict.shape)) return verdict;
  for (int32_t i = 0; i < rank; i++) {
    // Below an empty array a dim has its declared size, or 0.
    if (verdict.shape[i] < 0) {
      verdict.shape[i] = declared[i] < 0 ? 0 : declared[i];
    }
    if (declared[i] >= 0 && verdict.shape[i] != declared[i]) return verdict;
  }
  verdict.accepted = true;
  return verdict;
}

// ---------------------------------------------------------------------------
// Against the decoder

typedef struct bench_t {
  fc_signature_t *signature;
  fc_plan_t *plan;
  fc_frame_t *frame;
  int32_t rank;
  int64_t declared[RANK_MAX];
  size_t accepted;
  size_t refused;
} bench_t;

static void bench_plan(bench_t *bench) {
  fc_allocator_t allocator = fc_allocator_system();
  fc_builder_t *builder = fc_builder_create(allocator);
  fc_builder_argument(
      builder, (fc_str_t){0},
      fc_builder_tensor(builder, FC_DTYPE_I16, bench->rank, bench->declared),
      FC_ROLE_IN, false, FC_RAW_NEXT);
  fc_error_t err;
  assert_int_equal(fc_signature_build(builder, &bench->signature, &err), FC_OK);
  assert_int_equal(
      fc_plan_create(bench->signature, allocator, &bench->plan, &err), FC_OK);
  fc_builder_destroy(builder);
}

static void bench_unplan(bench_t *bench) {
  fc_frame_end(bench->frame);
  fc_plan_destroy(bench->plan);
  fc_signature_destroy(bench->signature);
}

static void check(bench_t *bench, const nesting_t *nesting) {
  char body[1024];
  uint32_t number = 0;
  body[0] = '[';
  char *end = print(nesting, 0, body + 1, &number);
  *end++ = ']';
  *end = '\0';
  verdict_t verdict = judge(nesting, bench->declared, bench->rank);
  fc_error_t err;
  fc_frame_begin(bench->frame, bench->plan, NULL);
  fc_status_t status = fc_frame_decode(
      bench->frame, fc_str_make(body, (size_t)(end - body)), &err);
  if ((status == FC_OK) != verdict.accepted) {
    fail_msg("%s: %s", body, status ? err.message : "accepted");
  }
  if (!verdict.accepted) {
    bench->refused++;
    assert_int_equal(err.code, FC_CODE_SHAPE_MISMATCH);
    return;
  }
  bench->accepted++;
  size_t count;
  const fc_tensor_t *tensor = &fc_frame_arguments(bench->frame, &count)->tensor;
  assert_int_equal(tensor->rank, bench->rank);
  int64_t elements = 1;
  for (int32_t i = 0; i < bench->rank; i++) {
    if (tensor->shape[i] != verdict.shape[i]) fail_msg("%s: dim %d", body, i);
    elements *= verdict.shape[i];
  }
  assert_int_equal(elements, number);
  for (int64_t i = 0; i < elements; i++) {
    if (((int16_t *)tensor->data)[i] != i + 1) fail_msg("%s: order", body);
  }
}

// Damages the nesting at each node in each way.
static void check_broken(bench_t *bench, const nesting_t *whole) {
  for (uint32_t i = 0; i < whole->count; i++) {
    nesting_t broken = *whole;
    node_t *node = &broken.nodes[i];
    if (node->is_array && node->count) {
      node->count--;
      check(bench, &broken);
      broken = *whole;
      uint32_t copy = node->children[0];
      node->children[node->count++] = copy;
      check(bench, &broken);
      broken = *whole;
    } else if (node->is_array) {
      uint32_t number = add_node(&broken, false);
      node->children[node->count++] = number;
      check(bench, &broken);
      broken = *whole;
    }
    // A number replaces an array, or an array a number.
    node->is_array = !node->is_array;
    node->count = 0;
    check(bench, &broken);
    // Adds one more level of brackets.
    broken = *whole;
    uint32_t inner = add_node(&broken, false);
    broken.nodes[inner] = *node;
    *node = (node_t){.is_array = true, .count = 1, .children = {inner}};
    check(bench, &broken);
  }
}

// Counts up by one, in base `base`. False: all digits are 0 again.
static bool next_digits(int64_t *digits, int32_t count, int64_t base) {
  for (int32_t i = 0; i < count; i++) {
    if (++digits[i] < base) return true;
    digits[i] = 0;
  }
  return false;
}

static void check_type(bench_t *bench) {
  int64_t shape[RANK_MAX] = {0};
  do {
    nesting_t nesting = {.count = 0};
    fill(&nesting, shape, bench->rank);
    check(bench, &nesting);
    bool fits = true;
    for (int32_t i = 0; i < bench->rank; i++) {
      fits &= bench->declared[i] < 0 || bench->declared[i] == shape[i];
    }
    // A shape that does not fit is also damaged only where that is cheap.
    if (fits || bench->rank < 3) check_broken(bench, &nesting);
  } while (next_digits(shape, bench->rank, 3));
}

static void small_shapes_match_the_model(void **state) {
  (void)state;
  bench_t bench = {0};
  fc_error_t err;
  assert_int_equal(
      fc_frame_create(fc_allocator_system(), NULL, &bench.frame, &err), FC_OK);
  for (bench.rank = 1; bench.rank <= RANK_MAX; bench.rank++) {
    int64_t type[RANK_MAX] = {0};  // 0: dynamic, else the size plus 1
    do {
      for (int32_t i = 0; i < bench.rank; i++) {
        bench.declared[i] = type[i] - 1;
      }
      bench_plan(&bench);
      check_type(&bench);
      bench_unplan(&bench);
    } while (next_digits(type, bench.rank, 4));
  }
  fc_frame_destroy(bench.frame);
  print_message("%zu accepted, %zu refused\n", bench.accepted, bench.refused);
  assert_true(bench.accepted > 1000 && bench.refused > 10000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(small_shapes_match_the_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
