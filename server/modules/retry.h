// SPDX-License-Identifier: Apache-2.0
//
// Another try for a module whose loading failed for a reason from outside: memory or
// descriptors lacked, no process could be made, or its process was killed. The file may be
// good, so nobody need ask for a reload. A module that is loaded when it is asked for gets
// its next try from a request; others get it as time passes. Each try comes later than the
// one before (fc_health_backoff_ns). The loop's thread.
#ifndef FARCALL_SERVER_MODULES_RETRY_H_
#define FARCALL_SERVER_MODULES_RETRY_H_

#include "modules/modules.h"

// Is that a reason from outside? A module that needs more than its own --module-heap
// (FC_CODE_CALL_FAILED, of its initializer) needs as much the next time.
bool fc_retry_may_help(const fc_error_t *error);

// The generation, FAILED or LOADING, tells why a file could not be loaded just now. Notes
// when there is to be another try, if the reason is one from outside; else that there is
// to be none.
void fc_retry_note(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *error);
// May a DESCRIBED generation be loaded now? Else its reason, which is not an old one.
fc_status_t fc_retry_check(const fc_generation_t *generation,
                           fc_error_t *err) FC_MUST_CHECK;
// Begins the tries that are due. modules->retry_ns says when to call it.
void fc_retry_expire(fc_modules_t *modules, uint64_t now_ns);
// A generation that is LOADING has come a step further. If it is a try for one that was
// unloaded, replaced or loaded otherwise meanwhile, it drains from now on.
void fc_retry_settle(fc_modules_t *modules, fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_RETRY_H_
