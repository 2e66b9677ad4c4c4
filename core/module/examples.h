// SPDX-License-Identifier: Apache-2.0
//
// Calls that show what a module does, by name: the list "examples" of its sidecar
// (docs/abi.md). They are read and held against the signatures when the module is loaded,
// and stay as long as it does. Any thread.
#ifndef FARCALL_CORE_MODULE_EXAMPLES_H_
#define FARCALL_CORE_MODULE_EXAMPLES_H_

#include "module/expect.h"

#define FC_EXAMPLES_MAX 64       // of one module
#define FC_EXAMPLE_NAME_MAX 128  // bytes

// Reads the list in the text of the sidecar of a module that has these functions;
// *out_examples is NULL if there is none. FC_CODE_ABI_METADATA says which example, and
// which place in it, does not fit.
fc_status_t fc_examples_read(const fc_function_t *functions, size_t count,
                             fc_str_t sidecar, fc_allocator_t allocator,
                             fc_expectations_t **out_examples,
                             fc_error_t *err) FC_MUST_CHECK;
// The next example of a function behind `after`, or the first; NULL: there is none.
// `examples` may be NULL.
const fc_expected_call_t *fc_examples_next(const fc_expectations_t *examples,
                                           fc_str_t function,
                                           const fc_expected_call_t *after);
// Writes the names of a function's examples as a list; it has at least one.
fc_status_t fc_examples_put_names(const fc_expectations_t *examples,
                                  fc_str_t function, fc_sink_t *sink,
                                  fc_error_t *err) FC_MUST_CHECK;

// All examples of a module, or NULL.
const fc_expectations_t *fc_module_examples(const fc_module_t *module);
// fc_examples_next of the function's module.
const fc_expected_call_t *fc_example_next(const fc_function_t *function,
                                          const fc_expected_call_t *after);

// Writes a call that the function takes: its example `name`; if that is "", its first
// one, or where it has none what its signature alone gives (fc_signature_print_example).
// FC_CODE_UNKNOWN_FIELD when there is no example of this name, FC_CODE_RESULT_TOO_LARGE
// above `most` bytes.
fc_status_t fc_example_print(const fc_function_t *function, fc_str_t name,
                             size_t most, fc_sink_t *sink,
                             fc_error_t *err) FC_MUST_CHECK;
// Writes what fc_signature_print_json does; with a member "examples", the names, if there
// are any.
fc_status_t fc_function_print_json(const fc_function_t *function,
                                   fc_sink_t *sink,
                                   fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_EXAMPLES_H_
