// SPDX-License-Identifier: Apache-2.0
//
// Rolls back without a request. If the policy or sidecar of a generation says
// "rollback":"on-crash", it keeps the module that served its version before, until it has
// proved itself or the room is needed. If it keeps crashing before that
// (FC_LIMIT_PROVING_*), the kept module serves again, and the generation's file is
// refused from then on; with --state-dir also after a restart. This happens only once:
// the module that serves again keeps no other module. A new, higher version keeps no
// module either, because the lower version still serves. If the higher one crashes, it is
// refused and unloaded, and the name leads to the lower one again. Loop thread.
#ifndef FARCALL_SERVER_MODULES_ROLLBACK_H_
#define FARCALL_SERVER_MODULES_ROLLBACK_H_

#include "modules/modules.h"

// Call it when `generation` was entered: notes whether a lower version of its name
// serves, to which it can roll back. While the server starts, none is noted.
void fc_rollback_note(const fc_modules_t *modules, fc_generation_t *generation);
// Call it when `generation` is about to replace the generation that serves its key. Keeps
// the replaced module if a rollback is allowed; the module counts as memory of
// `generation` (--module-memory). If the replaced generation was about to roll back
// because of crashes, the calls that wait for it fail.
void fc_rollback_keep(fc_modules_t *modules, fc_generation_t *generation);
// Has the generation shown that it works, by more than FC_LIMIT_PROVING_CALLS calls and
// more than FC_LIMIT_PROVING_MS of service? Then it keeps no module.
bool fc_rollback_is_proved(const fc_generation_t *generation, uint64_t calls,
                           uint64_t now_ns);
// Drops the kept module; the generation can no longer roll back.
void fc_rollback_forget(fc_generations_t *generations,
                        fc_generation_t *generation);
// Handles an event of the pool: a process of a serving generation has crashed. The
// generation now has `crashes` crashes in `calls` calls. `quarantined`: its calls are
// refused.
void fc_rollback_on_crash(fc_modules_t *modules, uint32_t generation,
                          uint64_t crashes, uint64_t calls, bool quarantined);
// Rolls back the generations that must go back because of crashes, one at a time, while
// no act is in progress.
void fc_rollback_go_on(fc_modules_t *modules);

#endif  // FARCALL_SERVER_MODULES_ROLLBACK_H_
