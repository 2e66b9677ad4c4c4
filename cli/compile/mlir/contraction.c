// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt has accepted the text. So an operation that cannot be read has a form not
// known here, and stays unchanged.
#include "compile/mlir/contraction.h"

// ---------------------------------------------------------------------------
// Maps

// Reads digits at *at. False: there are none, or more than six.
static bool read_number(fc_str_t text, size_t *at, int *out) {
  const size_t begin = *at;
  int value = 0;
  while (fc_lex_is_digit(fc_lex_char(text, *at)) && *at - begin < 6) {
    value = value * 10 + (text.data[(*at)++] - '0');
  }
  *out = value;
  return *at > begin && !fc_lex_is_digit(fc_lex_char(text, *at));
}

// Reads a term, such as "d3", "d0 * 2" or "1", of the index along dim `j` of the operand.
static bool read_term(fc_str_t term, size_t loop_count, size_t j,
                      fc_operand_t *operand) {
  size_t at = 0;
  int number = 0, factor = 1;
  term = fc_lex_trim(term);
  if (fc_lex_char(term, 0) != 'd') {
    return read_number(term, &at, &operand->constants[j]) && at == term.size;
  }
  at = 1;
  if (!read_number(term, &at, &number) || (size_t)number >= loop_count) {
    return false;
  }
  if (fc_str_starts(fc_lex_part(term, at, term.size), FC_STR(" * "))) {
    at += 3;
    if (!read_number(term, &at, &factor)) return false;
  }
  operand->coefficients[j][number] += factor;
  return at == term.size;
}

// Reads the index along dim `j` of the operand: a sum of terms.
static bool read_expression(fc_str_t text, size_t loop_count, size_t j,
                            fc_operand_t *operand) {
  while (text.size) {
    const char *plus = memchr(text.data, '+', text.size);
    const size_t end = plus ? (size_t)(plus - text.data) : text.size;
    if (!read_term(fc_lex_part(text, 0, end), loop_count, j, operand)) {
      return false;
    }
    text = fc_lex_part(text, plus ? end + 1 : end, text.size);
  }
  return true;
}

// Reads a map such as affine_map<(d0, d1, d2) -> (d0, d2)>.
static bool read_map(fc_str_t map, size_t *out_loop_count,
                     fc_operand_t *operand) {
  static const fc_str_t kBegin = FC_STR("affine_map<(");
  if (!fc_str_starts(map, kBegin)) return false;
  const size_t open = kBegin.size - 1;
  const size_t close = fc_lex_balanced(map, open, false);
  *out_loop_count = fc_lex_count(fc_lex_unwrap(fc_lex_part(map, open, close)));
  if (*out_loop_count > FC_LOOPS_MAX) return false;
  const fc_str_t rest = fc_lex_part(map, close, map.size);
  if (!fc_str_starts(rest, FC_STR(" -> ("))) return false;  // it has symbols
  fc_str_t list =
      fc_lex_unwrap(fc_lex_part(rest, 4, fc_lex_balanced(rest, 4, false)));
  fc_str_t expression;
  operand->rank = 0;
  while (fc_lex_element(&list, &expression)) {
    if (operand->rank == FC_LOOP_RANK_MAX ||
        !read_expression(expression, *out_loop_count, operand->rank, operand)) {
      return false;
    }
    operand->rank++;
  }
  return true;
}

// Does a map, such as "(d0, d1) -> (d1, d0)", use each of its loops once?
static bool permutes(fc_str_t map) {
  const size_t close = fc_lex_balanced(map, 0, false);
  const fc_str_t rest = fc_lex_part(map, close, map.size);
  if (!fc_str_starts(rest, FC_STR(" -> ("))) return false;  // it has symbols
  fc_str_t loops = fc_lex_unwrap(fc_lex_part(map, 0, close)), loop;
  const fc_str_t results =
      fc_lex_unwrap(fc_lex_part(rest, 4, fc_lex_balanced(rest, 4, false)));
  if (fc_lex_count(loops) != fc_lex_count(results)) return false;
  while (fc_lex_element(&loops, &loop)) {
    fc_str_t others = results, result;
    bool found = false;
    while (!found && fc_lex_element(&others, &result)) {
      found = fc_str_equal(loop, result);
    }
    if (!found) return false;
  }
  return true;
}

bool fc_mlir_permutes(fc_str_t text) {
  static const char kMap[] = "affine_map<(";
  const char *at;
  while (text.size &&
         (at = memmem(text.data, text.size, kMap, sizeof kMap - 1))) {
    const size_t open = (size_t)(at - text.data) + sizeof kMap - 2;
    text = fc_lex_part(text, open, text.size);
    if (!permutes(text)) return false;
  }
  return true;
}

static bool read_maps(fc_str_t properties, fc_contraction_t *found) {
  fc_str_t maps =
      fc_lex_unwrap(fc_attr_find(properties, FC_STR("indexing_maps")));
  if (fc_lex_count(maps) != FC_OPERANDS) return false;
  for (int i = 0; i < FC_OPERANDS; i++) {
    fc_str_t map = {0};
    size_t count = 0;
    fc_lex_element(&maps, &map);
    if (!read_map(map, &count, &found->operands[i])) return false;
    if (i && count != found->loop_count) return false;
    found->loop_count = count;
  }
  return true;
}

// ---------------------------------------------------------------------------
// Bodies

// The names of values in a body: a, b and c, later their widened values; the product; the
// sum. Empty: not read yet.
typedef struct body_t {
  fc_str_t names[FC_OPERANDS];
  fc_str_t product;
  fc_str_t sum;
} body_t;

// Reads the arguments, ^bb0(%x: f32 loc(…), …).
static bool read_arguments(fc_str_t line, body_t *body, fc_kernel_t *kernel) {
  const size_t open = fc_lex_space(line, 0) + strlen("^bb0");
  if (!fc_str_starts(fc_lex_trim(line), FC_STR("^bb0("))) return false;
  fc_str_t list = fc_lex_unwrap(
      fc_lex_part(line, open, fc_lex_balanced(line, open, false)));
  if (fc_lex_count(list) != FC_OPERANDS) return false;
  for (int i = 0; i < FC_OPERANDS; i++) {
    fc_str_t argument = {0};
    fc_lex_element(&list, &argument);
    size_t colon = 0;
    while (colon < argument.size && argument.data[colon] != ':') colon++;
    const size_t begin = fc_lex_space(argument, colon + 1);
    size_t end = begin;
    while (fc_lex_is_word(fc_lex_char(argument, end))) end++;
    if (end <= begin) return false;
    body->names[i] = fc_lex_part(argument, 0, colon);
    kernel->types[i] = fc_lex_part(argument, begin, end);
  }
  return true;
}

static bool is_pair(fc_str_t operands, fc_str_t a, fc_str_t b) {
  fc_str_t first = {0}, second = {0};
  if (fc_lex_count(operands) != 2 || !a.size || !b.size) return false;
  fc_lex_element(&operands, &first);
  fc_lex_element(&operands, &second);
  return (fc_str_equal(first, a) && fc_str_equal(second, b)) ||
         (fc_str_equal(first, b) && fc_str_equal(second, a));
}

// Reads an operation that widens a or b. False: it does not.
static bool read_widening(const fc_operation_t *operation, body_t *body,
                          fc_kernel_t *kernel) {
  static const struct {
    const char *name;
    fc_widen_t widen;
  } kNames[] = {{"arith.extf", FC_WIDEN_FLOAT},
                {"arith.extsi", FC_WIDEN_SIGNED},
                {"arith.extui", FC_WIDEN_UNSIGNED}};
  for (size_t k = 0; k < FC_ARRAY_COUNT(kNames); k++) {
    if (!fc_operation_is(operation, kNames[k].name)) continue;
    for (int i = FC_A; i <= FC_B; i++) {
      if (!fc_str_equal(operation->operands, body->names[i]) ||
          kernel->widen[i]) {
        continue;
      }
      body->names[i] = operation->results;
      kernel->widen[i] = kNames[k].widen;
      return true;
    }
  }
  return false;
}

// Reads one operation of a body. False: it is not part of a contraction.
static bool read_operation(const fc_operation_t *operation, body_t *body,
                           fc_kernel_t *kernel) {
  if (fc_operation_is(operation, "arith.mulf") ||
      fc_operation_is(operation, "arith.muli")) {
    if (body->product.size) return false;
    body->product = operation->results;
    return is_pair(operation->operands, body->names[FC_A], body->names[FC_B]);
  }
  if (fc_operation_is(operation, "arith.addf") ||
      fc_operation_is(operation, "arith.addi")) {
    if (body->sum.size) return false;
    body->sum = operation->results;
    return is_pair(operation->operands, body->names[FC_C], body->product);
  }
  return read_widening(operation, body, kernel);
}

static bool read_body(fc_str_t region, fc_kernel_t *kernel) {
  body_t body = {0};
  size_t at = fc_lex_space(region, 0);
  fc_operation_t operation;
  if (!read_arguments(fc_lex_line(region, &at), &body, kernel)) return false;
  while (fc_operation_next(region, &at, &operation)) {
    fc_operation_complete(region, &operation);
    if (fc_operation_is(&operation, "linalg.yield")) {
      return body.sum.size && fc_str_equal(operation.operands, body.sum) &&
             fc_kernel_is_known(kernel);
    }
    if (!read_operation(&operation, &body, kernel)) return false;
  }
  return false;
}

// ---------------------------------------------------------------------------
// Loops

static bool moves(const fc_operand_t *operand, size_t loop) {
  for (size_t j = 0; j < operand->rank; j++) {
    if (operand->coefficients[j][loop]) return true;
  }
  return false;
}

// Returns the dim of the operand whose index is this loop alone; the operand's rank:
// there is none.
static size_t find_dim(const fc_operand_t *operand, size_t loop) {
  for (size_t j = 0; j < operand->rank; j++) {
    if (operand->constants[j] || operand->coefficients[j][loop] != 1) continue;
    bool alone = true;
    for (size_t i = 0; i < FC_LOOPS_MAX; i++) {
      alone = alone && (i == loop || !operand->coefficients[j][i]);
    }
    if (alone) return j;
  }
  return operand->rank;
}

bool fc_contraction_size(const fc_contraction_t *found, size_t loop,
                         int *out_operand, size_t *out_dim) {
  for (int i = 0; i < FC_OPERANDS; i++) {
    *out_operand = i;
    *out_dim = find_dim(&found->operands[i], loop);
    if (*out_dim < found->operands[i].rank) return true;
  }
  return false;
}

// Is each dim of C a loop of its own? Then no element of C is reached twice.
static bool is_plain_result(const fc_contraction_t *found) {
  const fc_operand_t *c = &found->operands[FC_C];
  size_t dims = 0, loops = 0;
  for (size_t loop = 0; loop < found->loop_count; loop++) {
    dims += find_dim(c, loop) < c->rank;
    loops += moves(c, loop);
  }
  return dims == c->rank && loops == c->rank;
}

// Returns a loop that moves C and `in` but not `out`: of several, that of C's last dim.
// FC_LOOP_NONE: there is none.
static size_t find_loop(const fc_contraction_t *found, const fc_operand_t *in,
                        const fc_operand_t *out) {
  const fc_operand_t *c = &found->operands[FC_C];
  for (size_t j = c->rank; j-- > 0;) {
    for (size_t loop = 0; loop < found->loop_count; loop++) {
      if (c->coefficients[j][loop] && moves(in, loop) && !moves(out, loop)) {
        return loop;
      }
    }
  }
  return FC_LOOP_NONE;
}

static void swap_operands(fc_contraction_t *found) {
  fc_kernel_t *kernel = &found->kernel;
  const fc_operand_t operand = found->operands[FC_A];
  const fc_str_t type = kernel->types[FC_A];
  const fc_widen_t widen = kernel->widen[FC_A];
  found->operands[FC_A] = found->operands[FC_B];
  found->operands[FC_B] = operand;
  kernel->types[FC_A] = kernel->types[FC_B];
  kernel->types[FC_B] = type;
  kernel->widen[FC_A] = kernel->widen[FC_B];
  kernel->widen[FC_B] = widen;
}

// Returns the number of the dim of C that is this loop, counted from 1; 0: no loop.
static size_t place_of(const fc_contraction_t *found, size_t loop) {
  return loop == FC_LOOP_NONE ? 0 : 1 + find_dim(&found->operands[FC_C], loop);
}

// Chooses the loops m, n and k. n, the columns, is the one whose elements in C are
// closest together.
static bool choose_loops(fc_contraction_t *found) {
  const fc_operand_t *a = &found->operands[FC_A], *b = &found->operands[FC_B];
  int operand;
  size_t dim;
  for (size_t loop = 0; loop < found->loop_count; loop++) {
    if (!fc_contraction_size(found, loop, &operand, &dim)) return false;
  }
  if (!is_plain_result(found)) return false;
  const size_t of_a = find_loop(found, a, b), of_b = find_loop(found, b, a);
  if (place_of(found, of_a) > place_of(found, of_b)) {
    swap_operands(found);
    found->m = of_b, found->n = of_a;
  } else {
    found->m = of_a, found->n = of_b;
  }
  found->k = FC_LOOP_NONE;
  for (size_t loop = 0; loop < found->loop_count; loop++) {
    if (moves(&found->operands[FC_C], loop)) continue;
    if (find_dim(a, loop) < a->rank && find_dim(b, loop) < b->rank) {
      found->k = loop;
    }
  }
  return found->n != FC_LOOP_NONE && found->k != FC_LOOP_NONE;
}

// ---------------------------------------------------------------------------
// Operations

static bool read_operands(const fc_operation_t *operation,
                          fc_contraction_t *found) {
  fc_str_t names = operation->operands, types = operation->operand_types;
  if (fc_lex_count(names) != FC_OPERANDS ||
      fc_lex_count(types) != FC_OPERANDS) {
    return false;
  }
  for (int i = 0; i < FC_OPERANDS; i++) {
    fc_operand_t *operand = &found->operands[i];
    fc_lex_element(&names, &operand->name);
    fc_lex_element(&types, &operand->type);
    if (!fc_str_starts(operand->type, FC_STR("memref<"))) return false;
  }
  return true;
}

bool fc_contraction_read(fc_str_t text, fc_operation_t *operation,
                         fc_contraction_t *out) {
  *out = (fc_contraction_t){0};
  if (!fc_operation_is(operation, "linalg.generic")) return false;
  fc_operation_complete(text, operation);
  return !operation->results.size && read_maps(operation->properties, out) &&
         read_body(operation->regions, &out->kernel) &&
         read_operands(operation, out) && choose_loops(out);
}
