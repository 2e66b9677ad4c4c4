// SPDX-License-Identifier: Apache-2.0
//
// Loads one module: chooses the backend and the name, takes one snapshot of each file,
// hashes, makes a plan for each callable function. Runs on the thread that loads. A
// loaded module is immutable except for its digests, which may be set later
// (fc_module_hash). Any thread may hold it.
#include "farcall/module.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "abi/print.h"
#include "abi/sizes.h"
#include "base/name_table.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "marshal/batch.h"
#include "module/admit.h"
#include "module/backends.h"
#include "module/examples.h"
#include "module/files.h"
#include "module/prove.h"
#include "module/snapshot.h"
#include "module/states.h"
#include "module/variant.h"

#define SHA256_SIZE ((size_t)64)  // as text

// What the module owns of a function.
typedef struct own_t {
  fc_plan_t *plan;  // NULL when none can be made
  // Its signature if it is neither in `info` nor in `sizes`, else NULL. Such a signature
  // belongs to a function for which no plan can be made, or whose rows were tested for
  // batching.
  fc_signature_t *replaced;
} own_t;

struct fc_module_t {
  _Atomic(uint32_t) references;
  fc_allocator_t allocator;
  const fc_backend_t *backend;
  void *handle;  // of the backend, NULL until the backend has opened the file
  const fc_module_info_t *info;
  fc_sizes_t *sizes;  // NULL: each function of `info` is listed as it is
  fc_function_t *functions;
  size_t function_count;
  fc_name_table_t names;        // of functions, to their index
  fc_expectations_t *examples;  // NULL: there are none
  fc_snapshot_t file;
  fc_snapshot_t sidecar;
  fc_str_t name;     // inside `path`
  fc_str_t version;  // inside `path`, or "1"
  fc_str_t path;
  fc_file_digest_t file_digest;  // sha256 is "" if not hashed when read
  // Stored with release after `sha256` and the digests below, loaded with
  // acquire before they are read: the file may be hashed while the module is
  // used.
  _Atomic(bool) hashed;
  // The sums of the module's sidecar and of its variant's sidecar about which `admit`
  // was asked. "": there is no sidecar, or no `admit`.
  char sidecar_sums[2][65];
  char sha256[65];
  char digest[FC_DIGEST_SIZE];
  char settled[FC_DIGEST_SIZE];     // like `digest`, but with the verdicts
  char (*digests)[FC_DIGEST_SIZE];  // one for each function
  own_t *own;                       // one for each function
  char path_bytes[];
};

// Half a SHA-256 is enough: digests only distinguish versions, and protect nothing.
static void finish_digest(fc_sha256_t *hash, char out[FC_DIGEST_SIZE]) {
  char hex[65];
  fc_sha256_finish(hash, hex);
  memcpy(out, hex, FC_DIGEST_SIZE);
}

static fc_status_t digest_function(fc_module_t *module,
                                   const fc_function_t *function,
                                   fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, module->allocator, SIZE_MAX);
  const fc_expected_call_t *example = NULL;
  fc_status_t status =
      fc_signature_print_json(function->signature, module->name,
                              fc_module_get_version(module), &text.sink, err);
  if (status == FC_OK) {
    fc_sha256_t hash;
    fc_sha256_init(&hash);
    fc_sha256_update(&hash, module->sha256, SHA256_SIZE);
    fc_str_t written = fc_text_str(&text);
    fc_sha256_update(&hash, written.data, written.size);
    while ((example =
                fc_examples_next(module->examples, function->name, example))) {
      fc_sha256_update(&hash, example->name.data, example->name.size);
      fc_sha256_update(&hash, example->body.data, example->body.size);
    }
    finish_digest(&hash, module->digests[function->index]);
  }
  fc_text_deinit(&text);
  return status;
}

static void digest_settled(fc_module_t *module) {
  fc_sha256_t hash;
  fc_sha256_init(&hash);
  fc_sha256_update(&hash, module->sha256, SHA256_SIZE);
  fc_sha256_update(&hash, module->digests,
                   module->function_count * FC_DIGEST_SIZE);
  finish_digest(&hash, module->settled);
}

static fc_status_t digest_all(fc_module_t *module, fc_error_t *err) {
  for (size_t i = 0; i < module->function_count; i++) {
    FC_TRY(digest_function(module, &module->functions[i], err));
  }
  digest_settled(module);
  memcpy(module->digest, module->settled, sizeof module->digest);
  atomic_store_explicit(&module->hashed, true, memory_order_release);
  return FC_OK;
}

// If two functions have the same name, the first one is found.
static fc_status_t note_name(fc_module_t *module, uint32_t index,
                             fc_error_t *err) {
  const fc_str_t name = module->functions[index].name;
  if (!name.data || fc_name_table_find(&module->names, name) != FC_NAME_NONE) {
    return FC_OK;
  }
  return fc_name_table_put(&module->names, name, index, err);
}

// Lists the next function as not callable, for the reason in `why`. The module's other
// functions stay callable.
static fc_status_t refuse_function(fc_module_t *module,
                                   const fc_signature_t *signature,
                                   const fc_error_t *why, fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(module->allocator);
  if (!builder) return fc_fail_memory(err);
  fc_builder_copy(builder, signature);
  fc_builder_refuse(builder, fc_str(why->message));
  const fc_status_t status = fc_signature_build(
      builder, &module->own[module->function_count].replaced, err);
  fc_builder_destroy(builder);
  return status;
}

// Makes the plan of a listed function. If that is impossible, *out_plan is NULL, and the
// signature in `replaced` says why.
static fc_status_t make_plan(fc_module_t *module, const fc_sized_t *listed,
                             fc_plan_t **out_plan, fc_error_t *err) {
  fc_error_t why;
  const fc_status_t status =
      fc_plan_create(listed->signature, module->allocator, out_plan, &why);
  if (status == FC_OK) {
    (*out_plan)->entries = listed->entries;
    return FC_OK;
  }
  if (why.code == FC_CODE_UNSUPPORTED_TYPE) {
    return refuse_function(module, listed->signature, &why, err);
  }
  if (err) *err = why;
  return status;
}

static fc_status_t list_function(fc_module_t *module, const fc_sized_t *listed,
                                 fc_error_t *err) {
  const fc_signature_t *signature = listed->signature;
  const size_t index = module->function_count;
  fc_plan_t *plan = NULL;
  if (signature->callable) FC_TRY(make_plan(module, listed, &plan, err));
  module->own[index].plan = plan;
  if (module->own[index].replaced) signature = module->own[index].replaced;
  module->functions[module->function_count++] =
      (fc_function_t){.module = module,
                      .index = index,
                      .name = fc_signature_text(signature, signature->name),
                      .signature = signature,
                      .plan = plan};
  return note_name(module, (uint32_t)index, err);
}

static fc_status_t list_functions(fc_module_t *module, fc_error_t *err) {
  const fc_module_info_t *info = module->info;
  FC_TRY(fc_sizes_create(module->sidecar.bytes, info->signatures, info->count,
                         module->allocator, &module->sizes, err));
  const fc_sizes_t *sizes = module->sizes;
  const size_t count = sizes ? sizes->count : info->count;
  module->functions =
      fc_alloc_array(module->allocator, count, sizeof *module->functions);
  module->digests =
      fc_alloc_array(module->allocator, count, sizeof *module->digests);
  module->own = fc_alloc_array(module->allocator, count, sizeof *module->own);
  if (!module->functions || !module->digests || !module->own) {
    return fc_fail_memory(err);
  }
  for (size_t i = 0; i < count; i++) {
    const fc_sized_t own = {.signature = sizes ? NULL : info->signatures[i]};
    FC_TRY(list_function(module, sizes ? &sizes->listed[i] : &own, err));
  }
  FC_TRY(fc_states_check((fc_functions_t){module->functions, count},
                         module->allocator, err));
  FC_TRY(fc_examples_read(module->functions, count, module->sidecar.bytes,
                          module->allocator, &module->examples, err));
  if (!module->file_digest.sha256[0]) return FC_OK;
  memcpy(module->sha256, module->file_digest.sha256, sizeof module->sha256);
  return digest_all(module, err);
}

static fc_status_t identify(fc_module_t *module,
                            const fc_backend_t *const *backends, int file,
                            const fc_module_options_t *options,
                            fc_error_t *err) {
  if (!backends) backends = fc_backends;
  if (options) {
    FC_TRY(fc_backends_check(backends, options->settings,
                             options->setting_count, err));
  }
  FC_TRY(
      fc_backends_choose(backends, module->path, file, &module->backend, err));
  return fc_module_name(module->path, &module->name, err);
}

static fc_status_t read_module(fc_module_t *module,
                               const fc_module_files_t *files,
                               const fc_module_options_t *options,
                               fc_error_t *err) {
  static const fc_module_options_t defaults = {0};
  if (!options) options = &defaults;
  const bool asks = options->admit;
  FC_TRY(fc_files_read(files, asks ? 0 : module->backend->sealed_max,
                       asks ? 0 : options->hash_max, &module->file,
                       &module->sidecar, &module->file_digest, err));
  if (asks) {
    FC_TRY(options->admit(options->admit_context, module->file_digest.sha256,
                          err));
  }
  const fc_module_source_t source = {
      .file = module->file,
      .sidecar = module->sidecar,
      .path = module->path,
      .name = module->name,
      .sha256 = module->file_digest.sha256,
      .allow_native = !options->forbid_native,
      .describe_native = options->describe_native,
      .settings = options->settings,
      .setting_count = options->setting_count,
      .alone = asks};
  FC_TRY(
      module->backend->open(&source, module->allocator, &module->handle, err));
  module->info = module->backend->describe(module->handle);
  return list_functions(module, err);
}

static void destroy(fc_module_t *module) {
  for (size_t i = 0; i < module->function_count; i++) {
    fc_plan_destroy(module->own[i].plan);
    fc_signature_destroy(module->own[i].replaced);
  }
  fc_free(module->allocator, module->own);
  fc_free(module->allocator, module->functions);
  fc_expectations_destroy(module->examples);
  fc_free(module->allocator, module->digests);
  fc_name_table_deinit(&module->names);
  fc_sizes_destroy(module->sizes);
  if (module->handle) module->backend->close(module->handle);
  fc_snapshot_close(&module->file);
  fc_snapshot_close(&module->sidecar);
  fc_free(module->allocator, module);
}

// Puts the name of the module's file, without its directory, before the message. An
// error about memory stays as it is, because it is not about the file.
static void name_file(fc_str_t path, fc_error_t *err) {
  if (!err || err->code == FC_CODE_OUT_OF_MEMORY) return;
  char message[sizeof err->message];
  char shown[128];
  fc_str_t file = fc_path_file(path);
  fc_escape(shown, sizeof shown, 64, file.size ? file : path);
  memcpy(message, err->message, sizeof message);
  fc_error_t named;
  fc_fail_as(&named, err->code, err->status, "%s: %s", shown, message);
  memcpy(err->message, named.message, sizeof err->message);
}

static fc_status_t create(fc_str_t path, fc_allocator_t allocator,
                          fc_module_t **out_module, fc_error_t *err) {
  if (path.size == 0 || path.size >= FC_PATH_SIZE_MAX ||
      memchr(path.data, '\0', path.size)) {
    return fc_fail(err, FC_CODE_MODULE_PATH,
                   "a path of %zu bytes: it has 1 to %d, none of them zero",
                   path.size, FC_PATH_SIZE_MAX - 1);
  }
  fc_module_t *module = fc_alloc(allocator, sizeof *module + path.size + 1);
  if (!module) return fc_fail_memory(err);
  atomic_init(&module->references, 1);
  module->allocator = allocator;
  module->names.allocator = allocator;
  module->file = module->sidecar = FC_SNAPSHOT_NONE;
  memcpy(module->path_bytes, path.data, path.size);
  module->path = fc_str_make(module->path_bytes, path.size);
  fc_path_identify(module->path, &module->name, &module->version);
  *out_module = module;
  return FC_OK;
}

static fc_status_t fail_variant(const char *file, fc_status_t status,
                                fc_error_t *err) {
  char message[200], shown[120];
  if (!err || err->code == FC_CODE_OUT_OF_MEMORY) return status;
  snprintf(message, sizeof message, "%.199s", err->message);
  fc_escape(shown, sizeof shown, 100, fc_str(file));
  return fc_fail(err, err->code, "its variant '%s': %s", shown, message);
}

// Replaces the file by the variant for this processor, if the sidecar lists one. Then
// replaces the sidecar by the variant's own sidecar, if there is one.
static fc_status_t take_variant(fc_module_t *module,
                                const fc_backend_t *const *backends,
                                const fc_module_options_t *options,
                                fc_module_files_t *files, fc_error_t *err) {
  fc_variants_t variants;
  fc_cpu_t cpu = {{0}};
  char path[FC_PATH_SIZE_MAX];
  int file, sidecar;
  if (files->sidecar < 0) return FC_OK;
  FC_TRY(fc_variants_read(files->sidecar, module->path, &cpu, module->allocator,
                          &variants, err));
  if (variants.chosen == FC_VARIANTS_MAX) return FC_OK;
  const char *name = variants.files[variants.chosen];
  if (!fc_variant_path(module->path, name, path, sizeof path)) {
    return fc_fail(err, FC_CODE_MODULE_PATH,
                   "its variant '%.100s': a path of %d bytes or more", name,
                   FC_PATH_SIZE_MAX);
  }
  fc_status_t status = fc_snapshot_open_file(path, &file, err);
  if (status != FC_OK) return fail_variant(name, status, err);
  close(files->module);
  files->module = file;
  status = identify(module, backends, file, options, err);
  if (status == FC_OK) {
    status = fc_files_open_sidecar(
        fc_str(path), module->backend->sidecar_suffix, &sidecar, err);
  }
  if (status != FC_OK) return fail_variant(name, status, err);
  if (sidecar < 0) return FC_OK;
  close(files->sidecar);
  files->sidecar = sidecar;
  status = fc_files_admit_sidecar(&files->sidecar, options,
                                  module->sidecar_sums[1], err);
  return status == FC_OK ? FC_OK : fail_variant(name, status, err);
}

static fc_status_t load_path(fc_module_t *module,
                             const fc_backend_t *const *backends,
                             const fc_module_options_t *options,
                             fc_error_t *err) {
  fc_module_files_t files = {.module = -1, .sidecar = -1};
  FC_TRY(fc_snapshot_open_file(module->path.data, &files.module, err));
  fc_status_t status = identify(module, backends, files.module, options, err);
  if (status == FC_OK) {
    status = fc_files_open_sidecar(
        module->path, module->backend->sidecar_suffix, &files.sidecar, err);
  }
  if (status == FC_OK) {
    status = fc_files_admit_sidecar(&files.sidecar, options,
                                    module->sidecar_sums[0], err);
  }
  if (status == FC_OK) {
    status = take_variant(module, backends, options, &files, err);
  }
  if (status == FC_OK) status = read_module(module, &files, options, err);
  close(files.module);
  if (files.sidecar >= 0) close(files.sidecar);
  return status;
}

// Hands the module to the caller. If `status` is an error, destroys the module and puts
// the name of its file before the message in `err`.
static fc_status_t finish(fc_status_t status, fc_module_t *take_module,
                          fc_module_t **out_module, fc_error_t *err) {
  if (status != FC_OK) {
    name_file(take_module->path, err);
    destroy(take_module);
    return status;
  }
  *out_module = take_module;
  return FC_OK;
}

fc_status_t fc_module_load(const fc_backend_t *const *backends, fc_str_t path,
                           const fc_module_options_t *options,
                           fc_allocator_t allocator, fc_module_t **out_module,
                           fc_error_t *err) {
  fc_module_t *module;
  FC_TRY(create(path, allocator, &module, err));
  return finish(load_path(module, backends, options, err), module, out_module,
                err);
}

fc_status_t fc_module_load_files(const fc_backend_t *const *backends,
                                 fc_str_t path, const fc_module_files_t *files,
                                 const fc_module_options_t *options,
                                 fc_allocator_t allocator,
                                 fc_module_t **out_module, fc_error_t *err) {
  fc_module_t *module;
  FC_TRY(create(path, allocator, &module, err));
  fc_status_t status = identify(module, backends, files->module, options, err);
  if (status == FC_OK) status = read_module(module, files, options, err);
  return finish(status, module, out_module, err);
}

static bool is_hashed(const fc_module_t *module) {
  return atomic_load_explicit(&module->hashed, memory_order_acquire);
}

fc_status_t fc_module_hash(fc_module_t *module, fc_error_t *err) {
  if (is_hashed(module)) return FC_OK;
  char sha256[65];
  fc_status_t status =
      fc_files_hash(&module->file, &module->file_digest, sha256, err);
  if (status == FC_OK) {
    memcpy(module->sha256, sha256, sizeof sha256);
    status = digest_all(module, err);
  }
  if (status != FC_OK) name_file(module->path, err);
  return status;
}

fc_module_t *fc_module_retain(fc_module_t *module) {
  atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
  return module;
}

// acq_rel, because the thread that frees the module must see all writes of
// other threads to it.
void fc_module_release(fc_module_t *module) {
  if (!module) return;
  if (atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) ==
      1) {
    destroy(module);
  }
}

fc_str_t fc_module_get_name(const fc_module_t *module) { return module->name; }
fc_str_t fc_module_get_version(const fc_module_t *module) {
  return module->version;
}
fc_str_t fc_module_get_path(const fc_module_t *module) { return module->path; }
const char *fc_module_get_kind(const fc_module_t *module) {
  return module->backend->kind;
}
const char *fc_module_get_sha256(const fc_module_t *module) {
  return is_hashed(module) ? module->sha256 : "";
}
fc_str_t fc_module_get_digest(const fc_module_t *module) {
  return is_hashed(module) ? fc_str_make(module->digest, FC_DIGEST_SIZE)
                           : FC_STR("");
}
fc_str_t fc_module_settled_digest(const fc_module_t *module) {
  return is_hashed(module) ? fc_str_make(module->settled, FC_DIGEST_SIZE)
                           : FC_STR("");
}
fc_str_t fc_function_get_digest(const fc_function_t *function) {
  const fc_module_t *module = function->module;
  return is_hashed(module)
             ? fc_str_make(module->digests[function->index], FC_DIGEST_SIZE)
             : FC_STR("");
}
fc_module_files_t fc_module_get_files(const fc_module_t *module) {
  fc_module_files_t files = {module->file.fd, module->sidecar.fd,
                             module->file_digest};
  const char *sha256 = fc_module_get_sha256(module);
  memcpy(files.digest.sha256, sha256, strlen(sha256) + 1);
  return files;
}

fc_status_t fc_module_admit(const fc_module_t *module,
                            const fc_module_options_t *options,
                            fc_error_t *err) {
  if (!options->admit) return FC_OK;
  FC_TRY(options->admit(options->admit_context, fc_module_get_sha256(module),
                        err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(module->sidecar_sums); i++) {
    const char *sum = module->sidecar_sums[i];
    if (*sum) FC_TRY(fc_files_admit_sum(sum, options, err));
  }
  return FC_OK;
}

void fc_module_take_sums(fc_module_t *module, const fc_module_t *from) {
  memcpy(module->sidecar_sums, from->sidecar_sums, sizeof module->sidecar_sums);
}

const fc_backend_t *fc_module_get_backend(const fc_module_t *module) {
  return module->backend;
}
void *fc_module_get_handle(const fc_module_t *module) { return module->handle; }
const fc_module_info_t *fc_module_get_info(const fc_module_t *module) {
  return module->info;
}
const fc_sized_t *fc_module_sized(const fc_function_t *function) {
  return &function->module->sizes->listed[function->index];
}

static fc_status_t make_settled(const fc_signature_t *had, fc_str_t verdict,
                                fc_signature_t **out_signature,
                                fc_error_t *err) {
  fc_builder_t *builder = fc_builder_create(had->allocator);
  if (!builder) return fc_fail_memory(err);
  fc_builder_copy(builder, had);
  fc_builder_attr(builder, FC_STR(FC_BATCH_ATTR), verdict);
  for (uint32_t i = 0; i < had->attr_count; i++) {
    fc_builder_attr(builder, fc_signature_text(had, had->attrs[i].key),
                    fc_signature_text(had, had->attrs[i].value));
  }
  const fc_status_t status = fc_signature_build(builder, out_signature, err);
  fc_builder_destroy(builder);
  return status;
}

fc_status_t fc_module_settle(fc_module_t *module, size_t index,
                             fc_str_t verdict, fc_error_t *err) {
  fc_function_t *function = &module->functions[index];
  own_t *own = &module->own[index];
  fc_signature_t *made;
  bool valid = verdict.size < FC_VERDICT_SIZE;
  if (valid) FC_TRY(fc_utf8_check(verdict, NULL, &valid, err));
  if (!valid) verdict = FC_STR(FC_BATCH_OFF "its proof cannot be read");
  FC_TRY(make_settled(function->signature, verdict, &made, err));
  fc_signature_destroy(own->replaced);
  own->replaced = made;
  function->signature = own->plan->signature = made;
  own->plan->batch->on = fc_signature_batches(made);
  if (!is_hashed(module)) return FC_OK;
  FC_TRY(digest_function(module, function, err));
  digest_settled(module);
  return FC_OK;
}

const fc_expectations_t *fc_module_examples(const fc_module_t *module) {
  return module->examples;
}
size_t fc_module_function_count(const fc_module_t *module) {
  return module->function_count;
}
const fc_function_t *fc_module_function(const fc_module_t *module,
                                        size_t index) {
  FC_ASSERT(index < module->function_count);
  return &module->functions[index];
}

const fc_function_t *fc_module_find(const fc_module_t *module, fc_str_t name) {
  const uint32_t index = fc_name_table_find(&module->names, name);
  return index == FC_NAME_NONE ? NULL : &module->functions[index];
}

const fc_function_t *fc_module_nearest(const fc_module_t *module,
                                       fc_str_t name) {
  const fc_function_t *nearest = NULL;
  fc_nearest_t search = fc_nearest_begin(name);
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_function_t *function = &module->functions[i];
    if (fc_nearest_offer(&search, function->name)) nearest = function;
  }
  return nearest;
}
