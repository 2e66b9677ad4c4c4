// SPDX-License-Identifier: Apache-2.0
#include "named.h"

#include <stdio.h>

#include "config/file.h"
#include "module/files.h"
#include "modules/scan.h"

// Returns the name of the module that a member of "modules" is about.
static fc_str_t name_of(const fc_module_policy_t *policy) {
  fc_str_t name;
  (void)fc_module_policy_is_version(fc_str(policy->name), &name);
  return name;
}

static void explain(const fc_server_options_t *options,
                    const fc_module_policy_t *policy, fc_str_t nearest,
                    fc_error_t *out) {
  char shown[80], hint[160] = "";
  fc_escape(shown, sizeof shown, 64, name_of(policy));
  if (nearest.size) fc_escape(hint, sizeof hint, 128, nearest);
  (void)fc_fail(
      out, FC_CODE_MODULE_NOT_FOUND, "no PATH has a module '%s'%s%s%s", shown,
      nearest.size ? ": did you mean '" : "", hint, nearest.size ? "'?" : "");
  fc_config_locate_at(options, policy->origin, out);
}

void fc_named_tell(fc_loop_t *loop) {
  const fc_generations_t *all = &loop->modules.generations;
  const fc_config_file_t *file = &loop->options->file;
  for (size_t i = 0; i < file->module_count; i++) {
    const fc_str_t name = name_of(&file->modules[i]);
    fc_nearest_t search = fc_nearest_begin(name);
    fc_error_t error;
    if (fc_generations_find(all, name)) continue;
    const fc_generation_t *near = fc_generations_nearest(all, &search);
    explain(loop->options, &file->modules[i],
            near ? near->claim.name : FC_STR(""), &error);
    fc_log(&loop->log, FC_LOG_WARN, "%s", error.message);
  }
}

// ---------------------------------------------------------------------------
// For -t, before a start

static fc_status_t list(const char *path, fc_listing_t *out, fc_error_t *err) {
  FC_TRY(
      fc_scan(fc_str(path), fc_backends, -1, fc_allocator_system(), out, err));
  if (out->is_directory || (out->count && out->files[0].mark)) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_PATH,
                 "PATH '%.200s': there is no such file", path);
}

static fc_status_t list_all(const fc_server_options_t *options,
                            fc_listing_t *listings, fc_error_t *err) {
  for (size_t i = 0; i < options->path_count; i++) {
    const fc_status_t status = list(options->paths[i], &listings[i], err);
    if (status != FC_OK && options->strict_load) return status;
    if (status != FC_OK) fprintf(stderr, "farcalld: %s\n", err->message);
  }
  return FC_OK;
}

// Is the name in a listing? If not, *out_nearest is the nearest name there, if any is
// near.
static bool is_listed(const fc_listing_t *listings, size_t count,
                      fc_str_t wanted, fc_str_t *out_nearest) {
  fc_nearest_t search = fc_nearest_begin(wanted);
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < listings[i].count; k++) {
      fc_str_t name, version;
      fc_path_identify(listings[i].files[k].path, &name, &version);
      if (fc_str_equal(name, wanted)) return true;
      if (fc_nearest_offer(&search, name)) *out_nearest = name;
    }
  }
  return false;
}

static void complain_of_unlisted(const fc_server_options_t *options,
                                 const fc_listing_t *listings) {
  for (size_t i = 0; i < options->file.module_count; i++) {
    const fc_module_policy_t *policy = &options->file.modules[i];
    fc_str_t nearest = FC_STR("");
    fc_error_t error;
    if (is_listed(listings, options->path_count, name_of(policy), &nearest)) {
      continue;
    }
    explain(options, policy, nearest, &error);
    fprintf(stderr, "farcalld: %s\n", error.message);
  }
}

fc_status_t fc_named_check(const fc_server_options_t *options,
                           fc_error_t *err) {
  const fc_allocator_t allocator = fc_allocator_system();
  if (!options->path_count) return FC_OK;
  fc_listing_t *listings =
      fc_alloc_array(allocator, options->path_count, sizeof *listings);
  if (!listings) return fc_fail_memory(err);
  const fc_status_t status = list_all(options, listings, err);
  if (status == FC_OK) complain_of_unlisted(options, listings);
  for (size_t i = 0; i < options->path_count; i++) {
    fc_listing_deinit(&listings[i]);
  }
  fc_free(allocator, listings);
  return status;
}
