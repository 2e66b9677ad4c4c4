// SPDX-License-Identifier: Apache-2.0
//
// How a module is to prove itself before it is served, as those who made it say: in
// its sidecar, and in a file of calls beside it. docs/abi.md has both. Called when a
// module is loaded, on that thread; looks at files.
#ifndef FARCALL_CORE_MODULE_PROOF_H_
#define FARCALL_CORE_MODULE_PROOF_H_

#include "module/expect.h"

#define FC_WARM_UP_MAX 1000

typedef struct fc_proof_t {
  fc_expectations_t
      *tests;        // owned; NULL: there are none. Not after the module
  uint32_t warm_up;  // times that the tests, or else the examples, run
  bool rollback_on_crash;
} fc_proof_t;

// `from` is "auto": the list "self_test" of the sidecar, else X.tests.jsonl beside
// the module's file X.so or X.vmfb, if there is one, and the module's examples that have
// results; "off": no tests; else the path of such a file. `warm_up` and
// `rollback_on_crash` are the sidecar's, whatever `from` is.
// FC_CODE_SELF_TEST_FAILED names what cannot be read, and why. `err` is not NULL.
fc_status_t fc_proof_read(const fc_module_t *module, fc_str_t from,
                          fc_allocator_t allocator, fc_proof_t *out_proof,
                          fc_error_t *err) FC_MUST_CHECK;
// The example of each function that can be called and whose example has at most
// FC_PROOF_EXAMPLE_MAX bytes. FC_CODE_OUT_OF_MEMORY.
#define FC_PROOF_EXAMPLE_MAX (64u << 10)
fc_status_t fc_proof_examples(const fc_module_t *module,
                              fc_allocator_t allocator,
                              fc_expectations_t **out_calls,
                              fc_error_t *err) FC_MUST_CHECK;
void fc_proof_deinit(fc_proof_t *proof);  // a zeroed one is allowed

#endif  // FARCALL_CORE_MODULE_PROOF_H_
