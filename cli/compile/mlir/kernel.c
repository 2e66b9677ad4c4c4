// SPDX-License-Identifier: Apache-2.0
//
// Fills in the placeholders ($x) of tools/contract.mlir. On x86, integers of 8 and 16
// bits are multiplied in pairs: two of them are packed into a word of 32 bits, and
// pmaddwd adds both products. (LLVM uses vpdpwssd if the processor has it.)
#include "compile/mlir/kernel.h"

#include <stdio.h>

#include "compile/script.h"

// The depth of texts inside texts: the template, its rows, lines for a kind of numbers,
// and their placeholders.
#define DEPTH_MAX 6

#if defined(__x86_64__)
#define HAS_PAIRS true
#else
#define HAS_PAIRS false
#endif

// What the placeholders stand for.
typedef struct words_t {
  const fc_kernel_t *kernel;
  size_t number;
  size_t lanes;  // of a vector
  size_t rows;   // of a tile
  bool pairs;
  bool is_float;
} words_t;

typedef struct element_t {
  const char *name;
  size_t size;
  bool is_float;
  bool is_result;  // may be the type of C
} element_t;

static const element_t kElements[] = {
    {"f16", 2, true, false}, {"bf16", 2, true, false}, {"f32", 4, true, true},
    {"f64", 8, true, true},  {"i8", 1, false, false},  {"i16", 2, false, false},
    {"i32", 4, false, true}, {"i64", 8, false, true},
};

static const element_t *find_element(fc_str_t name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kElements); i++) {
    if (fc_str_equal(name, fc_str(kElements[i].name))) return &kElements[i];
  }
  return NULL;
}

bool fc_kernel_is_known(const fc_kernel_t *kernel) {
  const element_t *result = find_element(kernel->types[2]);
  if (!result || !result->is_result) return false;
  for (int i = 0; i < 2; i++) {
    const element_t *element = find_element(kernel->types[i]);
    if (!element || element->is_float != result->is_float) return false;
    const bool same = kernel->widen[i] == FC_WIDEN_NONE;
    if (same ? element != result : element->size >= result->size) return false;
  }
  return true;
}

bool fc_kernel_equal(const fc_kernel_t *a, const fc_kernel_t *b) {
  for (int i = 0; i < 3; i++) {
    if (!fc_str_equal(a->types[i], b->types[i])) return false;
  }
  return a->widen[0] == b->widen[0] && a->widen[1] == b->widen[1];
}

// Do two elements of each operand, with their signs, fit into a word of 32 bits?
static bool makes_pairs(const fc_kernel_t *kernel) {
  if (!HAS_PAIRS || !fc_str_equal(kernel->types[2], FC_STR("i32")))
    return false;
  for (int i = 0; i < 2; i++) {
    const size_t size = find_element(kernel->types[i])->size;
    const bool is_signed = kernel->widen[i] == FC_WIDEN_SIGNED;
    if (size > 2 || (size == 2 && !is_signed)) return false;
  }
  return true;
}

// A tile has two vectors in each row. With a row of B and one element of A they just fit
// into the vector registers. There are 16, or 32 for vectors of 64 bytes and on other
// processors.
static size_t rows_of(size_t vector_size) {
#if defined(__x86_64__)
  return vector_size == 64 ? 12 : 6;
#else
  (void)vector_size;
  return 8;
#endif
}

static const char kAttributes[] =
    "\n    attributes {llvm.linkage = #llvm.linkage<internal>, passthrough = "
    "[\"alwaysinline\", [\"probe-stack\", \"inline-asm\"]]} {";

static const char kWidened[] = "  %w = $w %e : $i to $T\n  return %w : $T";
static const char kSame[] = "  return %e : $T";

static const char kPair[] =
    "  %c0 = arith.constant 0 : index\n"
    "  %c1 = arith.constant 1 : index\n"
    "  %none = arith.constant 0 : i32\n"
    "  %bits = arith.constant 16 : i32\n"
    "  %mask = arith.constant 65535 : i32\n"
    "  %both = arith.cmpi ugt, %left, %c1 : index\n"
    "  %on = arith.select %both, %step, %c0 : index\n"
    "  %next = arith.addi %at, %on : index\n"
    "  %f = func.call @$N.one_$o(%x, %next) : ($f, index) -> i32\n"
    "  %second = arith.select %both, %f, %none : i32\n"
    "  %low = arith.andi %e, %mask : i32\n"
    "  %high = arith.shli %second, %bits : i32\n"
    "  %w = arith.ori %low, %high : i32\n"
    "  return %w : i32";

// How %X and %Y are computed from %w (an element of A in all lanes) and from %u and %v
// (vectors of B).
static const char kFloats[] =
    "  %X$r = vector.fma %w$r, %u, %x$r : vector<$Wx$P>\n"
    "  %Y$r = vector.fma %w$r, %v, %y$r : vector<$Wx$P>\n";
static const char kIntegers[] =
    "  %wu$r = arith.muli %w$r, %u : vector<$Wx$P>\n"
    "  %wv$r = arith.muli %w$r, %v : vector<$Wx$P>\n"
    "  %X$r = arith.addi %x$r, %wu$r : vector<$Wx$P>\n"
    "  %Y$r = arith.addi %y$r, %wv$r : vector<$Wx$P>\n";
static const char kPairs[] =
    "  %pw$r = vector.bitcast %w$r : vector<$Wxi32> to vector<$Cxi16>\n"
    "  %pu$r = vector.bitcast %u : vector<$Wxi32> to vector<$Cxi16>\n"
    "  %pv$r = vector.bitcast %v : vector<$Wxi32> to vector<$Cxi16>\n"
    "  %wu$r = llvm.call_intrinsic \"llvm.x86.$p\"(%pw$r, %pu$r) : "
    "(vector<$Cxi16>, vector<$Cxi16>) -> vector<$Wxi32>\n"
    "  %wv$r = llvm.call_intrinsic \"llvm.x86.$p\"(%pw$r, %pv$r) : "
    "(vector<$Cxi16>, vector<$Cxi16>) -> vector<$Wxi32>\n"
    "  %X$r = arith.addi %x$r, %wu$r : vector<$Wxi32>\n"
    "  %Y$r = arith.addi %y$r, %wv$r : vector<$Wxi32>\n";

static fc_status_t put(fc_text_t *out, const char *text, fc_error_t *err) {
  return fc_sink_put(&out->sink, fc_str(text), err);
}

static fc_status_t put_number(fc_text_t *out, size_t number, fc_error_t *err) {
  char text[24];
  snprintf(text, sizeof text, "%zu", number);
  return put(out, text, err);
}

// Writes the type of the memory of an operand or the result.
static fc_status_t put_memory(fc_text_t *out, fc_str_t type, fc_error_t *err) {
  FC_TRY(put(out, "memref<?x", err));
  FC_TRY(fc_sink_put(&out->sink, type, err));
  return put(out, ", strided<[1], offset: ?>>", err);
}

static const char *widening(fc_widen_t widen) {
  static const char *const kNames[] = {[FC_WIDEN_NONE] = "",
                                       [FC_WIDEN_FLOAT] = "arith.extf",
                                       [FC_WIDEN_SIGNED] = "arith.extsi",
                                       [FC_WIDEN_UNSIGNED] = "arith.extui"};
  return kNames[widen];
}

static const char *multiplication(size_t lanes) {
  return lanes == 16  ? "avx512.pmaddw.d.512"
         : lanes == 8 ? "avx2.pmadd.wd"
                      : "sse2.pmadd.wd";
}

// Returns the number that $word stands for; 0: it does not stand for a number.
static size_t number_of(char word, const words_t *words, size_t row) {
  const size_t elements = words->pairs ? 2 : 1;
  switch (word) {
    case 'W':  // lanes of a vector
      return words->lanes;
    case 'C':  // columns of a tile
      return 2 * words->lanes;
    case 'R':  // rows of a tile
      return words->rows;
    case 'D':  // vectors of a tile
      return 2 * words->rows;
    case 'E':  // elements of a tile
      return 2 * words->rows * words->lanes;
    case 'U':  // elements in a word of 32 bits
      return elements;
    case 'K':  // elements of a block along k
      return 256 * elements;
    case 'L':  // the logarithm of the size of an element of C
      return find_element(words->kernel->types[2])->size == 8 ? 3 : 2;
    case 'q':  // the row's second vector
      return words->rows + row;
    default:
      return 0;
  }
}

// Returns the text that $word stands for; NULL: it does not stand for a text. Some texts
// contain placeholders.
static const char *text_of(char word, const words_t *words, int operand) {
  const fc_widen_t *widen = words->kernel->widen;
  switch (word) {
    case 'Q':
      return kAttributes;
    case 'Z':  // after a 0
      return words->is_float ? ".0" : "";
    case 'H':  // for a sum whose order does not matter
      return words->is_float ? "fastmath<reassoc, contract>" : "";
    case '+':
      return words->is_float ? "arith.addf" : "arith.addi";
    case '*':
      return words->is_float ? "arith.mulf" : "arith.muli";
    case 'A':
    case 'B':
      return widen[word - 'A'] == FC_WIDEN_NONE ? kSame : kWidened;
    case 'X':
    case 'Y':
      return words->pairs ? kPair : kSame;
    case 'M':
      return words->pairs ? kPairs : words->is_float ? kFloats : kIntegers;
    case 'o':
      return operand ? "b" : "a";
    case 'w':
      return widening(widen[operand]);
    case 'p':
      return multiplication(words->lanes);
    default:
      return NULL;
  }
}

// A text that is being written, once for each row from `row` to `last`. form[at] is next.
typedef struct frame_t {
  fc_str_t form;
  size_t at;
  size_t row, last;
  bool commas;  // between rows
  int operand;  // the operand of $i and $f
} frame_t;

// Writes what a placeholder stands for, unless that is a text (text_of).
static fc_status_t put_word(fc_text_t *out, char word, const words_t *words,
                            const frame_t *frame, fc_error_t *err) {
  const fc_str_t *types = words->kernel->types;
  switch (word) {
    case 'N':
      FC_TRY(put(out, FC_KERNEL_NAME, err));
      return put_number(out, words->number, err);
    case 'I':
    case 'J':
      return fc_sink_put(&out->sink, types[word - 'I'], err);
    case 'F':
    case 'G':
      return put_memory(out, types[word - 'F'], err);
    case 'i':
      return fc_sink_put(&out->sink, types[frame->operand], err);
    case 'f':
      return put_memory(out, types[frame->operand], err);
    case 'O':
      return put_memory(out, types[2], err);
    case 'T':
    case 'P':
      return fc_sink_put(&out->sink, types[2], err);
    case 'r':
      return put_number(out, frame->row, err);
    default:
      return put_number(out, number_of(word, words, frame->row), err);
  }
}

// Returns the text between ${ and $}, or $[ and $], to be written for all rows. frame->at
// is after the opening mark, and moves past the closing mark.
static frame_t cut_rows(frame_t *frame, const words_t *words) {
  const fc_str_t form = frame->form;
  const bool commas = form.data[frame->at - 1] == '[';
  const char *begin = form.data + frame->at;
  const char *close =
      memmem(begin, form.size - frame->at, commas ? "$]" : "$}", 2);
  FC_ASSERT(close);
  const size_t size = (size_t)(close - begin);
  frame->at += size + 2;
  return (frame_t){.form = fc_str_make(begin, size),
                   .last = words->rows - 1,
                   .commas = commas};
}

// Writes the form up to the next dollar, and what the placeholder there stands for. If
// that is a text, it becomes *out_inner instead.
static fc_status_t advance(fc_text_t *out, frame_t *frame, const words_t *words,
                           frame_t *out_inner, fc_error_t *err) {
  const fc_str_t rest =
      fc_str_make(frame->form.data + frame->at, frame->form.size - frame->at);
  const char *dollar = memchr(rest.data, '$', rest.size);
  const size_t size = dollar ? (size_t)(dollar - rest.data) : rest.size;
  FC_TRY(fc_sink_put(&out->sink, fc_str_make(rest.data, size), err));
  frame->at += size;
  if (!dollar) return FC_OK;
  const char word = dollar[1];
  frame->at += 2;
  if (word == '{' || word == '[') {
    *out_inner = cut_rows(frame, words);
    return FC_OK;
  }
  const int operand = word == 'B' || word == 'Y' ? 1 : frame->operand;
  const char *text = text_of(word, words, operand);
  if (!text) return put_word(out, word, words, frame, err);
  *out_inner = (frame_t){.form = fc_str(text),
                         .row = frame->row,
                         .last = frame->row,
                         .operand = operand};
  return FC_OK;
}

static fc_status_t put_template(fc_text_t *out, fc_str_t form,
                                const words_t *words, fc_error_t *err) {
  frame_t frames[DEPTH_MAX] = {{.form = form}};
  for (size_t depth = 1; depth > 0;) {
    frame_t *frame = &frames[depth - 1];
    if (frame->at < frame->form.size) {
      FC_ASSERT(depth < DEPTH_MAX);
      frame_t inner = {0};
      FC_TRY(advance(out, frame, words, &inner, err));
      if (inner.form.size) frames[depth++] = inner;
    } else if (frame->row < frame->last) {
      frame->row++;
      frame->at = 0;
      if (frame->commas) FC_TRY(put(out, ", ", err));
    } else {
      depth--;
    }
  }
  return FC_OK;
}

// Returns the template without the comment at its beginning.
static fc_str_t below_comment(fc_str_t form) {
  const char *begin = memmem(form.data, form.size, "\n\n", 2);
  FC_ASSERT(begin);
  return fc_str_make(begin, form.size - (size_t)(begin - form.data));
}

fc_status_t fc_kernel_put(const fc_kernel_t *kernel, size_t number,
                          size_t vector_size, fc_text_t *out, fc_error_t *err) {
  const element_t *result = find_element(kernel->types[2]);
  const words_t words = {.kernel = kernel,
                         .number = number,
                         .lanes = vector_size / result->size,
                         .rows = rows_of(vector_size),
                         .pairs = makes_pairs(kernel),
                         .is_float = result->is_float};
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), FC_SCRIPT_LIMIT);
  fc_status_t status = fc_script_text("contract.mlir", &text, err);
  if (status == FC_OK)
    status = put_template(out, below_comment(fc_text_str(&text)), &words, err);
  fc_text_deinit(&text);
  return status;
}
