// SPDX-License-Identifier: Apache-2.0
//
// Going back without a request: a generation whose policy or sidecar says
// "rollback":"on-crash" keeps the module that served its version before, until it has
// proved itself or the room is needed. If it keeps crashing before that (the figures are
// FC_LIMIT_PROVING_*), the module that it keeps serves again, and the generation's file
// is refused from then on, with --state-dir also after a restart. This happens
// once: the module that serves again keeps nothing. A new, higher version keeps nothing
// either, because the lower version, to which the name led before, still serves. If the
// higher one crashes, it is refused and unloaded, and the name leads to the lower one
// again. The loop's thread.
#ifndef FARCALL_SERVER_MODULES_ROLLBACK_H_
#define FARCALL_SERVER_MODULES_ROLLBACK_H_

#include "modules/modules.h"

// `generation` was entered: notes whether a lower version of its name serves, to which it
// may go back. While the server starts, none is noted.
void fc_rollback_note(const fc_modules_t *modules, fc_generation_t *generation);
// `generation` is about to take the place of what serves its key, and keeps the module
// there if it may go back. That counts as memory of `generation` (--module-memory). If
// what serves is to go back for its crashes, the calls that wait for it fail.
void fc_rollback_keep(fc_modules_t *modules, fc_generation_t *generation);
// Has the generation shown that it works, by more than FC_LIMIT_PROVING_CALLS calls and
// by more than FC_LIMIT_PROVING_MS of service? Then it need not keep anything.
bool fc_rollback_is_proved(const fc_generation_t *generation, uint64_t calls,
                           uint64_t now_ns);
// Gives up what the generation keeps; it no longer goes back.
void fc_rollback_forget(fc_generations_t *generations,
                        fc_generation_t *generation);
// Event of the pool: a process of a generation that serves has crashed. The generation
// has `crashes` crashes in `calls` calls now. `quarantined`: its calls are refused.
void fc_rollback_on_crash(fc_modules_t *modules, uint32_t generation,
                          uint64_t crashes, uint64_t calls, bool quarantined);
// Goes back with the generations that are to go back for their crashes, one at a time,
// while no act is in progress.
void fc_rollback_go_on(fc_modules_t *modules);

#endif  // FARCALL_SERVER_MODULES_ROLLBACK_H_
