// SPDX-License-Identifier: Apache-2.0
//
// Going back by itself: a generation whose sidecar says "rollback":"on-crash" keeps
// the module that served its version before. If it crashes on its first uses, that one
// serves again, and its own file is refused from then on, also after a restart
// (--state-dir). Once: what serves again keeps nothing. A new version keeps nothing:
// the lower one, which its name led to when it came, is there still. Where it crashes
// it is refused and unloaded, so that the name leads there again. The loop's thread.
#ifndef FARCALL_SERVER_MODULES_ROLLBACK_H_
#define FARCALL_SERVER_MODULES_ROLLBACK_H_

#include "modules/modules.h"

// `generation` was entered: notes whether its name leads to a lower version now.
void fc_rollback_note(const fc_modules_t *modules, fc_generation_t *generation);
// `generation` is about to take the place of what serves its name. What it keeps
// counts as taken by it (--module-memory).
void fc_rollback_keep(fc_modules_t *modules, fc_generation_t *generation);
// After so many calls it has shown that it works, and need not keep anything.
bool fc_rollback_is_proved(const fc_generation_t *generation, uint64_t calls,
                           uint64_t now_ns);
// Gives back what is kept for it; it goes back no more.
void fc_rollback_forget(fc_generations_t *generations,
                        fc_generation_t *generation);
// Event of the pool: a process of a generation that serves has crashed, for the
// `crashes`th time, after it had `calls` calls, that one among them. `quarantined`:
// its calls are refused now.
void fc_rollback_on_crash(fc_modules_t *modules, uint32_t generation,
                          uint64_t crashes, uint64_t calls, bool quarantined);
// Replaces those that have crashed, as soon as no act is in progress.
void fc_rollback_go_on(fc_modules_t *modules);

#endif  // FARCALL_SERVER_MODULES_ROLLBACK_H_
