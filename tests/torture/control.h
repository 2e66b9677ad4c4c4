// SPDX-License-Identifier: Apache-2.0
//
// The page that a run of the torture harness shares: torture.py says which fault is to
// come, tracer.c and preload.c count the calls that it could meet, and put it in.
// `control` of torture.py has the same members.
#ifndef FARCALL_TORTURE_CONTROL_H_
#define FARCALL_TORTURE_CONTROL_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum fault_t {
  FAULT_NONE,
#define FAULT(name, times, effect, error, calls, files) FAULT_##name,
#include "faults.def"
#undef FAULT
  FAULT_COUNT
} fault_t;

#define FOREVER UINT64_MAX
#define SITES_MAX (1 << 17)
#define SITE_DEPTH 6  // callers that make a site

typedef struct control_t {
  _Atomic uint64_t fault;  // fault_t
  _Atomic uint64_t
      from;  // the first call that fails; 0: calls are counted alone
  _Atomic uint64_t times;     // how many do
  _Atomic uint64_t seen;      // calls since the fault was set
  _Atomic uint64_t injected;  // of these, that failed
  _Atomic uint64_t pid;       // the traced program; 0: not started yet
  _Atomic int64_t blocks;     // of its heap
  // By how much clocks are moved. The second only grows, as a real one does.
  _Atomic int64_t calendar_ns;
  _Atomic int64_t monotonic_ns;
  char where[1024];  // addresses of the last injected one
  // Of calls that are counted alone: a hash of who makes each, by its number.
  _Atomic uint32_t sites[SITES_MAX];
} control_t;

// One more caller of a site.
static inline uint32_t control_site(uint32_t site, uint64_t address) {
  return (site ^ (uint32_t)address) * 16777619u;
}

// Whether this call, one that `fault` could meet, is to fail. `*out_number` is its number
// if it is only counted, else 0.
static inline bool control_hit(control_t *control, uint64_t *out_number) {
  const uint64_t number = atomic_fetch_add(&control->seen, 1) + 1;
  const uint64_t from = atomic_load(&control->from);
  *out_number = from ? 0 : number;
  if (!from || number < from || number - from >= atomic_load(&control->times)) {
    return false;
  }
  atomic_fetch_add(&control->injected, 1);
  return true;
}

static inline void control_note(control_t *control, uint64_t number,
                                uint32_t site) {
  if (number < SITES_MAX) atomic_store(&control->sites[number], site);
}

// By prctl with this a process says that the dynamic loader is done with it: what the
// loader does about faults is not ours to mend.
#define CONTROL_BEGIN 0x746f7274

// The program that faults are for, by the name of its file: what it starts, such as
// compilers, is left alone.
#define OURS "farcall"

#endif  // FARCALL_TORTURE_CONTROL_H_
