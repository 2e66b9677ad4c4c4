// SPDX-License-Identifier: Apache-2.0
//
// Kernels that record how they were run, in the form that a compiler emits: an
// executable library of version 0_6 that needs no other library. The structures are the
// parts of IREE's executable_library.h that are used here.
#include <stdint.h>

typedef struct dispatch_t {
  uint32_t size_x, size_y;
  uint16_t size_z, constant_count;
  uint32_t count_x, count_y;
  uint16_t count_z;
  uint8_t max_concurrency, binding_count;
  const uint32_t *constants;
  void *const *bindings;
  const uint64_t *binding_sizes;
} dispatch_t;

typedef struct workgroup_t {
  uint32_t id_x, id_y;
  uint16_t id_z, reserved;
  uint32_t processor;
  volatile uint32_t *local_memory;
  uint32_t local_memory_size;
} workgroup_t;

typedef int (*function_t)(const void *environment, const dispatch_t *dispatch,
                          const workgroup_t *workgroup);

static uint64_t number(const dispatch_t *d, const workgroup_t *w) {
  return ((uint64_t)w->id_z * d->count_y + w->id_y) * d->count_x + w->id_x;
}

// Counts each workgroup in its own cell. Fails if another workgroup writes to its local
// memory at the same time.
static int mark(const void *environment, const dispatch_t *dispatch,
                const workgroup_t *workgroup) {
  (void)environment;
  uint32_t *cells = dispatch->bindings[0];
  const uint64_t me = number(dispatch, workgroup);
  volatile uint32_t *local = workgroup->local_memory;
  const uint32_t words = workgroup->local_memory_size / 4;
  for (uint32_t i = 0; i < words; i++) local[i] = (uint32_t)me;
  for (uint32_t i = 0; i < words; i++) {
    if (local[i] != (uint32_t)me) return 3;
  }
  if (workgroup->processor >= dispatch->max_concurrency) return 4;
  cells[me]++;
  return 0;
}

// Counts each workgroup. Workgroup number constants[0] fails with 7.
static int fail(const void *environment, const dispatch_t *dispatch,
                const workgroup_t *workgroup) {
  (void)environment;
  uint32_t *cells = dispatch->bindings[0];
  const uint64_t me = number(dispatch, workgroup);
  cells[me]++;
  return me == dispatch->constants[0] ? 7 : 0;
}

// Counts each workgroup. Workgroup number constants[0] sets the word of binding 1.
static int raise_word(const void *environment, const dispatch_t *dispatch,
                      const workgroup_t *workgroup) {
  (void)environment;
  uint32_t *cells = dispatch->bindings[0];
  const uint64_t me = number(dispatch, workgroup);
  cells[me]++;
  if (me == dispatch->constants[0]) {
    __atomic_store_n((uint32_t *)dispatch->bindings[1], 1, __ATOMIC_RELAXED);
  }
  return 0;
}

// Fails unless its workgroups are run in order, as its flag demands.
static int in_order(const void *environment, const dispatch_t *dispatch,
                    const workgroup_t *workgroup) {
  (void)environment;
  uint32_t *next = dispatch->bindings[0];
  return (*next)++ == number(dispatch, workgroup) ? 0 : 8;
}

typedef struct attributes_t {
  uint64_t flags;
  uint16_t local_memory_pages;
  uint8_t constant_count, binding_count;
  uint32_t size_x, size_y;
  uint16_t size_z, parameter_count;
  uint64_t reserved[5];
} attributes_t;

typedef struct header_t {
  uint32_t version;
  const char *name;
  uint32_t features, sanitizer;
} header_t;

static const header_t header = {6, "tiles", 0, 0};
static const function_t functions[] = {mark, fail, raise_word, in_order};
static const attributes_t attributes[] = {
    {.local_memory_pages = 1, .binding_count = 1},
    {.constant_count = 1, .binding_count = 1},
    {.constant_count = 1, .binding_count = 2},
    {.flags = 1, .binding_count = 1},
};
static const char *const names[] = {"mark", "fail", "raise", "in_order"};

// tiles.elf imports nothing; optional.elf can do without its imports,
// needed.elf cannot.
#if defined(KERNEL_optional) || defined(SKEWED)
static const char *const imports[] = {"?one", "two?"};
#elif defined(KERNEL_needed)
static const char *const imports[] = {"?one", "two?", "three"};
#endif

// In skewed-N.elf, table number N is at an odd address.
#if !defined(SKEWED)
#define SKEWED 0
#endif
#define TABLE(n, table) \
  ((const void *)((const char *)(table) + (SKEWED == (n))))

static const struct {
  const header_t *header;
  uint32_t import_count;
  const char *const *imports;
  uint32_t count;
  const function_t *functions;
  const attributes_t *attributes;
  const void *params, *occupancy;
  const char *const *names;
  const void *tags, *parameter_names, *sources, *stages;
  uint32_t constant_count;
} library = {.header = TABLE(2, &header),
#if !defined(KERNEL_tiles)
             .import_count = sizeof imports / sizeof imports[0],
             .imports = TABLE(3, imports),
#endif
             .count = 4,
             .functions = TABLE(4, functions),
             .attributes = TABLE(5, attributes),
             .names = TABLE(6, names)};

const void *iree_hal_executable_library_query(uint32_t version,
                                              const void *environment);
const void *iree_hal_executable_library_query(uint32_t version,
                                              const void *environment) {
  (void)environment;
  return version == 6 ? TABLE(1, &library) : (void *)0;
}
