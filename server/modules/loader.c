// SPDX-License-Identifier: Apache-2.0
//
// See loader.h.
#include "modules/loader.h"

#include <pthread.h>
#include <stdio.h>

#include "module/admit.h"
#include "module/prove.h"
#include "modules/decisions.h"
#include "modules/trial.h"
#include "modules/watch.h"
#include "pool/isolation.h"

// bytes; constructors of modules run on this stack
#define STACK_SIZE (8u << 20)

typedef struct load_list_t {
  fc_load_t *first;
  fc_load_t *last;
} load_list_t;

struct fc_loader_t {
  fc_loader_options_t options;
  pthread_t thread;
  bool has_thread;
  // One for each PATH of the command line, in their order. Used only on the loader's
  // thread.
  fc_folders_t *folders;
  size_t folder_count;
  pthread_cond_t bell;
  pthread_mutex_t lock;
  // Under the lock:
  load_list_t checks;  // carried out before `wanted`
  load_list_t wanted;
  load_list_t done;
  bool busy;
  bool stopped;
};

static void append(load_list_t *list, fc_load_t *load) {
  load->next = NULL;
  if (list->last) list->last->next = load;
  else list->first = load;
  list->last = load;
}

static fc_load_t *pop(load_list_t *list) {
  fc_load_t *load = list->first;
  if (!load) return NULL;
  list->first = load->next;
  if (!list->first) list->last = NULL;
  return load;
}

// ---------------------------------------------------------------------------
// The loader's thread

#define SETTINGS_MAX 4

// Returns the options for opening this file: those of all files, its own parameter
// archives (vm.parameters), if any, and its memory limit (vm.heap). If it will run in
// threads, it is opened to be run, even if other files are only described. `settings` has
// room for SETTINGS_MAX.
static fc_module_options_t options_of(const fc_loader_options_t *options,
                                      const fc_load_t *load,
                                      fc_setting_t *settings) {
  fc_module_options_t open = options->open;
  FC_ASSERT(open.setting_count + 2 <= SETTINGS_MAX);
  if (open.setting_count) {
    memcpy(settings, open.settings, open.setting_count * sizeof *settings);
  }
  open.settings = settings;
  if (load->parameters.size) {
    settings[open.setting_count++] =
        (fc_setting_t){FC_STR("vm.parameters"), load->parameters};
  }
  settings[open.setting_count++] =
      (fc_setting_t){FC_STR("vm.heap"), fc_str(load->heap)};
  if (load->isolation == FC_ISOLATION_THREAD) open.describe_native = false;
  return open;
}

// If the module was only described, opens it again to run in this process.
static fc_status_t open_for_threads(const fc_loader_options_t *options,
                                    fc_module_options_t open,
                                    fc_module_t **module, fc_error_t *err) {
  fc_module_t *loaded;
  if (!fc_module_get_info(*module)->described) return FC_OK;
  open.describe_native = false;
  const fc_module_files_t files = fc_module_get_files(*module);
  FC_TRY(fc_module_load_files(options->backends, fc_module_get_path(*module),
                              &files, &open, options->allocator, &loaded, err));
  fc_module_take_sums(loaded, *module);
  fc_module_release(*module);
  *module = loaded;
  return FC_OK;
}

// Reads the proof of a module. Hashes a module with test calls, or with rows: it is first
// tried in a process, which needs the hash.
static fc_status_t read_proof(const fc_loader_options_t *options,
                              fc_load_t *load, fc_module_t *module) {
  FC_TRY(fc_proof_read(module, load->self_test, options->allocator,
                       &load->proof, &load->error));
  return load->proof.tests || fc_module_has_rows(module)
             ? fc_module_hash(module, &load->error)
             : FC_OK;
}

static fc_status_t open_file(const fc_loader_options_t *options,
                             fc_load_t *load) {
  fc_module_t *module;
  fc_setting_t settings[SETTINGS_MAX];
  const fc_module_options_t open = options_of(options, load, settings);
  FC_TRY(fc_module_load(options->backends, load->path, &open,
                        options->allocator, &module, &load->error));
  const bool elsewhere = fc_isolation_process(
      load->isolation, fc_module_get_info(module)->runs_native);
  fc_status_t status =
      elsewhere ? fc_module_hash(module, &load->error)
                : open_for_threads(options, open, &module, &load->error);
  if (status == FC_OK) status = read_proof(options, load, module);
  if (status == FC_OK) load->module = module;
  else fc_module_release(module);
  return status;
}

static fc_status_t describe_file(const fc_loader_options_t *options,
                                 fc_load_t *load) {
  fc_module_options_t open = options->open;
  open.describe_native = true;
  return fc_module_load(options->backends, load->path, &open,
                        options->allocator, &load->module, &load->error);
}

static bool make_place(fc_loader_t *loader, size_t position) {
  const size_t count = position + 1;
  if (count <= loader->folder_count) return true;
  fc_folders_t *grown =
      fc_realloc(loader->options.allocator, loader->folders,
                 loader->folder_count * sizeof *grown, count * sizeof *grown);
  if (!grown) return false;
  for (size_t i = loader->folder_count; i < count; i++) {
    grown[i] = (fc_folders_t){0};
  }
  loader->folders = grown;
  loader->folder_count = count;
  return true;
}

// Ends the watches of directories that are no longer in the PATH. If a directory could
// not be read, its subdirectories are unknown, so nothing ends. The same holds without
// memory; the next listing makes up for it.
static void settle_folders(fc_loader_t *loader, const fc_load_t *load) {
  const fc_listing_t *listing = &load->listing;
  const fc_allocator_t allocator = loader->options.allocator;
  if (load->watch < 0 || listing->unread) return;
  if (!make_place(loader, load->generation)) return;
  fc_folders_t found = {.count = listing->mark_count};
  if (found.count) {
    found.marks = fc_alloc_array(allocator, found.count, sizeof *found.marks);
    if (!found.marks) return;
    memcpy(found.marks, listing->marks, found.count * sizeof *found.marks);
  }
  fc_folders_replace(loader->folders, loader->folder_count, load->generation,
                     found, load->watch, allocator);
}

static fc_status_t scan(fc_loader_t *loader, fc_load_t *load) {
  const fc_loader_options_t *options = &loader->options;
  FC_TRY(fc_scan(load->path, options->backends, load->watch, options->allocator,
                 &load->listing, &load->error));
  settle_folders(loader, load);
  if (!load->bytes.size) return FC_OK;
  return fc_scan_mark_tests(&load->listing, load->bytes, options->allocator,
                            &load->error);
}

static void run(fc_loader_t *loader, fc_load_t *load) {
  const fc_loader_options_t *options = &loader->options;
  switch ((fc_load_kind_t)load->kind) {
    case FC_LOAD_SCAN:
      load->status = scan(loader, load);
      break;
    case FC_LOAD_OPEN:
      load->status = open_file(options, load);
      break;
    case FC_LOAD_DESCRIBE:
      load->status = describe_file(options, load);
      break;
    case FC_LOAD_SAVE:
      load->status = fc_decisions_write(load->path, load->bytes, &load->error);
      break;
    case FC_LOAD_CHECK:
      load->status = fc_trial_check(load->context, &load->error);
      break;
    case FC_LOAD_HASH:
      load->status = fc_module_hash(load->module, &load->error);
      break;
  }
}

static void *loader_main(void *context) {
  fc_loader_t *loader = context;
  pthread_mutex_lock(&loader->lock);
  while (!loader->stopped) {
    fc_load_t *load = pop(&loader->checks);
    if (!load) load = pop(&loader->wanted);
    if (!load) {
      pthread_cond_wait(&loader->bell, &loader->lock);
      continue;
    }
    loader->busy = true;
    pthread_mutex_unlock(&loader->lock);
    run(loader, load);
    pthread_mutex_lock(&loader->lock);
    loader->busy = false;
    const bool first = !loader->done.first;
    append(&loader->done, load);
    // `stopped` is read under the lock, because the handle of `wake` may be closed after
    // fc_loader_stop.
    if (first && !loader->stopped)
      loader->options.wake(loader->options.context);
  }
  pthread_mutex_unlock(&loader->lock);
  return NULL;
}

// ---------------------------------------------------------------------------
// The loop's thread

fc_status_t fc_loader_create(const fc_loader_options_t *options,
                             fc_loader_t **out_loader, fc_error_t *err) {
  fc_loader_t *loader = fc_alloc(options->allocator, sizeof *loader);
  if (!loader) return fc_fail_memory(err);
  loader->options = *options;
  pthread_mutex_init(&loader->lock, NULL);
  pthread_cond_init(&loader->bell, NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  const int failed =
      pthread_create(&loader->thread, &attributes, loader_main, loader);
  pthread_attr_destroy(&attributes);
  if (failed) {
    fc_loader_destroy(loader);
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot start a loader thread");
  }
  loader->has_thread = true;
  *out_loader = loader;
  return FC_OK;
}

void fc_loader_stop(fc_loader_t *loader) {
  pthread_mutex_lock(&loader->lock);
  loader->stopped = true;
  pthread_mutex_unlock(&loader->lock);
  pthread_cond_signal(&loader->bell);
}

bool fc_loader_is_busy(fc_loader_t *loader) {
  pthread_mutex_lock(&loader->lock);
  const bool busy = loader->busy;
  pthread_mutex_unlock(&loader->lock);
  return busy;
}

static void forget(fc_loader_t *loader, load_list_t *list) {
  fc_load_t *load;
  while ((load = pop(list))) fc_load_free(loader, load);
}

void fc_loader_destroy(fc_loader_t *loader) {
  if (!loader) return;
  fc_loader_stop(loader);
  if (loader->has_thread) pthread_join(loader->thread, NULL);
  forget(loader, &loader->checks);
  forget(loader, &loader->wanted);
  forget(loader, &loader->done);
  for (size_t i = 0; i < loader->folder_count; i++) {
    fc_free(loader->options.allocator, loader->folders[i].marks);
  }
  fc_free(loader->options.allocator, loader->folders);
  pthread_cond_destroy(&loader->bell);
  pthread_mutex_destroy(&loader->lock);
  fc_free(loader->options.allocator, loader);
}

// Copies the text to *at, moves *at past the copy, and returns the copy.
static fc_str_t keep(char **at, fc_str_t text) {
  const fc_str_t kept = fc_str_make(*at, text.size);
  if (text.size) memcpy(*at, text.data, text.size);
  *at += text.size;
  return kept;
}

// Makes a request that holds copies of the texts. A NUL follows the path.
static fc_load_t *create_load(fc_loader_t *loader, fc_load_kind_t kind,
                              fc_str_t path, fc_str_t bytes,
                              fc_str_t self_test) {
  fc_load_t *load =
      fc_alloc(loader->options.allocator,
               sizeof *load + path.size + 1 + bytes.size + self_test.size);
  if (!load) return NULL;
  char *at = load->text;
  load->path = keep(&at, path);
  at++;
  load->bytes = keep(&at, bytes);
  load->self_test = keep(&at, self_test);
  load->kind = (uint8_t)kind;
  return load;
}

// Answers to compare go first, because the time limit of their trial continues while they
// wait; files to open have no such limit.
static void submit(fc_loader_t *loader, fc_load_t *take_load) {
  const bool checks = take_load->kind == FC_LOAD_CHECK;
  pthread_mutex_lock(&loader->lock);
  append(checks ? &loader->checks : &loader->wanted, take_load);
  pthread_mutex_unlock(&loader->lock);
  pthread_cond_signal(&loader->bell);
}

fc_status_t fc_loader_scan(fc_loader_t *loader, fc_str_t path,
                           uint32_t position, int watch, fc_str_t tests,
                           void *context, fc_error_t *err) {
  fc_load_t *load = create_load(loader, FC_LOAD_SCAN, path, tests, FC_STR(""));
  if (!load) return fc_fail_memory(err);
  load->generation = position;
  load->watch = watch;
  load->context = context;
  submit(loader, load);
  return FC_OK;
}

fc_status_t fc_loader_open(fc_loader_t *loader, fc_str_t path,
                           uint32_t generation, unsigned isolation,
                           uint64_t heap, fc_str_t parameters,
                           fc_str_t self_test, fc_error_t *err) {
  fc_load_t *load =
      create_load(loader, FC_LOAD_OPEN, path, parameters, self_test);
  if (!load) return fc_fail_memory(err);
  load->generation = generation;
  load->isolation = (uint8_t)isolation;
  load->parameters = load->bytes;
  snprintf(load->heap, sizeof load->heap, "%llu", (unsigned long long)heap);
  submit(loader, load);
  return FC_OK;
}

fc_status_t fc_loader_describe(fc_loader_t *loader, fc_str_t path,
                               uint32_t generation, fc_error_t *err) {
  fc_load_t *load =
      create_load(loader, FC_LOAD_DESCRIBE, path, FC_STR(""), FC_STR(""));
  if (!load) return fc_fail_memory(err);
  load->generation = generation;
  submit(loader, load);
  return FC_OK;
}

fc_status_t fc_loader_save(fc_loader_t *loader, fc_str_t directory,
                           fc_str_t text, void *context, fc_error_t *err) {
  fc_load_t *load =
      create_load(loader, FC_LOAD_SAVE, directory, text, FC_STR(""));
  if (!load) return fc_fail_memory(err);
  load->context = context;
  submit(loader, load);
  return FC_OK;
}

fc_status_t fc_loader_check(fc_loader_t *loader, fc_trial_t *trial,
                            uint32_t generation, fc_error_t *err) {
  fc_load_t *load =
      create_load(loader, FC_LOAD_CHECK, FC_STR(""), FC_STR(""), FC_STR(""));
  if (!load) return fc_fail_memory(err);
  load->generation = generation;
  load->context = trial;
  submit(loader, load);
  return FC_OK;
}

fc_status_t fc_loader_hash(fc_loader_t *loader, fc_module_t *module,
                           fc_error_t *err) {
  fc_load_t *load =
      create_load(loader, FC_LOAD_HASH, FC_STR(""), FC_STR(""), FC_STR(""));
  if (!load) return fc_fail_memory(err);
  load->module = fc_module_retain(module);
  submit(loader, load);
  return FC_OK;
}

fc_load_t *fc_loader_take(fc_loader_t *loader, bool *out_more) {
  pthread_mutex_lock(&loader->lock);
  fc_load_t *load = pop(&loader->done);
  *out_more = loader->done.first;
  pthread_mutex_unlock(&loader->lock);
  return load;
}

void fc_load_free(fc_loader_t *loader, fc_load_t *load) {
  fc_listing_deinit(&load->listing);
  fc_module_release(load->module);
  fc_proof_deinit(&load->proof);
  fc_free(loader->options.allocator, load);
}
