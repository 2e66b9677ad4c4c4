// SPDX-License-Identifier: Apache-2.0
//
// The trial: calls that the server makes to a generation before clients can. First it
// finds out which functions have independent rows (module/prove.h). Then comes the
// self-test: calls with known answers. They run in a process that ends with the test
// and runs no other call, whatever the module's host is. So a crash affects only that
// process, and clients never see effects of the tests. Then comes the warm-up: calls in
// the host that will serve. Their results do not matter, but a call from a file must
// not crash. Calls are made one after the other, through the pool, in the native
// dialect. The loader's thread compares answers and makes examples; the loop's thread
// does everything else.
#ifndef FARCALL_SERVER_MODULES_TRIAL_H_
#define FARCALL_SERVER_MODULES_TRIAL_H_

#include "modules/modules.h"

// Makes the trial of a generation whose file is open, if it needs any calls; takes
// ownership of `proof`. FC_CODE_OUT_OF_MEMORY: there is no trial.
fc_status_t fc_trial_make(fc_modules_t *modules, fc_generation_t *generation,
                          fc_proof_t *take_proof,
                          fc_error_t *err) FC_MUST_CHECK;
// Changes the hosting if the generation has a trial: a test is made in a separate
// process. After the test, the generation is hosted as its policy says.
void fc_trial_adapt(fc_generation_t *generation, fc_hosting_t *hosting);
// Call it when the pool has added the generation. True: it has a trial, and
// fc_modules_on_tried is called when that is over, perhaps from here.
bool fc_trial_on_added(fc_generation_t *generation);
// Call it when the loader has compared an answer, or made the examples of the warm-up.
void fc_trial_on_checked(fc_modules_t *modules, const fc_load_t *load);
// Handle the pool's events of a call with FC_CALL_OWN.
void fc_trial_on_done(fc_modules_t *modules, fc_job_t *job);
void fc_trial_on_expired(fc_modules_t *modules, fc_job_t *job);
// Drops the call that the generation's trial waits for, if there is one.
void fc_trial_stop(fc_modules_t *modules, fc_generation_t *generation);
void fc_trial_free(fc_generation_t *generation);

// On the loader's thread: compares the answer with the expected one; for a warm-up
// without calls, makes examples.
fc_status_t fc_trial_check(fc_trial_t *trial, fc_error_t *err);

#endif  // FARCALL_SERVER_MODULES_TRIAL_H_
