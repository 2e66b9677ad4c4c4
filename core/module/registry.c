// SPDX-License-Identifier: Apache-2.0
//
// The names being served, and adding files and directories to them. One thread
// (the loop's, before and while it serves); entries never move or go, so what
// at and find give stays valid until the registry is destroyed.
#include "farcall/module.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/name_table.h"
#include "module/backends.h"
#include "module/files.h"

typedef struct registry_entry_t {
  fc_entry_t entry;
  char text[];  // path
} registry_entry_t;

struct fc_registry_t {
  fc_allocator_t allocator;
  registry_entry_t **entries;
  size_t count;
  size_t capacity;
  fc_name_table_t names;  // to the index of the first entry of that name
  fc_module_options_t options;
};

// What one fc_registry_add does.
typedef struct addition_t {
  fc_registry_t *registry;
  const fc_backend_t *const *backends;
  void (*on_entry)(void *context, const fc_entry_t *entry);
  void *context;
  fc_status_t status;  // of the first failure
  fc_error_t *err;
} addition_t;

fc_status_t fc_registry_create(fc_allocator_t allocator,
                               fc_registry_t **out_registry, fc_error_t *err) {
  fc_registry_t *registry = fc_alloc(allocator, sizeof *registry);
  if (!registry) return fc_fail_memory(err);
  registry->allocator = allocator;
  registry->names.allocator = allocator;
  *out_registry = registry;
  return FC_OK;
}

void fc_registry_destroy(fc_registry_t *registry) {
  if (!registry) return;
  for (size_t i = 0; i < registry->count; i++) {
    fc_module_release(registry->entries[i]->entry.module);
    fc_free(registry->allocator, registry->entries[i]);
  }
  fc_name_table_deinit(&registry->names);
  fc_free(registry->allocator, (void *)registry->entries);
  fc_free(registry->allocator, registry);
}

void fc_registry_configure(fc_registry_t *registry,
                           const fc_module_options_t *options) {
  registry->options = *options;
}

static void note_failure(addition_t *addition, const fc_error_t *err) {
  if (addition->status != FC_OK) return;
  addition->status = err->status;
  if (addition->err) *addition->err = *err;
}

// A place in the list, filled but for the module. NULL when out of memory.
static registry_entry_t *append(fc_registry_t *registry, fc_str_t path) {
  if (registry->count == registry->capacity) {
    size_t capacity = registry->capacity ? registry->capacity * 2 : 8;
    registry_entry_t **moved =
        fc_realloc(registry->allocator, (void *)registry->entries,
                   registry->capacity * sizeof(registry_entry_t *),
                   capacity * sizeof(registry_entry_t *));
    if (!moved) return NULL;
    registry->entries = moved;
    registry->capacity = capacity;
  }
  registry_entry_t *made =
      fc_alloc(registry->allocator, sizeof *made + path.size + 1);
  if (!made) return NULL;
  memcpy(made->text, path.data, path.size);
  made->entry.path = fc_str_make(made->text, path.size);
  made->entry.index = registry->count;
  registry->entries[registry->count++] = made;
  return made;
}

// Clients read the reason, so it names files without their folders.
static fc_status_t load(const addition_t *addition, registry_entry_t *made,
                        fc_error_t *err) {
  fc_entry_t *entry = &made->entry;
  FC_TRY(fc_module_name(entry->path, &entry->name, err));
  const fc_entry_t *other = fc_registry_find(addition->registry, entry->name);
  if (other) {
    return fc_fail(err, FC_CODE_MODULE_PATH,
                   "two modules are called '%.*s': '%.*s' and '%.*s'",
                   FC_STR_ARG(entry->name),
                   FC_STR_ARG(fc_path_file(other->path)),
                   FC_STR_ARG(fc_path_file(entry->path)));
  }
  FC_TRY(fc_name_table_put(&addition->registry->names, entry->name,
                           (uint32_t)entry->index, err));
  return fc_module_load(addition->backends, entry->path,
                        &addition->registry->options,
                        addition->registry->allocator, &entry->module, err);
}

static void add_file(addition_t *addition, fc_str_t path) {
  registry_entry_t *made = append(addition->registry, path);
  if (!made) {
    fc_error_t err;
    fc_fail_memory(&err);
    note_failure(addition, &err);
    return;
  }
  fc_entry_t *entry = &made->entry;
  fc_error_reset(&entry->error);
  entry->name = entry->path;  // until it has a proper one
  // What it should be, as long as nobody has looked.
  const fc_backend_t *named = fc_backends_by_suffix(addition->backends, path);
  entry->kind = named ? named->kind : "";
  if (load(addition, made, &entry->error) != FC_OK) {
    note_failure(addition, &entry->error);
  } else {
    entry->kind = fc_module_get_kind(entry->module);
  }
  if (addition->on_entry) addition->on_entry(addition->context, entry);
}

// Paths of a directory's modules, in bytewise order, in an arena.
typedef struct listing_t {
  fc_str_t *paths;
  size_t count;
  size_t capacity;
} listing_t;

static bool list_path(listing_t *listing, fc_arena_t *arena, fc_str_t folder,
                      fc_str_t file) {
  if (listing->count == listing->capacity) {
    size_t capacity = listing->capacity ? listing->capacity * 2 : 16;
    fc_str_t *moved = fc_arena_alloc_array(arena, capacity, sizeof *moved);
    if (!moved) return false;
    if (listing->count) {
      memcpy(moved, listing->paths, listing->count * sizeof *moved);
    }
    listing->paths = moved;
    listing->capacity = capacity;
  }
  size_t size = folder.size + 1 + file.size;
  char *text = fc_arena_alloc(arena, size, 1);
  if (!text) return false;
  memcpy(text, folder.data, folder.size);
  text[folder.size] = '/';
  memcpy(text + folder.size + 1, file.data, file.size);
  listing->paths[listing->count++] = fc_str_make(text, size);
  return true;
}

static int compare_paths(const void *a, const void *b) {
  return fc_str_compare(*(const fc_str_t *)a, *(const fc_str_t *)b);
}

static fc_status_t fail_empty(const fc_backend_t *const *backends,
                              fc_str_t folder, fc_error_t *err) {
  char kinds[120] = "";
  size_t size = 0;
  for (size_t i = 0; backends[i] && size < sizeof kinds; i++) {
    size += (size_t)snprintf(kinds + size, sizeof kinds - size, "%sno *%s",
                             i ? " and " : "", backends[i]->suffix);
  }
  return fc_fail(err, FC_CODE_MODULE_PATH, "%s in directory '%.*s'", kinds,
                 FC_STR_ARG(folder));
}

static fc_status_t list_directory(const addition_t *addition, DIR *directory,
                                  fc_str_t folder, fc_arena_t *arena,
                                  listing_t *out_listing, fc_error_t *err) {
  listing_t listing = {0};
  while (folder.size > 1 && folder.data[folder.size - 1] == '/') folder.size--;
  for (;;) {
    errno = 0;
    const struct dirent *file = readdir(directory);
    if (!file && errno) {
      return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read '%.*s': %s",
                     FC_STR_ARG(folder), strerror(errno));
    }
    if (!file) break;
    fc_str_t name = fc_str(file->d_name);
    if (name.data[0] == '.' ||
        !fc_backends_by_suffix(addition->backends, name)) {
      continue;
    }
    if (!list_path(&listing, arena, folder, name)) return fc_fail_memory(err);
  }
  if (listing.count == 0) {
    return fail_empty(addition->backends, folder, err);
  }
  qsort(listing.paths, listing.count, sizeof *listing.paths, compare_paths);
  *out_listing = listing;
  return FC_OK;
}

static void add_directory(addition_t *addition, DIR *directory, fc_str_t path) {
  fc_arena_t arena;
  listing_t listing = {0};
  fc_error_t err;
  fc_arena_init(&arena, addition->registry->allocator, 4096, SIZE_MAX);
  if (list_directory(addition, directory, path, &arena, &listing, &err) !=
      FC_OK) {
    note_failure(addition, &err);
  }
  for (size_t i = 0; i < listing.count; i++) {
    add_file(addition, listing.paths[i]);
  }
  fc_arena_deinit(&arena);
}

fc_status_t fc_registry_add(fc_registry_t *registry,
                            const fc_backend_t *const *backends, fc_str_t path,
                            void (*on_entry)(void *context,
                                             const fc_entry_t *entry),
                            void *context, fc_error_t *err) {
  addition_t addition = {.registry = registry,
                         .backends = backends ? backends : fc_backends,
                         .on_entry = on_entry,
                         .context = context,
                         .err = err};
  char text[4096] = "";
  if (path.size < sizeof text) memcpy(text, path.data, path.size);
  DIR *directory = opendir(text);
  if (directory) {
    add_directory(&addition, directory, path);
    closedir(directory);
  } else {
    add_file(&addition, path);
  }
  return addition.status;
}

void fc_registry_fail(fc_registry_t *registry, size_t index,
                      const fc_error_t *error) {
  FC_ASSERT(index < registry->count);
  fc_entry_t *entry = &registry->entries[index]->entry;
  // Its name lies in the module.
  (void)fc_module_name(entry->path, &entry->name, NULL);
  fc_module_release(entry->module);
  entry->module = NULL;
  entry->error = *error;
}

void fc_registry_replace(fc_registry_t *registry, size_t index,
                         fc_module_t *take_module) {
  FC_ASSERT(index < registry->count);
  fc_entry_t *entry = &registry->entries[index]->entry;
  fc_module_release(entry->module);
  entry->module = take_module;
  entry->name = fc_module_get_name(take_module);
}

size_t fc_registry_count(const fc_registry_t *registry) {
  return registry->count;
}

const fc_entry_t *fc_registry_at(const fc_registry_t *registry, size_t index) {
  FC_ASSERT(index < registry->count);
  return &registry->entries[index]->entry;
}

const fc_entry_t *fc_registry_find(const fc_registry_t *registry,
                                   fc_str_t name) {
  const uint32_t index = fc_name_table_find(&registry->names, name);
  return index == FC_NAME_NONE ? NULL : &registry->entries[index]->entry;
}

const fc_entry_t *fc_registry_nearest(const fc_registry_t *registry,
                                      fc_str_t name) {
  const fc_entry_t *nearest = NULL;
  fc_nearest_t search = fc_nearest_begin(name);
  for (size_t i = 0; i < registry->count; i++) {
    const fc_entry_t *entry = &registry->entries[i]->entry;
    if (fc_nearest_offer(&search, entry->name)) nearest = entry;
  }
  return nearest;
}
