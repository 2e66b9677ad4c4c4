// SPDX-License-Identifier: Apache-2.0
//
// Calls of a module with their expected answers, one JSON object in each line:
//   {"function":"f","args":[…],"kwargs":{…},"results":[…],"tolerance":{…},"name":"n"}
// docs/abi.md has the format. A server tests a module with these calls before it serves
// the module; `farcall test` and `farcall diff` read the same lines. Any thread.
#ifndef FARCALL_CORE_MODULE_EXPECT_H_
#define FARCALL_CORE_MODULE_EXPECT_H_

#include "farcall/module.h"
#include "module/compare.h"

#define FC_EXPECT_SIZE_MAX (16u << 20)  // bytes of all lines
#define FC_EXPECT_CALLS_MAX 10000
#define FC_EXPECT_CALL_MAX (1u << 20)  // bytes of one line

typedef struct fc_expected_call_t {
  uint32_t line;      // from 1; for an element of a list its place, from 1
  fc_str_t name;      // "": it has none
  fc_str_t function;  // "": the module's only function
  fc_str_t body;      // the call document
  fc_str_t results;   // an array; "": any results will do
  fc_str_t error;     // the code with which it must fail; "": it must not
  fc_tolerance_t tolerance;
} fc_expected_call_t;

typedef struct fc_expectations_t {
  fc_arena_t arena;  // all texts
  fc_expected_call_t *calls;
  size_t count;
} fc_expectations_t;

// Parses the lines; blank lines are skipped. Nothing points into `lines` afterwards.
// FC_CODE_JSON_SYNTAX, _JSON_SCHEMA, _UNKNOWN_FIELD name the line. FC_CODE_JSON_SCHEMA
// without a line: there are too many calls, or too many bytes.
fc_status_t fc_expectations_parse(fc_str_t lines, fc_allocator_t allocator,
                                  fc_expectations_t **out_expectations,
                                  fc_error_t *err) FC_MUST_CHECK;
// Does the same as fc_expectations_parse for a list in a document that was read with
// YYJSON_READ_NUMBER_AS_RAW. `place` is the place of the list, such as "/examples";
// errors name the place of the call.
struct yyjson_val;
fc_status_t fc_expectations_read(struct yyjson_val *list, const char *place,
                                 fc_allocator_t allocator,
                                 fc_expectations_t **out_expectations,
                                 fc_error_t *err) FC_MUST_CHECK;
void fc_expectations_destroy(fc_expectations_t *expectations);  // or NULL

// Finds the function that a call names. FC_CODE_FUNCTION_NOT_FOUND,
// FC_CODE_UNSUPPORTED_TYPE.
fc_status_t fc_expected_function(const fc_expected_call_t *call,
                                 const fc_module_t *module,
                                 const fc_function_t **out_function,
                                 fc_error_t *err) FC_MUST_CHECK;
// Checks that the call was answered as expected: with `error` or, if that is NULL, with
// the document `answer`. FC_CODE_SELF_TEST_FAILED names the line. If results differ, it
// also names the place in the answer, the expected value and the value found; or it
// says why the results cannot be compared. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_expected_check(const fc_expected_call_t *call,
                              const fc_signature_t *signature, fc_str_t answer,
                              const fc_error_t *error, fc_allocator_t allocator,
                              fc_error_t *err) FC_MUST_CHECK;
// Fails with FC_CODE_SELF_TEST_FAILED. `error` says why the call could not be made, or
// is the unexpected error of the call.
fc_status_t fc_expected_fail(const fc_expected_call_t *call,
                             const fc_error_t *error, fc_error_t *err);

#endif  // FARCALL_CORE_MODULE_EXPECT_H_
