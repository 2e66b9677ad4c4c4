// SPDX-License-Identifier: Apache-2.0
//
// Calls that show what a module does, by name: the list "examples" of its sidecar
// (docs/abi.md). They are read and checked against the signatures when the module is
// loaded, and stay as long as the module. Any thread.
#ifndef FARCALL_CORE_MODULE_EXAMPLES_H_
#define FARCALL_CORE_MODULE_EXAMPLES_H_

#include "module/expect.h"

#define FC_EXAMPLES_MAX 64       // of one module
#define FC_EXAMPLE_NAME_MAX 128  // bytes

// Reads the list in the text of the sidecar of a module that has these functions;
// *out_examples is NULL if there is no list. FC_CODE_ABI_METADATA says which example
// does not fit, and at which place.
fc_status_t fc_examples_read(const fc_function_t *functions, size_t count,
                             fc_str_t sidecar, fc_allocator_t allocator,
                             fc_expectations_t **out_examples,
                             fc_error_t *err) FC_MUST_CHECK;
// Returns the example of a function that follows `after`, or the first if `after` is
// NULL. NULL: there is none. `examples` may be NULL.
const fc_expected_call_t *fc_examples_next(const fc_expectations_t *examples,
                                           fc_str_t function,
                                           const fc_expected_call_t *after);
// Writes the names of a function's examples as a list. The function must have an example.
fc_status_t fc_examples_put_names(const fc_expectations_t *examples,
                                  fc_str_t function, fc_sink_t *sink,
                                  fc_error_t *err) FC_MUST_CHECK;

// All examples of a module, or NULL.
const fc_expectations_t *fc_module_examples(const fc_module_t *module);
// Does the same as fc_examples_next for the function's module.
const fc_expected_call_t *fc_example_next(const fc_function_t *function,
                                          const fc_expected_call_t *after);

// Writes a call that the function accepts: its example `name`. With "" as `name`, writes
// its first example or, if it has none, the call that fc_signature_print_example
// writes. FC_CODE_UNKNOWN_FIELD when there is no example of this name,
// FC_CODE_RESULT_TOO_LARGE above `most` bytes.
fc_status_t fc_example_print(const fc_function_t *function, fc_str_t name,
                             size_t most, fc_sink_t *sink,
                             fc_error_t *err) FC_MUST_CHECK;
// Does the same as fc_signature_print_json, and adds a member "examples" with the
// names, if the function has examples.
fc_status_t fc_function_print_json(const fc_function_t *function,
                                   fc_sink_t *sink,
                                   fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_EXAMPLES_H_
