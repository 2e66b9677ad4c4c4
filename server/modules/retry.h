// SPDX-License-Identifier: Apache-2.0
//
// Tries again to load a module that failed for an outside reason: there was not enough
// memory or descriptors, no process could be made, or its process was killed. The file may
// be good, so no reload must be requested. A module that is loaded on request gets its
// next try from a request; others get it after a time. Waits grow up to a limit
// (fc_health_backoff_ns). Loop thread.
#ifndef FARCALL_SERVER_MODULES_RETRY_H_
#define FARCALL_SERVER_MODULES_RETRY_H_

#include "modules/modules.h"

// Does the error have an outside reason? A module that exceeds its own --module-heap
// (FC_CODE_CALL_FAILED of its initializer) has none: it would exceed the limit again.
bool fc_retry_may_help(const fc_error_t *error);

// Call it when a FAILED or LOADING generation gets the reason why its file could not be
// loaded now. Notes when to try again if it is an outside reason; otherwise notes that
// there is no further try.
void fc_retry_note(fc_modules_t *modules, fc_generation_t *generation,
                   const fc_error_t *error);
// May a DESCRIBED generation be loaded now? If the time of its next try has not come,
// fails with the reason why it could not be loaded.
fc_status_t fc_retry_check(const fc_generation_t *generation,
                           fc_error_t *err) FC_MUST_CHECK;
// Begins the tries that are due. modules->retry_ns says when to call it.
void fc_retry_expire(fc_modules_t *modules, uint64_t now_ns);
// Call it when a LOADING generation has made progress. The generation drains if it is a
// try for another one that was unloaded, replaced or loaded in another way meanwhile.
void fc_retry_settle(fc_modules_t *modules, fc_generation_t *generation);

#endif  // FARCALL_SERVER_MODULES_RETRY_H_
