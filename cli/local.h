// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that take a module file share: loading it, finding a function.
#ifndef FARCALL_CLI_LOCAL_H_
#define FARCALL_CLI_LOCAL_H_

#include "cli.h"
#include "farcall/farcall.h"
#include "module/expect.h"

// Loads a FILE of the command line with the options given there; with
// `describe`, runs nothing of it. Returns an exit code, and has complained if
// it isn't 0. The caller releases the module.
int fc_local_load(const fc_args_t *args, const char *path, bool describe,
                  fc_module_t **out_module);
// Reads a file of calls (module/expect.h). Returns an exit code, and has complained if
// it isn't 0. The caller destroys *out_calls.
int fc_local_calls(const fc_args_t *args, const char *path,
                   fc_expectations_t **out_calls);
// Answers a call document in this process, with an instance of its own, by the same
// three steps that a server's worker takes, and appends the answer to `answer`.
// *out_ns is how long the steps took, without making the instance; it is not set when
// no instance could be made. The function must be callable. `profile`, which may be
// NULL, is begun if the function was called.
fc_status_t fc_local_answer(const fc_function_t *function, fc_str_t document,
                            fc_profile_t *profile, fc_text_t *answer,
                            uint64_t *out_ns, fc_error_t *err) FC_MUST_CHECK;
// Complains about a call that failed. Returns FC_EXIT_FAILED.
int fc_local_complain(const fc_args_t *args, const fc_error_t *err);
// The function of that name; NULL after a complaint, which names the nearest function
// if one is near.
const fc_function_t *fc_local_find(const fc_module_t *module, const char *name);
// The function `name`, else that of --function, else the only one; NULL after a
// complaint.
const fc_function_t *fc_local_choose(const fc_args_t *args,
                                     const fc_module_t *module,
                                     const char *name);
// Complains if the function cannot be called; else what tells of a crash names this
// function from now on. Returns an exit code.
int fc_local_check(const fc_args_t *args, const fc_function_t *function);

#endif  // FARCALL_CLI_LOCAL_H_
