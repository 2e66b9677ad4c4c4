// SPDX-License-Identifier: Apache-2.0
//
// Replaces contractions by calls of kernels. Three loops of a contraction become the
// loops m, n and k of the kernel; the others stay as loops around the call. A kernel gets
// strides, not shapes, so batches, transposed operands and convolutions need no code of
// their own.
#include <stdio.h>

#include "compile/mlir/contraction.h"
#include "file.h"

#define KERNELS_MAX 32

typedef struct contracting_t {
  fc_str_t text;
  fc_sink_t *sink;
  fc_kernel_t kernels[KERNELS_MAX];
  size_t kernel_count;
  size_t count;
  fc_error_t *err;
} contracting_t;

// ---------------------------------------------------------------------------
// Calls

// Prints lines of MLIR. The values of contraction N have names that begin with
// %contractN.
#define PRINT(all, ...) fc_print_to((all)->sink, (all)->err, __VA_ARGS__)

static fc_status_t put(contracting_t *all, fc_str_t text) {
  return fc_sink_put(all->sink, text, all->err);
}

// Writes the operation that gives base, offset, sizes and strides of operand X, as
// %contractN.mX.
static fc_status_t put_metadata(contracting_t *all,
                                const fc_contraction_t *found, int i) {
  const fc_operand_t *operand = &found->operands[i];
  const size_t n = all->count;
  FC_TRY(PRINT(all,
               "%%contract%zu.m%d:%zu = \"memref.extract_strided_metadata\"(",
               n, i, 2 + 2 * operand->rank));
  FC_TRY(put(all, operand->name));
  FC_TRY(put(all, FC_STR(") : (")));
  FC_TRY(put(all, operand->type));
  FC_TRY(PRINT(all, ") -> (memref<%.*s>, index",
               FC_STR_ARG(found->kernel.types[i])));
  for (size_t j = 0; j < 2 * operand->rank; j++) {
    FC_TRY(put(all, FC_STR(", index")));
  }
  return put(all, FC_STR(")\n"));
}

// Adds `factor` times the stride of dim j to a sum of *length terms. The sum of k terms
// is the value %contractN.TO.k.
static fc_status_t put_term(contracting_t *all, const char *to, size_t *length,
                            const fc_operand_t *operand, int i, size_t j,
                            int factor) {
  const size_t n = all->count;
  FC_TRY(PRINT(all, "%%contract%zu.%s.f%zu = arith.constant %d : index\n", n,
               to, *length, factor));
  FC_TRY(PRINT(all,
               "%%contract%zu.%s.t%zu = arith.muli %%contract%zu.%s.f%zu, "
               "%%contract%zu.m%d#%zu : index\n",
               n, to, *length, n, to, *length, n, i, 2 + operand->rank + j));
  FC_TRY(PRINT(all,
               "%%contract%zu.%s.%zu = arith.addi %%contract%zu.%s.%zu, "
               "%%contract%zu.%s.t%zu : index\n",
               n, to, *length + 1, n, to, *length, n, to, *length));
  ++*length;
  return FC_OK;
}

// Writes %contractN.sX.LOOP: by how many elements the loop moves operand X.
static fc_status_t put_stride(contracting_t *all, const fc_contraction_t *found,
                              int i, size_t loop) {
  const fc_operand_t *operand = &found->operands[i];
  char name[40];
  size_t length = 0;
  snprintf(name, sizeof name, "w%d.%zu", i, loop);
  FC_TRY(PRINT(all, "%%contract%zu.%s.0 = arith.constant 0 : index\n",
               all->count, name));
  for (size_t j = 0; j < operand->rank; j++) {
    const int factor = operand->coefficients[j][loop];
    if (!factor) continue;
    FC_TRY(put_term(all, name, &length, operand, i, j, factor));
  }
  return PRINT(all,
               "%%contract%zu.s%d.%zu = arith.addi %%contract%zu.%s.0, "
               "%%contract%zu.%s.%zu : index\n",
               all->count, i, loop, all->count, name, all->count, name, length);
}

// Writes %contractN.oX.LENGTH: the offset of operand X when all loops are at 0. LENGTH is
// the number of terms.
static fc_status_t put_begin(contracting_t *all, const fc_contraction_t *found,
                             int i, size_t *out_length) {
  const fc_operand_t *operand = &found->operands[i];
  char name[32];
  snprintf(name, sizeof name, "o%d", i);
  FC_TRY(PRINT(all,
               "%%contract%zu.%s.z = arith.constant 0 : index\n"
               "%%contract%zu.%s.0 = arith.addi %%contract%zu.%s.z, "
               "%%contract%zu.m%d#1 : index\n",
               all->count, name, all->count, name, all->count, name, all->count,
               i));
  *out_length = 0;
  for (size_t j = 0; j < operand->rank; j++) {
    const int constant = operand->constants[j];
    if (!constant) continue;
    FC_TRY(put_term(all, name, out_length, operand, i, j, constant));
  }
  return FC_OK;
}

static bool is_outer(const fc_contraction_t *found, size_t loop) {
  return loop != found->m && loop != found->n && loop != found->k;
}

// Opens the loops around the kernel's call, and adds each loop's part to the offsets of
// the operands. lengths[X] is the LENGTH in the name %contractN.oX.LENGTH. *out_depth:
// how many loops there are.
static fc_status_t put_loops(contracting_t *all, const fc_contraction_t *found,
                             size_t lengths[FC_OPERANDS], size_t *out_depth) {
  const size_t n = all->count;
  *out_depth = 0;
  for (size_t loop = 0; loop < found->loop_count; loop++) {
    int operand = 0;
    size_t dim = 0;
    if (!is_outer(found, loop)) continue;
    fc_contraction_size(found, loop, &operand, &dim);
    FC_TRY(PRINT(all,
                 "scf.for %%contract%zu.i%zu = %%contract%zu.zero to "
                 "%%contract%zu.m%d#%zu step %%contract%zu.one {\n",
                 n, loop, n, n, operand, 2 + dim, n));
    ++*out_depth;
    for (int i = 0; i < FC_OPERANDS; i++) {
      FC_TRY(PRINT(all,
                   "%%contract%zu.o%d.l%zu = arith.muli %%contract%zu.i%zu, "
                   "%%contract%zu.s%d.%zu : index\n"
                   "%%contract%zu.o%d.%zu = arith.addi %%contract%zu.o%d.%zu, "
                   "%%contract%zu.o%d.l%zu : index\n",
                   n, i, loop, n, loop, n, i, loop, n, i, lengths[i] + 1, n, i,
                   lengths[i], n, i, loop));
      lengths[i]++;
    }
  }
  return FC_OK;
}

// Writes the memref that the kernel gets for operand `i`: the operand's memory from the
// last computed offset on, whose LENGTH is `length`.
static fc_status_t put_memory(contracting_t *all, const fc_contraction_t *found,
                              int i, size_t length) {
  const fc_str_t type = found->kernel.types[i];
  const size_t n = all->count;
  return PRINT(
      all,
      "%%contract%zu.x%d = memref.reinterpret_cast %%contract%zu.m%d#0 "
      "to offset: [%%contract%zu.o%d.%zu], sizes: [%%contract%zu.one], "
      "strides: [1] : memref<%.*s> to memref<?x%.*s, strided<[1], "
      "offset: ?>>\n",
      n, i, n, i, n, i, length, n, FC_STR_ARG(type), FC_STR_ARG(type));
}

static fc_status_t put_size(contracting_t *all, const fc_contraction_t *found,
                            size_t loop) {
  int operand = 0;
  size_t dim = 0;
  if (loop == FC_LOOP_NONE)
    return PRINT(all, ", %%contract%zu.one", all->count);
  fc_contraction_size(found, loop, &operand, &dim);
  return PRINT(all, ", %%contract%zu.m%d#%zu", all->count, operand, 2 + dim);
}

static fc_status_t put_call(contracting_t *all, const fc_contraction_t *found,
                            size_t kernel) {
  const size_t n = all->count;
  // For A, B and C: the two loops of the kernel whose strides the call passes.
  const size_t loops[FC_OPERANDS][2] = {
      {found->m, found->k}, {found->k, found->n}, {found->m, found->n}};
  FC_TRY(PRINT(all, "func.call @" FC_KERNEL_NAME "%zu(", kernel));
  for (int i = 0; i < FC_OPERANDS; i++) {
    FC_TRY(PRINT(all, "%s%%contract%zu.x%d", i ? ", " : "", n, i));
    for (int k = 0; k < 2; k++) {
      if (loops[i][k] == FC_LOOP_NONE) {
        FC_TRY(PRINT(all, ", %%contract%zu.zero", n));
      } else {
        FC_TRY(PRINT(all, ", %%contract%zu.s%d.%zu", n, i, loops[i][k]));
      }
    }
  }
  FC_TRY(put_size(all, found, found->m));
  FC_TRY(put_size(all, found, found->n));
  FC_TRY(put_size(all, found, found->k));
  FC_TRY(put(all, FC_STR(") : (")));
  for (int i = 0; i < FC_OPERANDS; i++) {
    FC_TRY(PRINT(all, "memref<?x%.*s, strided<[1], offset: ?>>, index, index, ",
                 FC_STR_ARG(found->kernel.types[i])));
  }
  return put(all, FC_STR("index, index, index) -> ()\n"));
}

static fc_status_t put_contraction(contracting_t *all,
                                   const fc_contraction_t *found,
                                   size_t kernel) {
  size_t lengths[FC_OPERANDS], depth;
  FC_TRY(PRINT(all,
               "%%contract%zu.zero = arith.constant 0 : index\n"
               "%%contract%zu.one = arith.constant 1 : index\n",
               all->count, all->count));
  for (int i = 0; i < FC_OPERANDS; i++) {
    FC_TRY(put_metadata(all, found, i));
    FC_TRY(put_begin(all, found, i, &lengths[i]));
    for (size_t loop = 0; loop < found->loop_count; loop++) {
      FC_TRY(put_stride(all, found, i, loop));
    }
  }
  FC_TRY(put_loops(all, found, lengths, &depth));
  for (int i = 0; i < FC_OPERANDS; i++) {
    FC_TRY(put_memory(all, found, i, lengths[i]));
  }
  FC_TRY(put_call(all, found, kernel));
  while (depth-- > 0) FC_TRY(put(all, FC_STR("}\n")));
  return FC_OK;
}

// Gives the number of the kernel, and adds the kernel if it is new. False: there are too
// many kernels.
static bool number_kernel(contracting_t *all, const fc_kernel_t *kernel,
                          size_t *out_number) {
  size_t i = 0;
  while (i < all->kernel_count && !fc_kernel_equal(&all->kernels[i], kernel)) {
    i++;
  }
  if (i == KERNELS_MAX) return false;
  if (i == all->kernel_count) all->kernels[all->kernel_count++] = *kernel;
  *out_number = i;
  return true;
}

// Finds the kernels that the module needs, because their code comes before its functions.
// *out_inside: the place for that code, inside the module.
static void survey(contracting_t *all, fc_contraction_t *found,
                   size_t *out_inside) {
  fc_operation_t operation;
  *out_inside = 0;
  for (size_t at = 0, kernel; fc_operation_next(all->text, &at, &operation);) {
    if (!*out_inside && fc_operation_is(&operation, "builtin.module")) {
      *out_inside = at;
    }
    if (fc_contraction_read(all->text, &operation, found)) {
      number_kernel(all, &found->kernel, &kernel);
    }
  }
}

fc_status_t fc_mlir_contract(fc_arena_t *arena, fc_str_t text,
                             size_t vector_size, fc_text_t *out,
                             size_t *out_count, fc_error_t *err) {
  fc_contraction_t *found = fc_arena_alloc_array(arena, 1, sizeof *found);
  contracting_t *all = fc_arena_alloc_array(arena, 1, sizeof *all);
  fc_operation_t operation;
  size_t done, kernel;
  if (!found || !all) return fc_fail_memory(err);
  *all = (contracting_t){.text = text, .sink = &out->sink, .err = err};
  survey(all, found, &done);
  FC_TRY(put(all, fc_lex_part(text, 0, done)));
  for (size_t i = 0; i < all->kernel_count && done; i++) {
    FC_TRY(fc_kernel_put(&all->kernels[i], i, vector_size, out, err));
  }
  for (size_t at = done; done && fc_operation_next(text, &at, &operation);) {
    if (!fc_contraction_read(all->text, &operation, found) ||
        !number_kernel(all, &found->kernel, &kernel)) {
      continue;
    }
    FC_TRY(put(all, fc_lex_part(text, done, operation.begin)));
    FC_TRY(put_contraction(all, found, kernel));
    all->count++;
    at = done = operation.end;
  }
  *out_count = all->count;
  return put(all, fc_lex_part(text, done, text.size));
}
