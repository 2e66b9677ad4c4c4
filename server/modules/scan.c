// SPDX-License-Identifier: Apache-2.0
//
// See scan.h.
#include "modules/scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "module/backends.h"
#include "module/files.h"

static fc_status_t add_path(fc_listing_t *listing, fc_str_t folder,
                            fc_str_t file, fc_error_t *err) {
  if (listing->count == listing->capacity) {
    size_t capacity = listing->capacity ? listing->capacity * 2 : 16;
    fc_str_t *moved =
        fc_arena_alloc_array(&listing->arena, capacity, sizeof *moved);
    if (!moved) return fc_fail_memory(err);
    if (listing->count) {
      memcpy(moved, listing->paths, listing->count * sizeof *moved);
    }
    listing->paths = moved;
    listing->capacity = capacity;
  }
  const size_t lead = folder.size ? folder.size + 1 : 0;
  char *text = fc_arena_alloc(&listing->arena, lead + file.size + 1, 1);
  if (!text) return fc_fail_memory(err);
  if (lead) {
    memcpy(text, folder.data, folder.size);
    text[folder.size] = '/';
  }
  if (file.size) memcpy(text + lead, file.data, file.size);
  listing->paths[listing->count++] = fc_str_make(text, lead + file.size);
  return FC_OK;
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

static fc_status_t list_directory(DIR *directory, fc_str_t folder,
                                  const fc_backend_t *const *backends,
                                  fc_listing_t *listing, fc_error_t *err) {
  while (folder.size > 1 && folder.data[folder.size - 1] == '/') folder.size--;
  for (;;) {
    errno = 0;
    const struct dirent *file = readdir(directory);
    if (!file && errno) {
      return fc_fail(err, FC_CODE_MODULE_PATH, "cannot read '%.*s': %s",
                     FC_STR_ARG(folder), strerror(errno));
    }
    if (!file) break;
    const fc_str_t name = fc_str(file->d_name);
    if (name.data[0] == '.' || !fc_backends_by_suffix(backends, name)) continue;
    FC_TRY(add_path(listing, folder, name, err));
  }
  if (listing->count == 0) return fail_empty(backends, folder, err);
  qsort(listing->paths, listing->count, sizeof *listing->paths, compare_paths);
  return FC_OK;
}

fc_status_t fc_scan(fc_str_t path, const fc_backend_t *const *backends,
                    fc_allocator_t allocator, fc_listing_t *out_listing,
                    fc_error_t *err) {
  char text[FC_PATH_SIZE_MAX] = "";
  fc_listing_t listing = {0};
  fc_status_t status;
  fc_arena_init(&listing.arena, allocator, 4096, SIZE_MAX);
  if (path.size < sizeof text) memcpy(text, path.data, path.size);
  DIR *directory = opendir(text);
  if (directory) {
    status = list_directory(directory, path, backends, &listing, err);
    closedir(directory);
  } else {
    status = add_path(&listing, FC_STR(""), path, err);
  }
  if (status == FC_OK) *out_listing = listing;
  else fc_listing_deinit(&listing);
  return status;
}

void fc_listing_deinit(fc_listing_t *listing) {
  fc_arena_deinit(&listing->arena);
  *listing = (fc_listing_t){0};
}
