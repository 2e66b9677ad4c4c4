// SPDX-License-Identifier: Apache-2.0
//
// One thread for slow work, so that the loop does not wait: the loader lists directories;
// opens, describes and hashes module files; compares the answers of trials, makes their
// examples, and writes decisions. It handles one request at a time, and the loop takes
// the finished ones, one at a time. Both share three lists and one lock.
#ifndef FARCALL_SERVER_MODULES_LOADER_H_
#define FARCALL_SERVER_MODULES_LOADER_H_

#include "config/module.h"
#include "farcall/module.h"
#include "module/proof.h"
#include "modules/scan.h"

typedef struct fc_trial_t fc_trial_t;  // modules/trial.h

typedef enum fc_load_kind_t {
  FC_LOAD_SCAN,      // which files does a PATH name?
  FC_LOAD_OPEN,      // opens a module file
  FC_LOAD_DESCRIBE,  // reads the signatures of a module file
  FC_LOAD_HASH,      // hashes the file of a module that is open
  FC_LOAD_SAVE,      // writes the file of decisions (state.h)
  FC_LOAD_CHECK,     // compares the answer of a trial, or makes its examples
} fc_load_kind_t;

// A request to the loader, and its outcome.
typedef struct fc_load_t {
  struct fc_load_t *next;
  uint8_t kind;  // fc_load_kind_t
  // For FC_LOAD_OPEN, FC_LOAD_DESCRIBE and FC_LOAD_CHECK: the index of the generation.
  // For FC_LOAD_SCAN: the position of the PATH.
  uint32_t generation;
  // For FC_LOAD_SCAN and FC_LOAD_SAVE: the caller's. For FC_LOAD_CHECK: the trial.
  void *context;
  fc_status_t status;
  fc_error_t error;      // why it failed
  fc_listing_t listing;  // of FC_LOAD_SCAN
  // For FC_LOAD_OPEN and FC_LOAD_DESCRIBE: the outcome; code that takes ownership sets
  // NULL here. For FC_LOAD_HASH: the module to hash, held meanwhile.
  fc_module_t *module;
  int watch;            // of FC_LOAD_SCAN: inotify's descriptor, as for fc_scan
  uint8_t isolation;    // of FC_LOAD_OPEN
  char heap[24];        // of FC_LOAD_OPEN: the value of vm.heap
  fc_str_t parameters;  // of FC_LOAD_OPEN, in `text`; "": none
  fc_str_t self_test;   // of FC_LOAD_OPEN, in `text`: as for fc_proof_read
  fc_str_t path;        // in `text`; of FC_LOAD_SAVE: the directory
  // In `text`. For FC_LOAD_SAVE: the text to write; for FC_LOAD_SCAN: the files of tests;
  // for FC_LOAD_OPEN: the parameters.
  fc_str_t bytes;
  fc_proof_t proof;  // of FC_LOAD_OPEN; code that takes ownership zeroes it
  char text[];
} fc_load_t;

// All pointers are borrowed. `wake` is called on the loader's thread.
typedef struct fc_loader_options_t {
  fc_allocator_t allocator;
  const fc_backend_t *const *backends;  // NULL-terminated
  fc_module_options_t open;             // how files are opened
  // Called when the first finished request can be taken. Not called after fc_loader_stop.
  void (*wake)(void *context);
  void *context;
} fc_loader_options_t;

typedef struct fc_loader_t fc_loader_t;

// Starts the thread. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_loader_create(const fc_loader_options_t *options,
                             fc_loader_t **out_loader,
                             fc_error_t *err) FC_MUST_CHECK;
// After this no further request is begun, and wake is not called again. Does not wait for
// the running request. May be called more than once.
void fc_loader_stop(fc_loader_t *loader);
// True while a request runs: after fc_loader_stop, fc_loader_destroy would wait for it.
bool fc_loader_is_busy(fc_loader_t *loader);
// Stops the loader, waits for the running request, then frees every request that the loop
// has not taken, whether it was begun or not. NULL is allowed.
void fc_loader_destroy(fc_loader_t *loader);

// The functions from here to fc_loader_check make requests. They are carried out in the
// order of these calls, except that those of fc_loader_check come first.
// FC_CODE_OUT_OF_MEMORY: no request was made.

// Lists a PATH. `tests` has the form of fc_scan_mark_tests.
fc_status_t fc_loader_scan(fc_loader_t *loader, fc_str_t path,
                           uint32_t position, int watch, fc_str_t tests,
                           void *context, fc_error_t *err) FC_MUST_CHECK;
// Opens a file and reads its proof. If its module will run in threads of this process
// (fc_isolation_process with `isolation`) and `open` only described it, it is opened
// again to be run. If it will run in processes, or has test calls, which run in one, it
// is hashed before it can be taken, whatever `open`.hash_max says, because processes need
// the hash. `heap` is that of fc_hosting_t, `parameters` has the form of --parameters,
// `self_test` that of fc_proof_read.
fc_status_t fc_loader_open(fc_loader_t *loader, fc_str_t path,
                           uint32_t generation, unsigned isolation,
                           uint64_t heap, fc_str_t parameters,
                           fc_str_t self_test, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_loader_describe(fc_loader_t *loader, fc_str_t path,
                               uint32_t generation,
                               fc_error_t *err) FC_MUST_CHECK;
// Writes `text` to the file of decisions in `directory` (--state-dir).
fc_status_t fc_loader_save(fc_loader_t *loader, fc_str_t directory,
                           fc_str_t text, void *context,
                           fc_error_t *err) FC_MUST_CHECK;
// Hashes the module's file, and holds the module meanwhile.
fc_status_t fc_loader_hash(fc_loader_t *loader, fc_module_t *module,
                           fc_error_t *err) FC_MUST_CHECK;
// Makes the loader call fc_trial_check. The loader owns the trial until the request is
// finished.
fc_status_t fc_loader_check(fc_loader_t *loader, fc_trial_t *trial,
                            uint32_t generation, fc_error_t *err) FC_MUST_CHECK;
// Returns the oldest finished request, NULL if there is none. The caller owns it until
// fc_load_free. *out_more: there is another one.
fc_load_t *fc_loader_take(fc_loader_t *loader, bool *out_more);
void fc_load_free(fc_loader_t *loader, fc_load_t *load);

#endif  // FARCALL_SERVER_MODULES_LOADER_H_
