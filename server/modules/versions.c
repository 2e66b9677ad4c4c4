// SPDX-License-Identifier: Apache-2.0
//
// A policy's text is short and is needed once for each file of a version, so it is parsed
// each time.
#include "modules/versions.h"

#include "module/files.h"

#define MOST 999999u  // the largest N of latest:N

static bool read_latest(fc_str_t policy, uint32_t *out_count) {
  static const fc_str_t kLatest = FC_STR("latest:");
  uint32_t count = 0;
  if (!fc_str_starts(policy, kLatest)) return false;
  const fc_str_t number =
      fc_str_make(policy.data + kLatest.size, policy.size - kLatest.size);
  if (!fc_is_version(number) || number.size > 6) return false;
  for (size_t i = 0; i < number.size; i++) {
    count = count * 10 + (uint32_t)(number.data[i] - '0');
  }
  *out_count = count;
  return true;
}

static bool is_list(fc_str_t policy) {
  while (policy.size) {
    if (!fc_is_version(fc_str_take(&policy, '+'))) return false;
  }
  return true;
}

static bool is_policy(fc_str_t policy) {
  uint32_t ignored;
  return fc_str_equal(policy, FC_STR("all")) || read_latest(policy, &ignored) ||
         (policy.size && is_list(policy));
}

fc_status_t fc_versions_check(fc_str_t policy, fc_error_t *err) {
  if (is_policy(policy)) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, policy);
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "'%s' is no value for versions: all, latest:N, or "
                 "numbers as 1+3",
                 shown);
}

static fc_str_t policy_of(const fc_module_policies_t *policies,
                          fc_str_t module) {
  return fc_str(fc_module_policies_find(policies, module)->versions);
}

static bool is_all(const fc_module_policy_t *policy) {
  return fc_str_equal(fc_str(policy->versions), FC_STR("all"));
}

static bool are_all(const fc_module_policies_t *policies) {
  bool all = is_all(&policies->others);
  for (uint32_t i = 0; all && i < policies->count; i++) {
    all = is_all(&policies->items[i]);
  }
  return all;
}

static bool is_served(fc_str_t policy, fc_str_t version, uint32_t higher) {
  uint32_t latest = MOST;
  if (fc_str_equal(policy, FC_STR("all"))) return true;
  if (read_latest(policy, &latest)) return higher < latest;
  while (policy.size) {
    if (fc_str_equal(fc_str_take(&policy, '+'), version)) return true;
  }
  return false;
}

static bool is_of(const fc_listed_t *file, fc_str_t name,
                  fc_str_t *out_version) {
  fc_str_t other;
  return fc_path_is_version(file->path, &other, out_version) &&
         fc_str_equal(other, name);
}

static bool is_listed(const fc_listing_t *listing, const fc_unread_t *unread) {
  const fc_str_t version = fc_path_file(unread->folder);
  fc_str_t theirs;
  for (size_t i = 0; i < listing->count; i++) {
    if (is_of(&listing->files[i], unread->name, &theirs) &&
        fc_str_equal(theirs, version)) {
      return true;
    }
  }
  return false;
}

// Counts the versions of `name` above `version` that are served but cannot be read now.
// Without them a lower version would count as one of the latest and be loaded.
static uint32_t count_unread(const fc_listing_t *listing, fc_str_t name,
                             fc_str_t version) {
  uint32_t count = 0;
  for (const fc_unread_t *at = listing->unread; at; at = at->next) {
    count += at->served && fc_str_equal(at->name, name) &&
             fc_version_compare(fc_path_file(at->folder), version) > 0 &&
             !is_listed(listing, at);
  }
  return count;
}

// Counts the versions of `name` above `version` in the listing. Listings are sorted, so
// the files of one name are neighbours, and so are several files of one version, which
// count once.
static uint32_t count_higher(const fc_listing_t *listing, size_t at,
                             fc_str_t name, fc_str_t version) {
  fc_str_t theirs, last = FC_STR("");
  uint32_t count = 0;
  while (at > 0 && is_of(&listing->files[at - 1], name, &theirs)) at--;
  for (; at < listing->count; at++) {
    if (!is_of(&listing->files[at], name, &theirs)) break;
    if (fc_str_equal(theirs, last)) continue;
    last = theirs;
    count += fc_version_compare(theirs, version) > 0;
  }
  return count;
}

void fc_versions_filter(const fc_module_policies_t *policies,
                        fc_listing_t *listing) {
  size_t kept = 0;
  if (are_all(policies)) return;
  // All files are marked before any is removed, because each is compared with all
  // versions in the listing.
  for (size_t i = 0; i < listing->count; i++) {
    fc_str_t name, version;
    fc_listed_t *file = &listing->files[i];
    file->served = !fc_path_is_version(file->path, &name, &version) ||
                   is_served(policy_of(policies, name), version,
                             count_higher(listing, i, name, version) +
                                 count_unread(listing, name, version));
  }
  for (size_t i = 0; i < listing->count; i++) {
    if (listing->files[i].served) listing->files[kept++] = listing->files[i];
  }
  listing->count = kept;
}
