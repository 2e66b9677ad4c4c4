// SPDX-License-Identifier: Apache-2.0
//
// The page of memory that all parts of a torture run share. torture.py sets the fault
// that must occur; tracer.c and preload.c count the calls that it may hit, and make
// them fail. `control` of torture.py has the same members.
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
  // How far clocks are moved. The second value only grows, as a real clock does.
  _Atomic int64_t calendar_ns;
  _Atomic int64_t monotonic_ns;
  char where[1024];  // addresses of the last injected one
  // For calls that are only counted: a hash of the callers of each, by the call's
  // number.
  _Atomic uint32_t sites[SITES_MAX];
} control_t;

// Adds one more caller to the hash of a site.
static inline uint32_t control_site(uint32_t site, uint64_t address) {
  return (site ^ (uint32_t)address) * 16777619u;
}

// True if this call must fail; it is one that `fault` may hit. `*out_number` is its
// number if calls are only counted, otherwise 0.
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

// A process calls prctl with this number after the dynamic loader has finished: we
// cannot repair how the loader handles faults.
#define CONTROL_BEGIN 0x746f7274

// Only programs with this file name get faults. What they start, such as compilers, is
// left alone.
#define OURS "farcall"

#endif  // FARCALL_TORTURE_CONTROL_H_
