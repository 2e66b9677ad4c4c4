// SPDX-License-Identifier: Apache-2.0
//
// The tests that a module must pass before it is served. The module's authors list them
// in its sidecar, or in a file of calls beside the module; docs/abi.md describes both.
// Called when a module is loaded, on that thread; reads files.
#ifndef FARCALL_CORE_MODULE_PROOF_H_
#define FARCALL_CORE_MODULE_PROOF_H_

#include "module/expect.h"

#define FC_WARM_UP_MAX 1000

typedef struct fc_proof_t {
  fc_expectations_t *tests;  // owned; destroyed before the module; NULL: none
  uint32_t warm_up;  // how often the tests, or else the examples, are run
  bool rollback_on_crash;
} fc_proof_t;

// Reads a module's tests. `from` is "auto", "off" or the path of a file of calls. "auto":
// the list "self_test" of the sidecar, else X.tests.jsonl beside the module's file X.so
// or X.vmfb, if there is one; and the module's examples that have results. "off": no
// tests. `warm_up` and `rollback_on_crash` always come from the sidecar.
// FC_CODE_SELF_TEST_FAILED names what cannot be read, and why. `err` is not NULL.
fc_status_t fc_proof_read(const fc_module_t *module, fc_str_t from,
                          fc_allocator_t allocator, fc_proof_t *out_proof,
                          fc_error_t *err) FC_MUST_CHECK;
// Makes a call for each callable function from its example. Examples of more than
// FC_PROOF_EXAMPLE_MAX bytes are left out. FC_CODE_OUT_OF_MEMORY.
#define FC_PROOF_EXAMPLE_MAX (64u << 10)
fc_status_t fc_proof_examples(const fc_module_t *module,
                              fc_allocator_t allocator,
                              fc_expectations_t **out_calls,
                              fc_error_t *err) FC_MUST_CHECK;
void fc_proof_deinit(fc_proof_t *proof);  // a zeroed one is allowed

#endif  // FARCALL_CORE_MODULE_PROOF_H_
