// SPDX-License-Identifier: Apache-2.0
//
// The structures of the executable library ABI, as in IREE's header
// (hal/local/executable_library.h), and the loop over a grid. The library is machine
// code that the operator chose to trust. Counts and null pointers in its tables are
// checked nevertheless, so that most damage becomes an error and not a wild jump.
#include "kernels/library.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/stop.h"

#define QUERY_NAME "iree_hal_executable_library_query"
#define ENTRY_POINTS_MAX 65535

typedef struct abi_header_t {
  uint32_t version;
  const char *name;
  uint32_t features;
  uint32_t sanitizer;
} abi_header_t;

typedef struct abi_environment_t {
  const uint32_t *constants;
  int (*import_thunk)(void *function, void *params);
  void *const *imports;
  void *const *import_contexts;
  uint64_t processor[FC_CPU_WORDS];
} abi_environment_t;

typedef struct abi_dispatch_t {
  uint32_t size_x, size_y;
  uint16_t size_z;
  uint16_t constant_count;
  uint32_t count_x, count_y;
  uint16_t count_z;
  uint8_t max_concurrency;
  uint8_t binding_count;
  const uint32_t *constants;
  void *const *bindings;
  const size_t *binding_sizes;
} abi_dispatch_t;

typedef struct abi_workgroup_t {
  uint32_t id_x, id_y;
  uint16_t id_z;
  uint16_t reserved;
  uint32_t processor_id;
  void *local_memory;
  uint32_t local_memory_size;
} abi_workgroup_t;

_Static_assert(sizeof(abi_dispatch_t) == 48, "executable_library.h");
_Static_assert(sizeof(abi_workgroup_t) == 32, "executable_library.h");

typedef int (*abi_function_t)(const abi_environment_t *environment,
                              const abi_dispatch_t *dispatch,
                              const abi_workgroup_t *workgroup);
typedef const abi_header_t **(*abi_query_t)(
    uint32_t max_version, const abi_environment_t *environment);

// Attributes of one export in version 0_5, 72 bytes.
typedef struct abi_attrs_5_t {
  uint16_t local_memory_pages;
  uint8_t constant_count;
  uint8_t binding_count;
  uint32_t reserved_0;
  uint64_t reserved[8];
} abi_attrs_5_t;
_Static_assert(sizeof(abi_attrs_5_t) == 72, "executable_library.h, 0_5");

// Attributes of one export in version 0_6, 64 bytes.
typedef struct abi_attrs_6_t {
  uint64_t flags;
  uint16_t local_memory_pages;
  uint8_t constant_count;
  uint8_t binding_count;
  uint32_t size_x, size_y;
  uint16_t size_z;
  uint16_t parameter_count;
  uint64_t reserved[5];
} abi_attrs_6_t;
_Static_assert(sizeof(abi_attrs_6_t) == 64, "executable_library.h, 0_6");
#define SEQUENTIAL_FLAG 1u

typedef struct abi_imports_t {
  uint32_t count;
  const char *const *symbols;
} abi_imports_t;

typedef struct abi_exports_5_t {
  uint32_t count;
  const abi_function_t *functions;
  const abi_attrs_5_t *attrs;
  const char *const *names;
  const char *const *tags;
  const void *source_locations;
  const void *stage_locations;
} abi_exports_5_t;

typedef struct abi_exports_6_t {
  uint32_t count;
  const abi_function_t *functions;
  const abi_attrs_6_t *attrs;
  const void *params;
  const void *occupancy;
  const char *const *names;
  const char *const *tags;
  const void *parameter_names;
  const void *source_locations;
  const void *stage_locations;
} abi_exports_6_t;

typedef struct abi_library_5_t {
  const abi_header_t *header;
  abi_imports_t imports;
  abi_exports_5_t exports;
  uint32_t constant_count;
} abi_library_5_t;

typedef struct abi_library_6_t {
  const abi_header_t *header;
  abi_imports_t imports;
  abi_exports_6_t exports;
  uint32_t constant_count;
} abi_library_6_t;

// The tables of a library, whatever its version.
typedef struct tables_t {
  abi_imports_t imports;
  uint32_t export_count;
  const abi_function_t *functions;
  const char *const *names;
  uint32_t constant_count;
  const abi_attrs_5_t *attrs_5;  // at least one of the two is NULL
  const abi_attrs_6_t *attrs_6;
} tables_t;

struct fc_library_t {
  fc_allocator_t allocator;
  fc_elf_t *elf;
  uint32_t *constants;
  abi_environment_t environment;
  const abi_function_t *functions;
  fc_entry_point_t *entry_points;
  size_t count;
};

static fc_status_t refuse(fc_error_t *err, const char *what) {
  return fc_fail(err, FC_CODE_MODULE_LOAD, "executable library: %s", what);
}

// ---------------------------------------------------------------------------
// Opening

// True for the alignment of every table that compilers make: tables are used where they
// lie, without copying.
static bool is_aligned(const void *table) {
  return (uintptr_t)table % _Alignof(uint64_t) == 0;
}

static bool are_aligned(const tables_t *tables) {
  return is_aligned(tables->imports.symbols) && is_aligned(tables->functions) &&
         is_aligned(tables->names) && is_aligned(tables->attrs_5) &&
         is_aligned(tables->attrs_6);
}

static int no_imports(void *function, void *params) {
  (void)function;
  (void)params;
  return -1;
}

static void read_5(const void *base, tables_t *out) {
  const abi_library_5_t *library = base;
  *out = (tables_t){.imports = library->imports,
                    .export_count = library->exports.count,
                    .functions = library->exports.functions,
                    .names = library->exports.names,
                    .constant_count = library->constant_count,
                    .attrs_5 = library->exports.attrs};
}

static void read_6(const void *base, tables_t *out) {
  const abi_library_6_t *library = base;
  *out = (tables_t){.imports = library->imports,
                    .export_count = library->exports.count,
                    .functions = library->exports.functions,
                    .names = library->exports.names,
                    .constant_count = library->constant_count,
                    .attrs_6 = library->exports.attrs};
}

// Asks the library for its tables. A library answers only when it is asked for its own
// version, so all known versions are tried.
static fc_status_t query(const fc_library_t *library, tables_t *out_tables,
                         fc_error_t *err) {
  void *address = fc_elf_find(library->elf, FC_STR(QUERY_NAME));
  if (!address) return refuse(err, "it does not export " QUERY_NAME);
  abi_query_t function;
  memcpy(&function, &address, sizeof address);
  static const uint32_t kVersions[] = {6, 5};
  static const char kSkewed[] = "its tables are not aligned";
  for (size_t i = 0; i < FC_ARRAY_COUNT(kVersions); i++) {
    const abi_header_t **base = function(kVersions[i], &library->environment);
    if (!is_aligned(base)) return refuse(err, kSkewed);
    if (!base || !*base) continue;
    if (!is_aligned(*base)) return refuse(err, kSkewed);
    if ((*base)->version != kVersions[i]) continue;
    if ((*base)->features) return refuse(err, "it needs unknown features");
    if ((*base)->sanitizer) return refuse(err, "it was built for a sanitizer");
    if (kVersions[i] == 6) read_6(base, out_tables);
    else read_5(base, out_tables);
    return are_aligned(out_tables) ? FC_OK : refuse(err, kSkewed);
  }
  return refuse(err, "its ABI version is neither 0_5 nor 0_6");
}

// Refuses a library that needs imports, since this runtime provides none. An
// import with a '?' before or after its name is optional and stays NULL.
static fc_status_t check_imports(const abi_imports_t *imports,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < imports->count; i++) {
    const char *symbol = imports->symbols ? imports->symbols[i] : NULL;
    const size_t size = symbol ? strlen(symbol) : 0;
    if (size && (symbol[0] == '?' || symbol[size - 1] == '?')) continue;
    char shown[96];
    fc_escape(shown, sizeof shown, 64, fc_str_make(symbol, size));
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "executable import %s is not available", shown);
  }
  return FC_OK;
}

static fc_entry_point_t entry_point(const tables_t *tables, uint32_t i) {
  fc_entry_point_t entry = {0};
  if (tables->names && tables->names[i]) entry.name = fc_str(tables->names[i]);
  uint32_t pages = 0;
  if (tables->attrs_6) {
    pages = tables->attrs_6[i].local_memory_pages;
    entry.sequential = tables->attrs_6[i].flags & SEQUENTIAL_FLAG;
    entry.constant_count = tables->attrs_6[i].constant_count;
    entry.binding_count = tables->attrs_6[i].binding_count;
  } else if (tables->attrs_5) {
    pages = tables->attrs_5[i].local_memory_pages;
    entry.constant_count = tables->attrs_5[i].constant_count;
    entry.binding_count = tables->attrs_5[i].binding_count;
  }
  entry.local_memory_size = pages * FC_LOCAL_MEMORY_PAGE;
  return entry;
}

static fc_status_t read_entry_points(fc_library_t *library,
                                     const tables_t *tables, fc_error_t *err) {
  if (tables->export_count > ENTRY_POINTS_MAX || !tables->functions) {
    return refuse(err, "its export table is damaged");
  }
  library->entry_points = fc_alloc_array(
      library->allocator, tables->export_count, sizeof *library->entry_points);
  if (!library->entry_points) return fc_fail_memory(err);
  for (uint32_t i = 0; i < tables->export_count; i++) {
    if (!tables->functions[i]) return refuse(err, "an export has no function");
    library->entry_points[i] = entry_point(tables, i);
    if (library->entry_points[i].constant_count > FC_DISPATCH_CONSTANTS_MAX ||
        library->entry_points[i].binding_count > FC_DISPATCH_BINDINGS_MAX) {
      return refuse(err, "an export takes too many constants or bindings");
    }
  }
  library->functions = tables->functions;
  library->count = tables->export_count;
  return FC_OK;
}

static fc_status_t open_library(fc_library_t *library, const fc_cpu_t *cpu,
                                const uint32_t *constants,
                                size_t constant_count, fc_error_t *err) {
  library->constants =
      fc_alloc_array(library->allocator, constant_count, sizeof *constants);
  if (!library->constants) return fc_fail_memory(err);
  if (constant_count) {
    memcpy(library->constants, constants, constant_count * sizeof *constants);
  }
  library->environment = (abi_environment_t){.constants = library->constants,
                                             .import_thunk = no_imports};
  library->environment.processor[0] = cpu->words[0];
  tables_t tables = {0};
  FC_TRY(query(library, &tables, err));
  FC_TRY(check_imports(&tables.imports, err));
  if (tables.constant_count != constant_count) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "executable library wants %u constants, %zu are given",
                   tables.constant_count, constant_count);
  }
  void **imports =
      fc_alloc_array(library->allocator, tables.imports.count, sizeof *imports);
  if (!imports) return fc_fail_memory(err);
  library->environment.imports = imports;
  library->environment.import_contexts = imports;
  return read_entry_points(library, &tables, err);
}

fc_status_t fc_library_open(fc_elf_t *take_elf, const fc_cpu_t *cpu,
                            const uint32_t *constants, size_t constant_count,
                            fc_allocator_t allocator,
                            fc_library_t **out_library, fc_error_t *err) {
  fc_library_t *library = fc_alloc(allocator, sizeof *library);
  if (!library) {
    fc_elf_unload(take_elf);
    return fc_fail_memory(err);
  }
  library->allocator = allocator;
  library->elf = take_elf;
  fc_status_t status =
      open_library(library, cpu, constants, constant_count, err);
  if (status != FC_OK) {
    fc_library_close(library);
    return status;
  }
  *out_library = library;
  return FC_OK;
}

void fc_library_close(fc_library_t *library) {
  if (!library) return;
  fc_free(library->allocator, (void *)(uintptr_t)library->environment.imports);
  fc_free(library->allocator, library->entry_points);
  fc_free(library->allocator, library->constants);
  fc_elf_unload(library->elf);
  fc_free(library->allocator, library);
}

size_t fc_library_count(const fc_library_t *library) { return library->count; }

const fc_entry_point_t *fc_library_at(const fc_library_t *library,
                                      size_t index) {
  return &library->entry_points[index];
}

// ---------------------------------------------------------------------------
// Running

#define CLAIM_MAX 64  // most workgroups between two looks at the cancel word

// One grid while its parts run. Each part claims a few workgroups in x, y, z order, runs
// them, and claims the next few. So a slow core runs fewer
// workgroups, and the other cores do not wait for it.
typedef struct run_t {
  const fc_library_t *library;
  const fc_grid_t *grid;
  size_t index;
  abi_dispatch_t dispatch;
  uint64_t total;  // workgroups
  uint64_t claim;  // workgroups that a part claims at once
  _Atomic(uint64_t) next;
  // Written by the first part that fails, and read when all parts have finished; the
  // other parts stop.
  _Atomic(bool) failed;
  fc_status_t status;
  fc_error_t *err;
} run_t;

// True for the first part that fails. Only that part writes status and err.
static bool is_first_failure(run_t *run) {
  return !atomic_exchange_explicit(&run->failed, true, memory_order_relaxed);
}

// Stops the grid because of `why`. The cancel word is also set for a late call, and a
// part may see the word before it has read the clock. So the clock is read here: a late
// call then always fails because its deadline passed.
static void stop(run_t *run, fc_status_t why) {
  if (!is_first_failure(run)) return;
  const fc_status_t late = fc_stop_check(NULL, run->grid->deadline_ns);
  run->status = fc_stop_fail(late != FC_OK ? late : why, run->err);
}

static void fail(run_t *run, int code) {
  if (!is_first_failure(run)) return;
  run->status = fc_fail_as(run->err, FC_CODE_CALL_FAILED, FC_INTERNAL,
                           "kernel %zu failed with code %d", run->index, code);
}

// Runs workgroups [first, first + count). Returns 0, or the result of the first
// workgroup that failed.
static int run_groups(const run_t *run, abi_workgroup_t *workgroup,
                      uint64_t first, uint64_t count) {
  const abi_function_t function = run->library->functions[run->index];
  const uint32_t *size = run->grid->count;
  const uint64_t row = first / size[0];
  workgroup->id_x = (uint32_t)(first % size[0]);
  workgroup->id_y = (uint32_t)(row % size[1]);
  workgroup->id_z = (uint16_t)(row / size[1]);
  for (;;) {
    const int code =
        function(&run->library->environment, &run->dispatch, workgroup);
    if (code || --count == 0) return code;
    if (++workgroup->id_x < size[0]) continue;
    workgroup->id_x = 0;
    if (++workgroup->id_y < size[1]) continue;
    workgroup->id_y = 0;
    workgroup->id_z++;
  }
}

static void run_part(void *argument, uint32_t part) {
  run_t *run = argument;
  const uint32_t local =
      run->library->entry_points[run->index].local_memory_size;
  uint8_t *local_memory = run->grid->local_memory;
  abi_workgroup_t workgroup = {
      .processor_id = part,
      .local_memory = local ? local_memory + (size_t)part * local : NULL,
      .local_memory_size = local};
  // Each thread has its own denormal switch: the threads of `tiles` do not inherit the
  // caller's setting.
  const uint64_t state = fc_cpu_denormals_flush();
  // The first claim is made without reading the clock. A grid of few workgroups has no
  // other claim, and the code that starts grids reads the clock between them.
  uint64_t deadline_ns = 0;
  while (!atomic_load_explicit(&run->failed, memory_order_relaxed)) {
    const uint64_t first =
        atomic_fetch_add_explicit(&run->next, run->claim, memory_order_relaxed);
    if (first >= run->total) break;
    const uint64_t rest = run->total - first;
    const fc_status_t why = fc_stop_check(run->grid->cancel, deadline_ns);
    if (why != FC_OK) {
      stop(run, why);
      break;
    }
    const int code = run_groups(run, &workgroup, first,
                                rest < run->claim ? rest : run->claim);
    if (code) fail(run, code);
    deadline_ns = run->grid->deadline_ns;
  }
  fc_cpu_denormals_restore(state);
}

static uint64_t claim_of(uint64_t total, uint32_t parts) {
  if (parts == 1) return CLAIM_MAX;
  const uint64_t claim = total / (parts * 4);
  return claim < 1 ? 1 : claim > CLAIM_MAX ? CLAIM_MAX : claim;
}

fc_status_t fc_library_run(const fc_library_t *library, size_t index,
                           const fc_grid_t *grid, fc_error_t *err) {
  const fc_entry_point_t *entry = &library->entry_points[index];
  const uint32_t parts = grid->parts ? grid->parts : 1;
  run_t run = {.library = library, .grid = grid, .index = index, .err = err};
  if (__builtin_mul_overflow((uint64_t)grid->count[0] * grid->count[1],
                             grid->count[2], &run.total) ||
      run.total > INT64_MAX) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
                      "a grid of %u x %u x %u workgroups is too large",
                      grid->count[0], grid->count[1], grid->count[2]);
  }
  run.claim = claim_of(run.total, parts);
  run.dispatch = (abi_dispatch_t){.size_x = 1,
                                  .size_y = 1,
                                  .size_z = 1,
                                  .constant_count = entry->constant_count,
                                  .count_x = grid->count[0],
                                  .count_y = grid->count[1],
                                  .count_z = (uint16_t)grid->count[2],
                                  .max_concurrency = (uint8_t)parts,
                                  .binding_count = entry->binding_count,
                                  .constants = grid->constants,
                                  .bindings = grid->bindings,
                                  .binding_sizes = grid->binding_sizes};
  if (parts > 1) {
    grid->tiles->run(grid->tiles->context, parts, run_part, &run);
  } else {
    run_part(&run, 0);
  }
  return run.status;
}

uint32_t fc_library_parts(const fc_library_t *library, size_t index,
                          const uint32_t *count, const fc_tiles_t *tiles) {
  if (!tiles || library->entry_points[index].sequential) return 1;
  uint64_t parts = tiles->count < FC_TILES_MAX ? tiles->count : FC_TILES_MAX;
  // The product of the counts. It is cut at `parts`, so it cannot overflow.
  uint64_t total = 1;
  for (int i = 0; i < 3; i++) {
    total *= count[i];
    if (total == 0) return 1;
    if (total > parts) total = parts;
  }
  return (uint32_t)(total ? total : 1);
}
