// SPDX-License-Identifier: Apache-2.0
//
// A bucket's rows are arranged in patterns. Each row stands at each place, and for any
// two places there is a call with an unusual row at one and a normal row at the other.
#define _POSIX_C_SOURCE 200809L
#include "module/prove.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "abi/print.h"
#include "marshal/frame.h"

#define ROWS 5                               // random rows
#define SIZE_MAX_PROVED ((size_t)512 << 20)  // most bytes that a proof may use
#define FREE_DIM 3                           // size of a dim that is free

// What the rows beside a tested row contain.
typedef enum beside_t {
  BESIDE_ROWS,
  BESIDE_ZEROS,
  BESIDE_NAN,
  BESIDE_LARGE,
  BESIDE_COUNT,
} beside_t;
static const char *const kBeside[] = {"other rows", "zeros", "NaN",
                                      "large numbers"};
#define KINDS (ROWS + BESIDE_COUNT - 1)  // random rows, and the unusual ones

// An argument that has rows.
typedef struct input_t {
  const fc_op_t *op;
  size_t row;      // bytes of a row
  uint8_t *kinds;  // one row of each of the KINDS
  uint8_t *all;    // the rows of a call
  int64_t *shape;
} input_t;

// A result; all results have rows.
typedef struct output_t {
  const fc_op_t *op;
  uint32_t number;
  size_t row;           // bytes of a row; known after the first call
  uint8_t *rows[ROWS];  // the result of each random row alone
} output_t;

typedef struct prover_t {
  const fc_prove_t *prove;
  const fc_plan_t *plan;
  const fc_sized_t *wish;
  fc_arena_t arena;
  fc_value_t *values;
  input_t *inputs;
  uint32_t input_count;
  output_t *outputs;
  uint32_t output_count;
  uint8_t *which;  // by place: the row that stands there
  uint8_t *copy;   // of a result
  size_t copy_size;
  size_t taken;       // bytes of rows and values
  uint64_t began_ns;  // processor time before it
  uint64_t dice;
  bool differs;  // within the tolerance
  bool refuses[BESIDE_COUNT];
  char *verdict;
} prover_t;

// Ends the proof with the verdict that the function is not batched.
#define OFF(prover, ...)                                                   \
  (snprintf((prover)->verdict, FC_VERDICT_SIZE, FC_BATCH_OFF __VA_ARGS__), \
   FC_FAILED_PRECONDITION)

// ---------------------------------------------------------------------------
// Elements

static uint64_t throw_dice(prover_t *prover) {
  prover->dice = prover->dice * UINT64_C(6364136223846793005) +
                 UINT64_C(1442695040888963407);
  return prover->dice >> 33;
}

static double draw(prover_t *prover, beside_t beside, bool half) {
  const double random = (double)(throw_dice(prover) % 40001) / 1e4 - 2;
  switch (beside) {
    case BESIDE_ZEROS:
      return 0;
    case BESIDE_NAN:
      return (double)NAN;
    case BESIDE_LARGE:
      return random * (half ? 3e4 : 1e30);
    default:
      return random;
  }
}

static void put_float(prover_t *prover, fc_dtype_t dtype, size_t size,
                      beside_t beside, uint8_t *at) {
  static const uint8_t kSmall[] = {0x30, 0, 0x7f, 0x7b};
  const bool half = dtype == FC_DTYPE_F16;
  const double value = draw(prover, beside, half);
  const float single = (float)value;
  const uint16_t small =
      half ? fc_half_from_float(single) : fc_bfloat_from_float(single);
  if (size == 8) memcpy(at, &value, 8);
  else if (size == 4) memcpy(at, &single, 4);
  else if (size == 2) memcpy(at, &small, 2);
  else *at = (uint8_t)(kSmall[beside] | (beside ? 0 : throw_dice(prover) % 8));
}

// Fills a row. Integers may be indices, so they are only 0 or 1, unless they have 8 bits.
static void fill_row(prover_t *prover, fc_dtype_t dtype, beside_t beside,
                     uint8_t *at, size_t size) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const bool complex_ = info->class_ == FC_DTYPE_CLASS_COMPLEX;
  const size_t step = complex_ ? info->size / 2 : info->size;
  if (complex_ || info->class_ == FC_DTYPE_CLASS_FLOAT) {
    for (size_t i = 0; i < size; i += step) {
      put_float(prover, dtype, step, beside, at + i);
    }
    return;
  }
  memset(at, 0, size);
  for (size_t i = 0; i < size && beside != BESIDE_ZEROS; i += step) {
    const uint64_t random = throw_dice(prover);
    at[i] = (uint8_t)(info->bits == 8 ? random & 0xff : random & 1);
  }
}

// Reads the element as a number. False if the type has no distances between its numbers.
static bool get_float(fc_dtype_t dtype, const uint8_t *at, double *out) {
  uint16_t half;
  float single;
  switch (dtype) {
    case FC_DTYPE_F64:
      memcpy(out, at, 8);
      return true;
    case FC_DTYPE_F32:
      memcpy(&single, at, 4);
      break;
    case FC_DTYPE_F16:
      memcpy(&half, at, 2);
      single = fc_half_to_float(half);
      break;
    case FC_DTYPE_BF16:
      memcpy(&half, at, 2);
      single = fc_bfloat_to_float(half);
      break;
    default:
      return false;
  }
  *out = (double)single;
  return true;
}

// ---------------------------------------------------------------------------
// Arguments

// Allocates `times` times `bytes` bytes, within the proof's limit.
static fc_status_t take(prover_t *prover, size_t times, size_t bytes,
                        uint8_t **out_data) {
  size_t size;
  if (!fc_size_mul(times, bytes, &size) ||
      size > SIZE_MAX_PROVED - prover->taken) {
    return OFF(prover, "its batches are too large to be tried");
  }
  prover->taken += size;
  *out_data = fc_arena_alloc(&prover->arena, size + 1, 64);
  return *out_data ? FC_OK : FC_RESOURCE_EXHAUSTED;
}

static fc_status_t lay_shape(const prover_t *prover, const fc_op_t *op,
                             int64_t *shape) {
  for (int32_t i = 0; i < op->rank; i++) {
    shape[i] = op->dims[i] < 0 ? FREE_DIM : op->dims[i];
  }
  return op->rank < 0 || !op->dtype
             ? OFF(prover, "an argument has no type of its own")
             : FC_OK;
}

static fc_status_t add_input(prover_t *prover, const fc_op_t *op,
                             int64_t *shape, int64_t most) {
  input_t *input = &prover->inputs[prover->input_count++];
  size_t count;
  shape[0] = 1;
  *input = (input_t){.op = op, .shape = shape};
  if (!fc_shape_count(shape, op->rank, op->dtype, &count, &input->row)) {
    return OFF(prover, "a row is too large to be tried");
  }
  FC_TRY(take(prover, KINDS, input->row, &input->kinds));
  FC_TRY(take(prover, (size_t)most, input->row, &input->all));
  for (int i = 0; i < KINDS; i++) {
    const beside_t beside = i < ROWS ? BESIDE_ROWS : (beside_t)(i - ROWS + 1);
    fill_row(prover, op->dtype, beside, input->kinds + (size_t)i * input->row,
             input->row);
  }
  return FC_OK;
}

// Adds an argument without rows. It has the same value in all calls.
static fc_status_t add_value(prover_t *prover, const fc_op_t *op,
                             const int64_t *shape, fc_value_t *value) {
  size_t count, size;
  if (op->kind == FC_TYPE_SCALAR) {
    *value = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = op->dtype};
    fill_row(prover, op->dtype, BESIDE_ROWS, value->scalar.bytes,
             fc_dtype_size(op->dtype));
    return FC_OK;
  }
  uint8_t *data;
  if (!fc_shape_count(shape, op->rank, op->dtype, &count, &size)) {
    return OFF(prover, "an argument is too large to be tried");
  }
  FC_TRY(take(prover, 1, size, &data));
  fill_row(prover, op->dtype, BESIDE_ROWS, data, size);
  *value = (fc_value_t){
      .kind = FC_VALUE_TENSOR,
      .tensor = {
          .dtype = op->dtype, .rank = op->rank, .shape = shape, .data = data}};
  return FC_OK;
}

static fc_status_t add_argument(prover_t *prover, const fc_op_t *op,
                                int64_t most) {
  const int64_t dim = -2 - (int64_t)prover->plan->batch->name;
  const bool tensor = op->kind == FC_TYPE_TENSOR;
  if (op->raw < 0) return FC_OK;
  if (!tensor && op->kind != FC_TYPE_SCALAR) {
    return OFF(prover, "an argument is no tensor and no number");
  }
  int64_t *shape =
      fc_arena_alloc_array(&prover->arena, FC_RANK_MAX + 1, sizeof *shape);
  if (!shape) return FC_RESOURCE_EXHAUSTED;
  FC_TRY(tensor ? lay_shape(prover, op, shape) : FC_OK);
  return tensor && op->rank && op->dims[0] == dim
             ? add_input(prover, op, shape, most)
             : add_value(prover, op, shape, &prover->values[op->raw]);
}

static fc_status_t prepare(prover_t *prover) {
  const fc_plan_t *plan = prover->plan;
  const int64_t most = plan->batch->buckets[plan->batch->count - 1].rows;
  fc_arena_t *arena = &prover->arena;
  const size_t arguments = plan->signature->raw_argument_count + (size_t)1;
  const size_t results = plan->signature->raw_result_count + (size_t)1;
  prover->values = fc_arena_alloc_array(arena, arguments, sizeof(fc_value_t));
  prover->inputs = fc_arena_alloc_array(arena, arguments, sizeof(input_t));
  prover->outputs = fc_arena_alloc_array(arena, results, sizeof(output_t));
  if (!prover->values || !prover->inputs || !prover->outputs) {
    return FC_RESOURCE_EXHAUSTED;
  }
  FC_TRY(take(prover, (size_t)most, 1, &prover->which));
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_op_t *op = plan->inputs[i].op, *end = fc_op_next(op);
    for (; op < end; op++) FC_TRY(add_argument(prover, op, most));
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const fc_op_t *op = plan->outputs[i].op, *end = fc_op_next(op);
    for (; op < end; op++) {
      if (op->raw < 0) continue;
      prover->outputs[prover->output_count++] =
          (output_t){.op = op, .number = plan->outputs[i].number};
    }
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Calls

// Clock time would say that a function is slow where only the machine is busy.
static uint64_t processor_ns(void) {
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t spent_ns(const prover_t *prover) {
  return processor_ns() - prover->began_ns;
}

// Arranges the rows as `which` says, and calls the function with `rows` rows.
static fc_status_t call(prover_t *prover, int64_t rows, fc_error_t *err) {
  const fc_prove_t *prove = prover->prove;
  fc_frame_t *frame = prove->frame;
  size_t count;
  if (prove->left_ns && spent_ns(prover) >= *prove->left_ns) {
    return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED,
                   "the processor time for proofs is over");
  }
  for (uint32_t i = 0; i < prover->input_count; i++) {
    const input_t *input = &prover->inputs[i];
    for (size_t at = 0; at < (size_t)rows; at++) {
      memcpy(input->all + at * input->row,
             input->kinds + prover->which[at] * input->row, input->row);
    }
    input->shape[0] = rows;
    prover->values[input->op->raw] =
        (fc_value_t){.kind = FC_VALUE_TENSOR,
                     .tensor = {.dtype = input->op->dtype,
                                .rank = input->op->rank,
                                .shape = input->shape,
                                .data = input->all}};
  }
  fc_frame_begin(frame, prover->plan, NULL);
  frame->batched = false;
  fc_value_t *values = fc_frame_arguments(frame, &count);
  if (!values) return fc_fail_memory(err);
  memcpy(values, prover->values, count * sizeof *values);
  return fc_frame_invoke(frame, fc_module_get_backend(prove->function->module),
                         prove->instance, prove->function->index, prove->cancel,
                         prove->deadline_ns, err);
}

// Finds the rows of a result of the last call. If they are not dense, a dense copy is
// made.
static fc_status_t find_rows(prover_t *prover, output_t *output, int64_t rows,
                             const uint8_t **out_rows) {
  size_t count, size;
  const fc_value_t *value =
      &fc_frame_results(prover->prove->frame, &count)[output->op->raw];
  const fc_tensor_t *tensor = &value->tensor;
  if (value->kind != FC_VALUE_TENSOR || tensor->rank != output->op->rank ||
      tensor->dtype != output->op->dtype || tensor->shape[0] != rows ||
      !fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      (output->row && output->row * (size_t)rows != size)) {
    return OFF(prover, "result %u has another type or size with %lld rows",
               output->number, (long long)rows);
  }
  output->row = size / (size_t)rows;
  *out_rows = tensor->data;
  if (fc_tensor_is_dense(tensor)) return FC_OK;
  if (size > prover->copy_size) {
    FC_TRY(take(prover, 1, size, &prover->copy));
    prover->copy_size = size;
  }
  fc_tensor_gather(tensor, prover->copy);
  *out_rows = prover->copy;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Rows

// True when an element agrees with the same element of a row computed alone. The bits of
// a NaN are not compared. *out_differs: the two differ within the tolerance.
static bool agrees(const fc_sized_t *wish, fc_dtype_t dtype, const uint8_t *at,
                   const uint8_t *alone, bool *out_differs) {
  double is = 0, was = 0;
  *out_differs = false;
  if (!memcmp(at, alone, fc_dtype_size(dtype))) return true;
  if (!get_float(dtype, at, &is) || !get_float(dtype, alone, &was))
    return false;
  if (isnan(is) && isnan(was)) return true;
  const double apart = fabs(is - was);
  *out_differs = wish->approximate && (apart <= wish->absolute ||
                                       apart <= wish->relative * fabs(was));
  return *out_differs;
}

// Compares a row with the same row computed alone.
static fc_status_t compare(prover_t *prover, const output_t *output,
                           const uint8_t *row, const uint8_t *alone,
                           int64_t rows, size_t place, beside_t beside) {
  const fc_dtype_t dtype = output->op->dtype;
  const size_t size = fc_dtype_size(dtype);
  if (!memcmp(row, alone, output->row)) return FC_OK;
  for (size_t at = 0; at < output->row; at += size) {
    double is = 0, was = 0;
    bool differs;
    if (agrees(prover->wish, dtype, row + at, alone + at, &differs)) {
      prover->differs |= differs;
      continue;
    }
    const bool known =
        get_float(dtype, row + at, &is) && get_float(dtype, alone + at, &was);
    char text[80] = "";
    if (known) snprintf(text, sizeof text, ": %.9g, alone %.9g", is, was);
    return OFF(prover,
               "row %zu of %lld, beside %s, is not what it is alone "
               "(result %u%s)",
               place, (long long)rows, kBeside[beside], output->number, text);
  }
  return FC_OK;
}

static fc_status_t compare_all(prover_t *prover, int64_t rows,
                               beside_t beside) {
  for (uint32_t i = 0; i < prover->output_count; i++) {
    output_t *output = &prover->outputs[i];
    const uint8_t *all;
    FC_TRY(find_rows(prover, output, rows, &all));
    for (size_t at = 0; at < (size_t)rows; at++) {
      if (prover->which[at] >= ROWS) continue;
      FC_TRY(compare(prover, output, all + at * output->row,
                     output->rows[prover->which[at]], rows, at, beside));
    }
  }
  return FC_OK;
}

static fc_status_t fail(prover_t *prover, int64_t rows, const fc_error_t *why) {
  if (why->code == FC_CODE_OUT_OF_MEMORY) return FC_RESOURCE_EXHAUSTED;
  if (why->code == FC_CODE_DEADLINE_EXCEEDED) {
    memcpy(prover->verdict, FC_BATCH_SLOW, sizeof FC_BATCH_SLOW);
    return FC_FAILED_PRECONDITION;
  }
  return OFF(prover, "%lld random rows cannot be computed: %.200s",
             (long long)rows, why->message);
}

// Computes each row alone: all places of the smallest bucket hold that row.
static fc_status_t compute_alone(prover_t *prover) {
  const int64_t least = prover->plan->batch->buckets[0].rows;
  for (int r = 0; r < ROWS; r++) {
    fc_error_t why;
    memset(prover->which, r, (size_t)least);
    if (call(prover, least, &why) != FC_OK) return fail(prover, least, &why);
    for (uint32_t i = 0; i < prover->output_count; i++) {
      output_t *output = &prover->outputs[i];
      const uint8_t *rows;
      FC_TRY(find_rows(prover, output, least, &rows));
      FC_TRY(take(prover, 1, output->row, &output->rows[r]));
      memcpy(output->rows[r], rows, output->row);
    }
  }
  return FC_OK;
}

// Tests each row at each place.
static fc_status_t try_places(prover_t *prover, int64_t rows) {
  for (size_t shift = 0; shift < ROWS; shift++) {
    fc_error_t why;
    for (size_t at = 0; at < (size_t)rows; at++) {
      prover->which[at] = (uint8_t)((at + shift) % ROWS);
    }
    if (call(prover, rows, &why) != FC_OK) return fail(prover, rows, &why);
    FC_TRY(compare_all(prover, rows, BESIDE_ROWS));
  }
  return FC_OK;
}

// For each bit of a place's number: puts unusual rows at the places whose number has that
// bit set, then at the other places. If the function refuses a kind of unusual row, that
// kind is not tested further.
static fc_status_t try_beside(prover_t *prover, int64_t rows, beside_t beside) {
  for (uint32_t bit = 0; (INT64_C(1) << bit) < rows; bit++) {
    for (size_t side = 0; side < 2 && !prover->refuses[beside]; side++) {
      fc_error_t why;
      for (size_t at = 0; at < (size_t)rows; at++) {
        prover->which[at] = (at >> bit & 1) == side
                                ? (uint8_t)(ROWS + beside - 1)
                                : (uint8_t)(at % ROWS);
      }
      if (call(prover, rows, &why) == FC_OK) {
        FC_TRY(compare_all(prover, rows, beside));
      } else if (why.code == FC_CODE_CALL_FAILED) {
        prover->refuses[beside] = true;
      } else {
        return fail(prover, rows, &why);
      }
    }
  }
  return FC_OK;
}

static fc_status_t try_all(prover_t *prover) {
  const fc_batch_t *batch = prover->plan->batch;
  if (!batch->count) return OFF(prover, "no function of it has rows");
  FC_TRY(prepare(prover));
  FC_TRY(compute_alone(prover));
  for (uint32_t i = 0; i < batch->count; i++) {
    const int64_t rows = batch->buckets[i].rows;
    FC_TRY(try_places(prover, rows));
    for (beside_t beside = BESIDE_ZEROS; beside < BESIDE_COUNT; beside++) {
      FC_TRY(try_beside(prover, rows, beside));
    }
  }
  snprintf(prover->verdict, FC_VERDICT_SIZE, "%s",
           prover->differs ? FC_BATCH_APPROXIMATE : FC_BATCH_EXACT);
  return FC_OK;
}

// True when two tensors have the same type and shape, and agree element by element.
static bool is_same(const fc_sized_t *wish, const fc_tensor_t *tensor,
                    const fc_tensor_t *alone, fc_arena_t *arena) {
  size_t count, size;
  if (tensor->dtype != alone->dtype || tensor->rank != alone->rank ||
      memcmp(tensor->shape, alone->shape,
             (size_t)alone->rank * sizeof *alone->shape) ||
      !fc_shape_count(alone->shape, alone->rank, alone->dtype, &count, &size)) {
    return false;
  }
  uint8_t *copies[] = {fc_arena_alloc(arena, size + 1, 64),
                       fc_arena_alloc(arena, size + 1, 64)};
  if (!copies[0] || !copies[1]) return true;
  fc_tensor_gather(tensor, copies[0]);
  fc_tensor_gather(alone, copies[1]);
  const size_t step = fc_dtype_size(alone->dtype);
  bool differs;
  for (size_t at = 0; at < size; at += step) {
    if (!agrees(wish, alone->dtype, copies[0] + at, copies[1] + at, &differs)) {
      return false;
    }
  }
  return true;
}

bool fc_rows_agree(const fc_function_t *function, fc_frame_t *frame,
                   const fc_value_t *alone) {
  const fc_sized_t *wish = fc_module_sized(function);
  size_t count;
  const fc_value_t *results = fc_frame_results(frame, &count);
  for (size_t i = 0; i < count; i++) {
    if (results[i].kind != alone[i].kind) return false;
    if (alone[i].kind == FC_VALUE_TENSOR &&
        !is_same(wish, &results[i].tensor, &alone[i].tensor, &frame->tensors)) {
      return false;
    }
  }
  return true;
}

bool fc_rows_may_batch(const fc_function_t *function) {
  return function->plan && function->plan->batch;
}

bool fc_module_has_rows(const fc_module_t *module) {
  for (size_t i = 0; i < fc_module_function_count(module); i++) {
    if (fc_rows_may_batch(fc_module_function(module, i))) return true;
  }
  return false;
}

fc_status_t fc_rows_prove(const fc_prove_t *prove,
                          char out_verdict[FC_VERDICT_SIZE], fc_error_t *err) {
  prover_t prover = {.prove = prove,
                     .plan = prove->function->plan,
                     .wish = fc_module_sized(prove->function),
                     .dice = 1,
                     .began_ns = processor_ns(),
                     .verdict = out_verdict};
  fc_arena_init(&prover.arena, fc_allocator_system(), 4096, SIZE_MAX);
  const fc_status_t status = try_all(&prover);
  if (prove->left_ns) {
    const uint64_t took_ns = spent_ns(&prover);
    *prove->left_ns -= took_ns < *prove->left_ns ? took_ns : *prove->left_ns;
  }
  fc_frame_end(prove->frame);
  fc_arena_deinit(&prover.arena);
  return status == FC_RESOURCE_EXHAUSTED ? fc_fail_memory(err) : FC_OK;
}
