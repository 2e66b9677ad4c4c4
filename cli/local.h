// SPDX-License-Identifier: Apache-2.0
//
// Shared by the verbs with a module file: loads it and finds a function.
#ifndef FARCALL_CLI_LOCAL_H_
#define FARCALL_CLI_LOCAL_H_

#include "cli.h"
#include "farcall/farcall.h"
#include "module/expect.h"

// True if the word means a file: it has the suffix of a module or a source, or there is a
// regular file of that name. False: the word is MODULE[/FUNCTION] of a server.
bool fc_local_is_file(const char *word);
// Loads a FILE of the command line with the given options; with `describe`, without
// running any of its code. Returns an exit code, after a complaint if it isn't 0. The
// caller releases the module.
int fc_local_load(const fc_args_t *args, const char *path, bool describe,
                  fc_module_t **out_module);
// Like fc_local_load, but puts the failure into `err` instead of complaining.
fc_status_t fc_local_try(const fc_args_t *args, const char *path, bool describe,
                         fc_module_t **out_module,
                         fc_error_t *err) FC_MUST_CHECK;
// Complains about a file of the command line. Returns FC_EXIT_DATA.
int fc_local_refuse(const char *path, const fc_error_t *err);
// Loads the FILE that is the first word, and finds a function in it that can be called.
// The function is named by `word` or by --function (both together are an error); without
// a name it is the only function. Crash reports name the function from now on. Returns an
// exit code, after a complaint if it isn't 0. The caller releases the module.
int fc_local_open(const fc_args_t *args, const char *word,
                  fc_module_t **out_module, const fc_function_t **out_function);
// Makes the call document from --example, --json or --input, in the arena or in argv.
// Returns an exit code, after a complaint if it isn't 0.
int fc_local_document(const fc_args_t *args, const fc_function_t *function,
                      fc_str_t *out_document);
// Reads a file of calls (module/expect.h). Returns an exit code, after a complaint if it
// isn't 0. The caller destroys *out_calls.
int fc_local_calls(const fc_args_t *args, const char *path,
                   fc_expectations_t **out_calls);
// An instance and a frame, for calls of one function, one after the other.
typedef struct fc_local_bound_t {
  const fc_function_t *function;
  void *instance;
  fc_frame_t *frame;
} fc_local_bound_t;

// The function must be callable.
fc_status_t fc_local_bind(const fc_function_t *function,
                          fc_local_bound_t *out_bound,
                          fc_error_t *err) FC_MUST_CHECK;
void fc_local_unbind(fc_local_bound_t *bound);  // a zeroed one is allowed
// Decodes, calls and encodes like a server's worker, and appends the answer to `answer`,
// unless that is NULL. *out_ns is the time of the function, without decoding and
// encoding; it is set only if the function was called. `profile`, which may be NULL, is
// also begun only then.
fc_status_t fc_local_call(fc_local_bound_t *bound, fc_str_t document,
                          fc_profile_t *profile, fc_text_t *answer,
                          uint64_t *out_ns, fc_error_t *err) FC_MUST_CHECK;
// Makes one call with an instance of its own. *out_ns is the time of decoding, calling
// and encoding; it is set only if an instance could be made.
fc_status_t fc_local_answer(const fc_function_t *function, fc_str_t document,
                            fc_profile_t *profile, fc_text_t *answer,
                            uint64_t *out_ns, fc_error_t *err) FC_MUST_CHECK;
// Complains about a failed call. Returns FC_EXIT_FAILED.
int fc_local_complain(const fc_args_t *args, const fc_error_t *err);
// Returns the function with this name; NULL after a complaint, which names a similar
// function if there is one.
const fc_function_t *fc_local_find(const fc_module_t *module, const char *name);

#endif  // FARCALL_CLI_LOCAL_H_
