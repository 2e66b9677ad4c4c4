// SPDX-License-Identifier: Apache-2.0
//
// Tests whether the answer for a row depends on other rows, for a function whose rows
// may be batched. Random rows are computed alone, then in every bucket and at every
// place, beside other rows, zeros, NaN and large numbers, and the results are compared
// bit by bit. They are evidence, not proof: what kernels compute may depend on data.
// Called when a module is loaded, where a crash costs nothing; on any thread that may use
// the instance.
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
  // The processor time that is left for proofs, of all threads of the process. It is
  // looked at between calls, and what the proof took is subtracted. NULL: no limit.
  uint64_t *left_ns;
} fc_prove_t;

// True when there is something to prove for the function, or for any function
// of the module.
bool fc_rows_may_batch(const fc_function_t *function);
bool fc_module_has_rows(const fc_module_t *module);
// Makes the verdict for FC_BATCH_ATTR (abi/print.h): "exact" or "approximate"; or "off: "
// with the place where a row differs, or with what cannot be computed.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_rows_prove(const fc_prove_t *prove,
                          char out_verdict[FC_VERDICT_SIZE],
                          fc_error_t *err) FC_MUST_CHECK;
// Compares a call that was made together with other calls, on `frame`, with the same call
// made alone, whose results (fc_frame_results) are `alone`. True when they agree within
// the function's tolerance, or when there is no memory for the comparison.
bool fc_rows_agree(const fc_function_t *function, fc_frame_t *frame,
                   const fc_value_t *alone);
// Writes the verdict into the function's signature. From then on calls of the function
// are batched if the verdict is "exact" or "approximate"; any other text turns batching
// off. A text that is not UTF-8, or is too long, becomes "off: its proof cannot be
// read". Call it before other threads have the module. FC_CODE_OUT_OF_MEMORY: the
// verdict, or the digest, is unchanged.
fc_status_t fc_module_settle(fc_module_t *module, size_t function,
                             fc_str_t verdict, fc_error_t *err) FC_MUST_CHECK;
// Does the same as fc_module_get_digest, but the digest also covers the verdicts: use it
// for documents that show them. No verdict changes fc_module_get_digest.
fc_str_t fc_module_settled_digest(const fc_module_t *module);
// The function with the tolerance of its rows (abi/sizes.h).
struct fc_sized_t;
const struct fc_sized_t *fc_module_sized(const fc_function_t *function);

#endif  // FARCALL_CORE_MODULE_PROVE_H_
