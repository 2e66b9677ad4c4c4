// SPDX-License-Identifier: Apache-2.0
//
// Finds what registers hold on all paths to an instruction. From these facts, types are
// inferred (recover.h) and operands of imports' calls are known. Used at load,
// any thread.
#ifndef FARCALL_CORE_MODULE_VM_FACTS_H_
#define FARCALL_CORE_MODULE_VM_FACTS_H_

#include "module/vm/ops.h"
#include "module/vm/vmfb.h"

typedef struct fc_vm_facts_t fc_vm_facts_t;
typedef void (*fc_vm_each_call_t)(void *context, const fc_vm_import_t *import,
                                  const fc_vm_instruction_t *call,
                                  fc_vm_facts_t *facts);

// Calls `each` for the calls of imports in the blocks that some path reaches.
// If *budget is 0 afterwards, some of these calls may have been left out.
fc_status_t fc_vm_each_call(const fc_vm_module_t *module, uint32_t function,
                            size_t *budget, fc_arena_t *arena,
                            fc_vm_each_call_t each, void *context,
                            fc_error_t *err) FC_MUST_CHECK;
// True when operand `index` of `call` is the same constant on all paths to it;
// *out is its low 32 bits.
bool fc_vm_operand_constant(fc_vm_facts_t *facts,
                            const fc_vm_instruction_t *call, uint32_t index,
                            uint32_t *out);
// Returns the import that made operand `index` of `call`, on all paths to the call. NULL
// when the operand may come from elsewhere.
const fc_vm_import_t *fc_vm_operand_maker(fc_vm_facts_t *facts,
                                          const fc_vm_instruction_t *call,
                                          uint32_t index);

// ---------------------------------------------------------------------------
// Shared with recover.c

// Imports of hal and hal_inline whose calls tell types. An import counts only if it has
// this name and this convention. The verifier checked operands against the convention
// that the file declares, so with another convention they would have another meaning.
#define VIEW_ASSERT FC_STR("buffer_view.assert"), FC_STR("0rriiCID_v")
#define VIEW_CREATE FC_STR("buffer_view.create"), FC_STR("0rIIiiCID_r")
#define VIEW_DIM FC_STR("buffer_view.dim"), FC_STR("0ri_I")
#define VIEW_BUFFER FC_STR("buffer_view.buffer"), FC_STR("0r_r")
#define BUFFER_ASSERT FC_STR("buffer.assert"), FC_STR("0rrrIii_v")
#define BUFFER_SUBSPAN FC_STR("buffer.subspan"), FC_STR("0rII_r")
bool fc_vm_is_view_call(const fc_vm_import_t *import, fc_str_t name,
                        fc_str_t cconv);

typedef enum fc_vm_fact_kind_t {
  FACT_NOTHING,   // no path came here yet
  FACT_CONSTANT,  // a cell: `a` has its bits
  FACT_DIM,       // a cell: dim `b` of argument `a`
  FACT_EQUAL,     // a cell: whether two dims are equal (compare_dims)
  FACT_DIFFER,    // a cell: whether two dims differ
  FACT_ARGUMENT,  // a ref: argument `a`
  FACT_BUFFER,    // a ref: the buffer of argument `a`, or a part of it
  FACT_VIEW,      // a ref: made by hal.buffer_view.create at pc `a`
  FACT_CALL,      // a ref: result `b` of the call at pc `a`
  FACT_IMPORT,    // a ref: a result of a call of import `a`
  FACT_ANYTHING,
} fc_vm_fact_kind_t;

typedef struct fc_vm_fact_t {
  uint8_t kind;
  uint16_t b;
  uint32_t a;
} fc_vm_fact_t;

static const fc_vm_fact_t fc_vm_anything = {.kind = FACT_ANYTHING};

// Whether every call that returns passes a block.
typedef enum fc_vm_passed_t {
  PASSED_UNKNOWN,
  PASSED_ALWAYS,
  PASSED_SOMETIMES,
} fc_vm_passed_t;

// The analysis of one function, at one place in its code.
struct fc_vm_facts_t {
  const fc_vm_module_t *module;
  const fc_vm_function_t *function;
  fc_arena_t *arena;
  struct fc_vm_recovered_t *out;  // used by recover.c
  uint32_t depth;
  uint32_t block_count;
  uint32_t block;         // the block that is being walked
  uint32_t *blocks;       // pc of each marker, ascending
  uint32_t *ends;         // pc of each block's last instruction
  uint32_t *queue;        // blocks that a search must still look at
  uint8_t *passed;        // fc_vm_passed_t of each block
  bool *waiting;          // blocks to walk again; blocks that a search has seen
  fc_vm_fact_t *entries;  // at the start of each block: cells, then refs
  fc_vm_fact_t *now;      // facts at the current place in a block
  fc_vm_fact_t *spare;    // used instead of `now` for a while
  size_t width;           // facts of one block
  size_t *budget;         // fc_vm_facts_spend subtracts from it
  bool *returns_seen;     // by result: true if a return of it was seen
  // By argument: the number of asserts of its buffer minus the number of those
  // of its view.
  int32_t *asserts;
  fc_vm_each_call_t each;
  void *context;  // passed to `each`
};

static inline fc_vm_fact_t *fc_vm_facts_cell(fc_vm_facts_t *a, uint32_t reg) {
  return &a->now[reg];
}
static inline fc_vm_fact_t *fc_vm_facts_ref(fc_vm_facts_t *a, uint32_t reg) {
  return &a->now[a->function->cell_count + (reg & FC_VM_REF_MASK)];
}
static inline fc_vm_fact_t *fc_vm_facts_register(fc_vm_facts_t *a,
                                                 uint32_t reg) {
  return reg & FC_VM_REF_BIT ? fc_vm_facts_ref(a, reg)
                             : fc_vm_facts_cell(a, reg);
}

// Finds the facts of all blocks. *out_learnt is false when the function is too large or
// the budget is spent.
fc_status_t fc_vm_facts_learn(fc_vm_facts_t *a, bool *out_learnt,
                              fc_error_t *err) FC_MUST_CHECK;
// Calls `look` for every instruction that some path reaches, with the facts
// before it.
typedef fc_status_t (*fc_vm_look_t)(fc_vm_facts_t *a,
                                    const fc_vm_instruction_t *in,
                                    fc_error_t *err);
fc_status_t fc_vm_facts_look(fc_vm_facts_t *a, fc_vm_look_t look,
                             fc_error_t *err) FC_MUST_CHECK;

// Subtracts `count` from the budget, for all work that a file can make us repeat:
// instructions, the facts of blocks, entries of lists. At 0 the analysis stops.
#define FC_VM_BYTES_AT_ONCE 64  // bytes that cost as much as one instruction
void fc_vm_facts_spend(fc_vm_facts_t *a, size_t count);
fc_status_t fc_vm_facts_decode(fc_vm_facts_t *a, uint32_t pc,
                               fc_vm_instruction_t *out,
                               fc_error_t *err) FC_MUST_CHECK;
// Updates the facts `now` for what the instruction does to the registers.
void fc_vm_facts_step(fc_vm_facts_t *a, const fc_vm_instruction_t *in);
// Returns the index of the block that contains `pc`.
uint32_t fc_vm_facts_block(const fc_vm_facts_t *a, uint32_t pc);
// Sets `now` to the facts at the start of block `index`; returns the pc after its marker.
uint32_t fc_vm_facts_enter(fc_vm_facts_t *a, uint32_t index);

// Returns the import that a call instruction calls; NULL if it calls a function of the
// module.
const fc_vm_import_t *fc_vm_facts_import(const fc_vm_facts_t *a,
                                         const fc_vm_instruction_t *in);
// Returns the fact about operand `index` of a call. FACT_NOTHING if the operand is not a
// reference.
fc_vm_fact_t fc_vm_facts_operand(fc_vm_facts_t *a,
                                 const fc_vm_instruction_t *in, uint32_t index);
// Returns the dim in a 64-bit register, if both of its cells hold that dim; otherwise
// fc_vm_anything.
fc_vm_fact_t fc_vm_facts_dim(fc_vm_facts_t *a, uint32_t reg);
// True when a cell holds a constant; *out becomes the constant.
bool fc_vm_facts_constant(fc_vm_facts_t *a, uint32_t reg, uint32_t *out);

#endif  // FARCALL_CORE_MODULE_VM_FACTS_H_
