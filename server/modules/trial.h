// SPDX-License-Identifier: Apache-2.0
//
// Calls that a generation is made before it serves anybody. First its self-test: the
// calls whose answers are known, in a process that no other call ever uses and that
// ends with the test, whichever host the module belongs in. So a crash costs that
// process, and nothing that tests leave behind is served. Then its warm-up: calls in
// the host that will serve, whose answers do not matter. One after the other, by the
// pool, as calls of the native dialect; what is answered is compared on the loader's
// thread. All else is the loop's.
#ifndef FARCALL_SERVER_MODULES_TRIAL_H_
#define FARCALL_SERVER_MODULES_TRIAL_H_

#include "modules/modules.h"

// Adds a generation that is LOADING to the pool, and has it make its calls first if
// there are any; takes `proof` over. fc_modules_on_added and _on_retired go on from
// there. FC_CODE_OUT_OF_MEMORY: nothing was added.
fc_status_t fc_trial_add(fc_modules_t *modules, fc_generation_t *generation,
                         fc_proof_t *take_proof, fc_error_t *err) FC_MUST_CHECK;
// The pool has added it. True: it has calls to make, and fc_modules_on_added is
// called again when they are over, perhaps from here.
bool fc_trial_on_added(fc_generation_t *generation);
// The pool has nothing of it any more. True: its test is over, and it was added
// again.
bool fc_trial_on_retired(fc_generation_t *generation);
// The loader has compared an answer.
void fc_trial_on_checked(fc_modules_t *modules, const fc_load_t *load);
// Events of the pool about a call with FC_CALL_OWN.
void fc_trial_on_done(fc_modules_t *modules, fc_job_t *job);
void fc_trial_on_expired(fc_modules_t *modules, fc_job_t *job);
// Drops its call. It need not have a trial.
void fc_trial_stop(fc_modules_t *modules, fc_generation_t *generation);
void fc_trial_free(fc_generation_t *generation);

// On the loader's thread: is the answer the expected one? Before the warm-up: makes
// examples.
fc_status_t fc_trial_check(fc_trial_t *trial, fc_error_t *err);

#endif  // FARCALL_SERVER_MODULES_TRIAL_H_
