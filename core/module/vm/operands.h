// SPDX-License-Identifier: Apache-2.0
//
// Access to the operands of an instruction, by its row of ops.def: operand N is the N-th
// letter of the row, counted from 0. The place of an operand is computed
// at compile time. Reading an operand as another type than its row says does not
// compile. Included only by interp.c. It uses the locals `ip`, which points after the
// opcode, `cells`, `refs` and `module`.
#ifndef FARCALL_CORE_MODULE_VM_OPERANDS_H_
#define FARCALL_CORE_MODULE_VM_OPERANDS_H_

#include "module/vm/ops.h"

// True when `letter` is one of the others.
#define IS(letter, a, b, c, d, e, f, g, h)                                     \
  ((letter) == (a) || (letter) == (b) || (letter) == (c) || (letter) == (d) || \
   (letter) == (e) || (letter) == (f) || (letter) == (g) || (letter) == (h))
#define IS_CELL(letter) IS(letter, 'i', 'l', 'f', 'd', 'I', 'L', 'F', 'D')
#define IS_REF(letter) IS(letter, 'r', 'R', 'm', 'M', 0, 0, 0, 0)
#define IS_WORD(letter) IS(letter, 'g', 'k', 't', 'c', 'p', 'b', 'a', 'e')
// The place of an operand after one of unknown size: it is found only at run time.
#define NO_PLACE 1000
#define SIZE(letter)                        \
  ((letter) == 0                        ? 0 \
   : IS_CELL(letter) || IS_REF(letter)  ? 2 \
   : (letter) == 'n'                    ? 2 \
   : IS_WORD(letter)                    ? 4 \
   : (letter) == 'A' || (letter) == 'E' ? 8 \
                                        : NO_PLACE)

// For each opcode, the letters of its row and the number of bytes before each operand.
#define FIELDS(...) __VA_ARGS__
#define ROW(name, a, b, c, d, e, f, ...)                               \
  KIND_##name##_0 = (a), KIND_##name##_1 = (b), KIND_##name##_2 = (c), \
  KIND_##name##_3 = (d), KIND_##name##_4 = (e), KIND_##name##_5 = (f), \
  AT_##name##_0 = 0, AT_##name##_1 = AT_##name##_0 + SIZE(a),          \
  AT_##name##_2 = AT_##name##_1 + SIZE(b),                             \
  AT_##name##_3 = AT_##name##_2 + SIZE(c),                             \
  AT_##name##_4 = AT_##name##_3 + SIZE(d),                             \
  AT_##name##_5 = AT_##name##_4 + SIZE(e),                             \
  AT_##name##_6 = AT_##name##_5 + SIZE(f)
#define PADDED(...) ROW(__VA_ARGS__)
enum {
#define FC_VM_OP(set, opcode, name, mnemonic, fields, ...) \
  PADDED(name, fields, 0, 0, 0, 0, 0, 0),
#include "module/vm/ops.def"
#undef FC_VM_OP
};

// Begins the block of an opcode: the code after it reads the operands of this row.
#define OPERANDS(name)       \
  enum {                     \
    kind0 = KIND_##name##_0, \
    kind1 = KIND_##name##_1, \
    kind2 = KIND_##name##_2, \
    kind3 = KIND_##name##_3, \
    kind4 = KIND_##name##_4, \
    kind5 = KIND_##name##_5, \
    at0 = AT_##name##_0,     \
    at1 = AT_##name##_1,     \
    at2 = AT_##name##_2,     \
    at3 = AT_##name##_3,     \
    at4 = AT_##name##_4,     \
    at5 = AT_##name##_5,     \
    END = AT_##name##_6      \
  }

// The place of operand N. Compiles only if `condition`, a test of its letter, is true and
// the place is known (NO_PLACE).
#define PLACE(n, condition) \
  (ip + at##n + 0 * sizeof(char[(condition) && at##n < NO_PLACE ? 1 : -1]))

// A register number as it stands in the code, with its REF and MOVE bits.
#define REG(n) fc_load_u16(PLACE(n, IS_CELL(kind##n) || IS_REF(kind##n)))
#define REF(n) refs[fc_load_u16(PLACE(n, IS_REF(kind##n))) & FC_VM_REF_MASK]
#define CELL(n) (&cells[fc_load_u16(PLACE(n, IS_CELL(kind##n)))])
// Operand N as: a 32-bit ordinal or immediate, a 64-bit immediate, a type, a 16-bit
// count.
#define WORD(n) fc_load_u32(PLACE(n, IS_WORD(kind##n)))
#define LONG(n) fc_load_u64(PLACE(n, kind##n == 'A' || kind##n == 'E'))
#define TYPE(n) module->types[fc_load_u32(PLACE(n, kind##n == 't'))].type
#define COUNT(n) fc_load_u16(PLACE(n, kind##n == 'n' || kind##n == 's'))
// The bytes after the count of a string.
#define BYTES(n) (PLACE(n, kind##n == 's') + 2)
// The edge of a branch: its target, then a list of copies.
#define EDGE(n) PLACE(n, kind##n == 'b')
// The list at `at`, rounded up to an even address: a count, then entries. Code
// starts at an even address, so an even offset is an even address.
#define LIST(at) ((const uint8_t *)(((uintptr_t)(at) + 1) & ~(uintptr_t)1))
#define LIST_OF(n) LIST(PLACE(n, IS(kind##n, '*', 'S', 'B', '#', 'T', 0, 0, 0)))
// The size in bytes of the value in a register.
#define WIDTH(n) (IS(kind##n, 'l', 'L', 'd', 'D', 0, 0, 0, 0) ? 8 : 4)

static inline int64_t load_wide(const int32_t *cells) {
  int64_t value;
  memcpy(&value, cells, sizeof value);
  return value;
}
static inline void store_wide(int32_t *cells, int64_t value) {
  memcpy(cells, &value, sizeof value);
}
static inline float load_f32(const int32_t *cell) {
  float value;
  memcpy(&value, cell, sizeof value);
  return value;
}
static inline double load_f64(const int32_t *cell) {
  double value;
  memcpy(&value, cell, sizeof value);
  return value;
}
static inline void store_f32(int32_t *cell, float value) {
  memcpy(cell, &value, sizeof value);
}
static inline void store_f64(int32_t *cell, double value) {
  memcpy(cell, &value, sizeof value);
}

#define CHOOSE __builtin_choose_expr
// The value of operand N, of the type that its letter names.
#define IN(n)                                             \
  CHOOSE(kind##n == 'i', *CELL(n),                        \
         CHOOSE(kind##n == 'l', load_wide(CELL(n)),       \
                CHOOSE(kind##n == 'f', load_f32(CELL(n)), \
                       CHOOSE(kind##n == 'd', load_f64(CELL(n)), (void)0))))
#define U32(n) ((uint32_t)IN(n))
// Writes a value to operand N, converted to the type that its letter names.
#define PUT(n, value)                                                          \
  CHOOSE(                                                                      \
      kind##n == 'I', (void)(*CELL(n) = (int32_t)(value)),                     \
      CHOOSE(                                                                  \
          kind##n == 'L', store_wide(CELL(n), (int64_t)(value)),               \
          CHOOSE(                                                              \
              kind##n == 'F', store_f32(CELL(n), (float)(value)),              \
              store_f64(                                                       \
                  CELL(n) +                                                    \
                      0 * sizeof(char[kind##n == 'D' || kind##n == 'I' ||      \
                                              kind##n == 'L' || kind##n == 'F' \
                                          ? 1                                  \
                                          : -1]),                              \
                  (double)(value)))))

#endif  // FARCALL_CORE_MODULE_VM_OPERANDS_H_
