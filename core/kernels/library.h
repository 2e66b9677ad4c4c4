// SPDX-License-Identifier: Apache-2.0
//
// IREE's executable library ABI (hal/local/executable_library.h), versions 0_5
// and 0_6, for a loaded kernel ELF. A library lists the entry points and what each
// needs, and runs one workgroup grid. A library is immutable once open and may
// run on many threads at once; each run has its own local memory.
#ifndef FARCALL_CORE_KERNELS_LIBRARY_H_
#define FARCALL_CORE_KERNELS_LIBRARY_H_

#include "farcall/backend.h"
#include "kernels/cpu.h"
#include "kernels/elf.h"

#define FC_DISPATCH_CONSTANTS_MAX 64
#define FC_DISPATCH_BINDINGS_MAX 64
#define FC_LOCAL_MEMORY_PAGE 4096

typedef struct fc_library_t fc_library_t;

typedef struct fc_entry_point_t {
  fc_str_t name;               // "": the library does not say it
  uint32_t local_memory_size;  // bytes
  uint8_t constant_count;
  uint8_t binding_count;
  bool sequential;  // its workgroups must run one after the other
} fc_entry_point_t;

// One grid. Pointers are borrowed for the run. Binding i must have
// `binding_sizes[i]` bytes, because kernels do not check sizes.
typedef struct fc_grid_t {
  uint32_t count[3];  // workgroups in x, y, z; z < 65536
  const uint32_t *constants;
  void *const *bindings;
  const size_t *binding_sizes;
  // Local memory, 64-byte aligned: local_memory_size of the entry point, for each part.
  void *local_memory;
  uint32_t parts;           // from fc_library_parts; 0 means 1
  const fc_tiles_t *tiles;  // NULL for one part
  // These stop the grid between workgroups (base/stop.h). Each thread reads the
  // cancel word before each run of up to 64 workgroups, and the clock before
  // each run except its first.
  const _Atomic uint32_t *cancel;
  uint64_t deadline_ns;
} fc_grid_t;

// Opens a library. Takes over `take_elf`, also on failure. `constants` are the
// specialisation constants of the executable; they are copied. FC_CODE_MODULE_LOAD when
// the library has no query function, is of another version, has a damaged export table,
// needs imports or features that are missing, was built for a sanitizer, or needs another
// number of constants.
fc_status_t fc_library_open(fc_elf_t *take_elf, const fc_cpu_t *cpu,
                            const uint32_t *constants, size_t constant_count,
                            fc_allocator_t allocator,
                            fc_library_t **out_library,
                            fc_error_t *err) FC_MUST_CHECK;
void fc_library_close(fc_library_t *library);

size_t fc_library_count(const fc_library_t *library);
const fc_entry_point_t *fc_library_at(const fc_library_t *library,
                                      size_t index);

// Returns the number of parts into which a grid should be split: at most one for each
// workgroup, at most as many as `tiles` runs at once, and at most FC_TILES_MAX. 1 when
// `tiles` is NULL or the entry point is sequential.
uint32_t fc_library_parts(const fc_library_t *library, size_t index,
                          const uint32_t *count, const fc_tiles_t *tiles);

// Runs all workgroups, z outermost, in order when there is one part. The caller has
// checked the counts and sizes against the entry point. FC_CODE_CALL_FAILED when a
// workgroup returns an error, when `cancel` was set (FC_CANCELLED), or when the grid
// has too many workgroups (FC_OUT_OF_RANGE); FC_CODE_DEADLINE_EXCEEDED when the
// deadline passed. When it returns, no part of the grid runs any more. Denormals are
// flushed while a kernel runs.
fc_status_t fc_library_run(const fc_library_t *library, size_t index,
                           const fc_grid_t *grid, fc_error_t *err);

#endif  // FARCALL_CORE_KERNELS_LIBRARY_H_
