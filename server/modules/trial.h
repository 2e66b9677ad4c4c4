// SPDX-License-Identifier: Apache-2.0
//
// Calls that the server makes to a generation before clients can. First it finds out
// which functions have rows that do not depend on each other (module/prove.h), then it
// makes the self-test: calls whose answers are known, in a process that ends with the
// test and that no other call ever uses, whichever host the module belongs in. So a crash
// costs that process alone, and no client meets what the tests leave behind. Then its
// warm-up: calls in the host that will serve, whose results do not matter; but a call
// that somebody wrote must not crash. Calls are made one after the other, through the
// pool, in the native dialect. Answers are compared, and examples made, on the loader's
// thread; all else is done on the loop's.
#ifndef FARCALL_SERVER_MODULES_TRIAL_H_
#define FARCALL_SERVER_MODULES_TRIAL_H_

#include "modules/modules.h"

// Makes the trial of a generation whose file is open, if it is to make calls; takes
// `proof` over. FC_CODE_OUT_OF_MEMORY: there is no trial.
fc_status_t fc_trial_make(fc_modules_t *modules, fc_generation_t *generation,
                          fc_proof_t *take_proof,
                          fc_error_t *err) FC_MUST_CHECK;
// Changes how the generation is to be hosted, if it has a trial: a test is made in a
// process of its own. After the test, the generation is hosted as its policy says.
void fc_trial_adapt(fc_generation_t *generation, fc_hosting_t *hosting);
// The pool has added the generation. True: it has a trial, and when that is over
// fc_modules_on_tried is called, perhaps from here.
bool fc_trial_on_added(fc_generation_t *generation);
// The loader has compared an answer, or made the examples of the warm-up.
void fc_trial_on_checked(fc_modules_t *modules, const fc_load_t *load);
// Events of the pool about a call with FC_CALL_OWN.
void fc_trial_on_done(fc_modules_t *modules, fc_job_t *job);
void fc_trial_on_expired(fc_modules_t *modules, fc_job_t *job);
// Drops the call that the generation's trial waits for, if there is any.
void fc_trial_stop(fc_modules_t *modules, fc_generation_t *generation);
void fc_trial_free(fc_generation_t *generation);

// On the loader's thread: compares the answer with the expected one; for a warm-up
// without calls, makes examples.
fc_status_t fc_trial_check(fc_trial_t *trial, fc_error_t *err);

#endif  // FARCALL_SERVER_MODULES_TRIAL_H_
