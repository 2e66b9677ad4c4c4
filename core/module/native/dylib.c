// SPDX-License-Identifier: Apache-2.0
//
// Loading: the checks before dlopen, dlopen itself, and redirecting the module's
// references to malloc and similar functions. References are redirected by rewriting the
// addresses that the loader put into the module's offset table and data. The snapshot is
// immutable, so what the file says about these places also holds for the loaded image.
#include "module/native/dylib.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "module/native/fpenv.h"
#include "module/native/libc.h"
#include "module/native/shim.h"

// RTLD_DEEPBIND makes the loader find a module's own functions before the process's.
// Sanitizers cannot work with it, because their malloc is found through the process.
#if FC_SANITIZED
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL)
#define PLACE_OF_HEAP(handle) ((void)(handle), RTLD_DEFAULT)
#else
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#define PLACE_OF_HEAP(handle) (handle)
#endif

fc_status_t fc_dylib_check(const fc_so_t *elf, fc_dylib_t *out_dylib,
                           fc_error_t *err) {
  bool leavable = true;
  for (size_t i = 0; i < elf->symbol_count; i++) {
    fc_so_symbol_t symbol;
    if (!fc_so_symbol(elf, i, &symbol) || symbol.name.size == 0) continue;
    if (!symbol.defined) {
      leavable = leavable && fc_libc_is_harmless(symbol.name);
    } else if (symbol.function && fc_libc_is_reserved(symbol.name)) {
      return fc_fail(err, FC_CODE_SYMBOL_CLASH,
                     "it defines '%.*s', a name of the C library: calls of it "
                     "may run the library's instead; rename it",
                     FC_STR_ARG(symbol.name));
    }
  }
  *out_dylib = (fc_dylib_t){.leavable = leavable};
  return FC_OK;
}

// Fails with the loader's last message, without paths, for example "X: cannot open shared
// object file" or "undefined symbol: Y", and adds what to do about it. The text
// is copied, because the next call of the loader frees it.
static fc_status_t fail_to_load(fc_error_t *err) {
  static const char kMissing[] = ": cannot open shared object file";
  static const char kUndefined[] = "undefined symbol: ";
  const char *said = dlerror();
  char text[2 * PATH_MAX];
  snprintf(text, sizeof text, "%s", said ? said : "unknown reason");
  const char *missing = strstr(text, kMissing);
  const char *undefined = strstr(text, kUndefined);
  if (missing && text[0] != '/') {
    const bool runtime = !strncmp(text, "libmlir", 7);
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "it needs %.*s, which the loader does not find%s",
                   (int)(missing - text), text,
                   runtime ? "; farcall offers memrefCopy and the bf16 "
                             "conversions itself, so link without it"
                           : "");
  }
  if (undefined) {
    const char *name = undefined + sizeof kUndefined - 1;
    const size_t size = strcspn(name, ", \t\n");
    const bool math = fc_libc_is_math(fc_str_make(name, size));
    return fc_fail(err, FC_CODE_MODULE_LOAD, "undefined symbol '%.*s'%s",
                   (int)size, name, math ? ": link it with -lm" : "");
  }
  const char *slash = strrchr(text, '/');
  return fc_fail(err, FC_CODE_MODULE_LOAD, "the loader refuses it: %s",
                 slash ? slash + 1 : text);
}

// Makes a name for the file of the snapshot that the dynamic linker has not loaded yet:
// it does not load a second file under a known name. The name contains the number of a
// descriptor, which may have belonged to another module's file. So slashes are added
// until the name is new.
static fc_status_t name_snapshot(const fc_snapshot_t *snapshot, char *out_name,
                                 size_t capacity, fc_error_t *err) {
  static const char kFolder[] = "/proc/self/fd";
  for (size_t size = sizeof kFolder; size + 12 < capacity; size++) {
    memset(out_name, '/', size);
    memcpy(out_name, kFolder, sizeof kFolder - 1);
    snprintf(out_name + size, capacity - size, "%d", snapshot->fd);
    void *other = dlopen(out_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!other) return FC_OK;
    dlclose(other);
  }
  return fc_fail(err, FC_CODE_MODULE_LOAD, "too many modules are loaded");
}

// Copies the path, with "./" before it if it has no slash: for a name without a slash the
// loader would search its own directories.
static fc_status_t name_file(fc_str_t path, char *out_name, size_t capacity,
                             fc_error_t *err) {
  const char *here = memchr(path.data, '/', path.size) ? "" : "./";
  const int size =
      snprintf(out_name, capacity, "%s%.*s", here, FC_STR_ARG(path));
  if (size > 0 && (size_t)size < capacity) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_PATH, "its path is too long");
}

// True when the file at `path` still has the snapshot's bytes. The file is mapped, not
// copied, because a worker process may not make files in memory.
static bool is_unchanged(const fc_snapshot_t *snapshot, const char *path) {
  fc_snapshot_t now = FC_SNAPSHOT_NONE;
  int file;
  if (fc_snapshot_open_file(path, &file, NULL) != FC_OK) return false;
  const bool same = fc_snapshot_make(file, SIZE_MAX, 1, &now, NULL) == FC_OK &&
                    fc_str_equal(now.bytes, snapshot->bytes);
  close(file);
  fc_snapshot_close(&now);
  return same;
}

// Checks that a module that uses $ORIGIN can be loaded from its file. $ORIGIN means the
// directory of the file's real path, so the snapshot cannot be loaded instead, and a
// worker process needs the file in its old place. The file must still have the bytes
// that were described; a change after this check is not noticed.
static fc_status_t check_origin(const fc_snapshot_t *snapshot, const char *path,
                                fc_error_t *err) {
  void *twin = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (twin) {
    dlclose(twin);
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "it is loaded already; as it finds its libraries by "
                   "$ORIGIN, that can be done once");
  }
  if (!is_unchanged(snapshot, path)) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "the file is gone or another by now; as it finds its "
                   "libraries by $ORIGIN, it must stay where it is");
  }
  return FC_OK;
}

static fc_status_t load(const fc_snapshot_t *snapshot, const fc_so_t *elf,
                        fc_str_t path, void **out_handle, fc_error_t *err) {
  char name[PATH_MAX];
  if (fc_so_uses_origin(elf)) {
    FC_TRY(name_file(path, name, sizeof name, err));
    FC_TRY(check_origin(snapshot, name, err));
  } else {
    FC_TRY(name_snapshot(snapshot, name, sizeof name, err));
  }
  fc_shim_offer();
  const fc_fpenv_t env = fc_fpenv_get();
  void *handle = dlopen(name, OPEN_FLAGS);
  fc_fpenv_set(env);
  if (!handle) return fail_to_load(err);
  *out_handle = handle;
  return FC_OK;
}

static fc_status_t note_segments(fc_dylib_t *dylib, const fc_so_t *elf,
                                 fc_error_t *err) {
  const size_t count = elf->header->e_phnum;
  dylib->segments =
      fc_alloc_array(dylib->allocator, count, sizeof *dylib->segments);
  if (!dylib->segments) return fc_fail_memory(err);
  for (size_t i = 0; i < count; i++) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R)) continue;
    dylib->segments[dylib->segment_count++] = (fc_span_t){
        (uint8_t *)(dylib->base + segment->p_vaddr), segment->p_memsz};
  }
  return FC_OK;
}

static const fc_hook_entry_t *find_hook(fc_str_t symbol) {
  for (size_t i = 0; i < fc_hook_entry_count; i++) {
    if (fc_str_equal(symbol, fc_str(fc_hook_entries[i].name))) {
      return &fc_hook_entries[i];
    }
  }
  return NULL;
}

static void count_reference(void *context, fc_str_t symbol, uint64_t address) {
  (void)address;
  size_t *count = context;
  if (find_hook(symbol)) ++*count;
}

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

// Stores `value` at the reference. If the loader made the reference's page read-only, the
// page is made writable for a moment. No other thread runs the module's code at this
// time. False when the system refuses to make the page writable.
static bool store(const fc_dylib_reference_t *reference, void *value) {
  if (!reference->protected) {
    *reference->place = value;
    return true;
  }
  const uintptr_t size = page_size();
  void *page = (void *)((uintptr_t)reference->place & ~(size - 1));
  if (mprotect(page, size, PROT_READ | PROT_WRITE) < 0) return false;
  *reference->place = value;
  mprotect(page, size, PROT_READ);
  return true;
}

typedef struct redirect_t {
  fc_dylib_t *dylib;
  const fc_so_t *elf;
  bool heap_known[sizeof(fc_heap_t) / sizeof(void *)];
  int failed;  // errno of a reference that could not be redirected
} redirect_t;

static void redirect(void *context, fc_str_t symbol, uint64_t address) {
  redirect_t *work = context;
  fc_dylib_t *dylib = work->dylib;
  const fc_hook_entry_t *hook = find_hook(symbol);
  if (!hook) return;
  void **place = (void **)(dylib->base + address);
  void *original = *place;
  if (!original) return;  // a missing weak symbol: the module tests for it
  fc_dylib_reference_t *reference =
      &dylib->references[dylib->reference_count++];
  *reference = (fc_dylib_reference_t){
      place, original, fc_so_is_protected(work->elf, address, page_size())};
  if (hook->heap_member != FC_HEAP_NONE) {
    memcpy((char *)&dylib->heap + hook->heap_member, &original,
           sizeof original);
    work->heap_known[hook->heap_member / sizeof original] = true;
  }
  if (!store(reference, hook->replacement)) work->failed = errno;
}

// Completes the table of allocation functions. A block must be freed by the `free` that
// belongs to its malloc. So if one of the functions that the module imports is not the
// process's, the others are also taken from the place where the module would find them.
static void complete_heap(redirect_t *work) {
  const fc_heap_t own = fc_heap_default();
  fc_dylib_t *dylib = work->dylib;
  if (!memcmp(&own, &dylib->heap, sizeof own)) return;
  for (size_t i = 0; i < fc_hook_entry_count; i++) {
    const fc_hook_entry_t *hook = &fc_hook_entries[i];
    if (hook->heap_member == FC_HEAP_NONE ||
        work->heap_known[hook->heap_member / sizeof(void *)]) {
      continue;
    }
    void *original = dlsym(PLACE_OF_HEAP(dylib->handle), hook->name);
    if (!original) continue;
    memcpy((char *)&dylib->heap + hook->heap_member, &original,
           sizeof original);
  }
}

static fc_status_t redirect_all(fc_dylib_t *dylib, const fc_so_t *elf,
                                fc_error_t *err) {
  size_t count = 0;
  fc_so_each_reference(elf, count_reference, &count);
  dylib->references =
      fc_alloc_array(dylib->allocator, count, sizeof(fc_dylib_reference_t));
  if (!dylib->references) return fc_fail_memory(err);
  dylib->heap = fc_heap_default();
  redirect_t work = {.dylib = dylib, .elf = elf};
  fc_so_each_reference(elf, redirect, &work);
  if (work.failed) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "its calls of malloc cannot be redirected: %s",
                   strerror(work.failed));
  }
  complete_heap(&work);
  const fc_heap_t own = fc_heap_default();
  if (!dylib->leavable && memcmp(&own, &dylib->heap, sizeof own) != 0) {
    // The module imports functions that can make threads. On such a thread the hooks use
    // the process's malloc, but a call would free that memory with the module's free.
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "its malloc is not the process's; unload what replaces "
                   "malloc (LD_PRELOAD)");
  }
  return FC_OK;
}

fc_status_t fc_dylib_open(fc_dylib_t *dylib, const fc_snapshot_t *snapshot,
                          const fc_so_t *elf, fc_str_t path,
                          fc_allocator_t allocator, fc_error_t *err) {
  dylib->allocator = allocator;
  FC_TRY(load(snapshot, elf, path, &dylib->handle, err));
  FC_ASSERT(dylib->handle);
  struct link_map *map;
  if (dlinfo(dylib->handle, RTLD_DI_LINKMAP, &map) < 0) {
    return fail_to_load(err);
  }
  dylib->base = map->l_addr;
  FC_TRY(note_segments(dylib, elf, err));
  return redirect_all(dylib, elf, err);
}

void fc_dylib_close(fc_dylib_t *dylib) {
  for (size_t i = 0; i < dylib->reference_count; i++) {
    (void)store(&dylib->references[i], dylib->references[i].original);
  }
  if (dylib->handle) dlclose(dylib->handle);
  if (dylib->references) fc_free(dylib->allocator, dylib->references);
  if (dylib->segments) fc_free(dylib->allocator, dylib->segments);
  *dylib = (fc_dylib_t){0};
}

void *fc_dylib_find(const fc_dylib_t *dylib, const char *name) {
  return dlsym(dylib->handle, name);
}

bool fc_dylib_contains(const fc_dylib_t *dylib, fc_span_t bytes) {
  for (size_t i = 0; i < dylib->segment_count; i++) {
    if (fc_span_holds(dylib->segments[i], bytes)) return true;
  }
  return false;
}
