// SPDX-License-Identifier: Apache-2.0
//
// Whether the answer for a row depends on other rows, of a function whose rows may be
// batched: random rows are computed alone, then in every bucket and at every place, beside
// other rows, zeros, NaN and large numbers, and compared bit by bit. It is evidence, not
// proof: kernels may depend on data. Called when a module is loaded, where a crash costs
// nothing; on any thread that may use the instance.
#ifndef FARCALL_CORE_MODULE_PROVE_H_
#define FARCALL_CORE_MODULE_PROVE_H_

#include "abi/print.h"
#include "farcall/module.h"

#define FC_VERDICT_SIZE 320  // bytes, its NUL included
#define FC_BATCH_SLOW FC_BATCH_OFF "not tried: its calls are slow"

typedef struct fc_prove_t {
  const fc_function_t *function;
  void *instance;
  fc_frame_t *frame;
  const fc_atomic_word_t *cancel;  // NULL: none
  uint64_t deadline_ns;            // of all calls; 0: none
} fc_prove_t;

// Is there anything to prove, of the function, of any of the module?
bool fc_rows_may_batch(const fc_function_t *function);
bool fc_module_has_rows(const fc_module_t *module);
// The verdict is what FC_BATCH_ATTR says (abi/print.h): "exact", "approximate", or "off: "
// and which row differs where, or what cannot be computed. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_rows_prove(const fc_prove_t *prove,
                          char out_verdict[FC_VERDICT_SIZE],
                          fc_error_t *err) FC_MUST_CHECK;
// Has the call on `frame`, made together with others, the results that it has alone
// (`alone`, fc_frame_results of that call)? Within the tolerance of the function. True also
// when there is no memory to compare.
bool fc_rows_agree(const fc_function_t *function, fc_frame_t *frame,
                   const fc_value_t *alone);
// Writes the verdict into the function's signature. Calls of the function are batched from
// then on if the verdict is "exact" or "approximate"; any other text turns batching off. A
// text that is no UTF-8 or too long becomes "off: its proof cannot be read". Call it before
// other threads have the module. FC_CODE_OUT_OF_MEMORY: the verdict, or the digest, is what
// it was.
fc_status_t fc_module_settle(fc_module_t *module, size_t function,
                             fc_str_t verdict, fc_error_t *err) FC_MUST_CHECK;
// As fc_module_get_digest, which no verdict changes, but of the verdicts too: for documents
// that show them.
fc_str_t fc_module_settled_digest(const fc_module_t *module);
// How far rows may differ.
struct fc_sized_t;
const struct fc_sized_t *fc_module_sized(const fc_function_t *function);

#endif  // FARCALL_CORE_MODULE_PROVE_H_
