// SPDX-License-Identifier: Apache-2.0
//
// Loaded modules. A loaded module is immutable, except for its digests
// (fc_module_hash). Its references are counted, so the module in which a call started
// stays until the call ends.
#ifndef FARCALL_MODULE_H_
#define FARCALL_MODULE_H_

#include "farcall/codec.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

#define FC_MODULE_NAME_MAX 128
// The size of a digest as text: 32 hex digits.
#define FC_DIGEST_SIZE 32

typedef struct fc_module_t fc_module_t;

// Options of loading a module. A zeroed struct has the defaults.
typedef struct fc_module_options_t {
  bool forbid_native;  // refuse machine code inside a vm module
  // A module that could end the process is only described: none of its machine
  // code is mapped executable, no constructor runs, a file too large to be
  // sealed is read but not mapped, no archive of weights is opened, and no
  // instance can be created. fc_module_info_t.described tells whether this
  // applied to a module.
  bool describe_native;
  // Options of kinds of modules (fc_setting_t). Loading fails if no kind has
  // one of the options. Borrowed.
  const fc_setting_t *settings;
  size_t setting_count;
  // A file of more bytes than this is hashed only when fc_module_hash is called,
  // unless it has a sidecar, which may name its hash. 0: every file is hashed.
  uint64_t hash_max;
  // Called before a file is used, with the SHA-256 of its bytes (64 hex digits): for the
  // module's file (of variants, the chosen one) and its sidecars. To refuse the file,
  // the function fails. Files of any size are then copied to sealed memory and hashed at
  // once, so that the bytes that run are those that were asked about. A module that
  // names libraries outside the system's folders, for example by $ORIGIN, is refused,
  // because these libraries are not asked about. fc_module_load_files does not ask about
  // the sidecar. NULL: every file may be used. Called on the thread that loads.
  fc_status_t (*admit)(void *context, const char *sha256, fc_error_t *err);
  void *admit_context;
} fc_module_options_t;

// The hash of a file, with the file's size and time of writing at that moment.
// A file whose size or time has changed since is hashed again; sealed memory
// cannot have changed.
typedef struct fc_file_digest_t {
  char sha256[65];     // 64 hex digits; "": it was never hashed
  uint64_t size;       // bytes
  int64_t written_ns;  // since 1970
} fc_file_digest_t;

// The files of a module, as descriptors. A worker process is given these.
typedef struct fc_module_files_t {
  int module;   // sealed memory, or a large .vmfb itself
  int sidecar;  // a sealed copy of X.farcall.json; -1: there is none
  fc_file_digest_t digest;  // of `module`, so that it is not hashed again
} fc_module_files_t;

// One listed function. Borrowed from its module.
typedef struct fc_function_t {
  const fc_module_t *module;
  size_t index;  // in the listing; fc_frame_invoke needs it
  fc_str_t name;
  const fc_signature_t *signature;
  const fc_plan_t *plan;  // NULL when not callable
} fc_function_t;

// Finds the name of a module in the path of its file: the file's name without the last
// extension. If the path ends in NAME/VERSION/model.EXT, where VERSION is 1 to 18 digits
// and does not begin with 0, the module's name is NAME. `out_name` points into `path`.
// FC_CODE_MODULE_PATH when the name is not [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}.
fc_status_t fc_module_name(fc_str_t path, fc_str_t *out_name, fc_error_t *err);

// Loads the file, or the variant that its sidecar lists for this processor
// (docs/abi.md), with the first backend of the NULL-terminated list that recognises the
// file by its first bytes. NULL as `backends`: fc_backends. NULL as `options`: the
// defaults. Neither pointer is kept.
fc_status_t fc_module_load(const fc_backend_t *const *backends, fc_str_t path,
                           const fc_module_options_t *options,
                           fc_allocator_t allocator, fc_module_t **out_module,
                           fc_error_t *err) FC_MUST_CHECK;
// Loads files that are open, without looking for variants. `path` gives the module's
// name and appears in messages. It is opened in one case only: machine code that finds
// its libraries by $ORIGIN is loaded from `path`, so the file must still be there. The
// descriptors stay the caller's, who may close them afterwards. `files->digest` is
// believed if the file has the digest's size and, unless the file is sealed memory, the
// digest's time.
fc_status_t fc_module_load_files(const fc_backend_t *const *backends,
                                 fc_str_t path, const fc_module_files_t *files,
                                 const fc_module_options_t *options,
                                 fc_allocator_t allocator,
                                 fc_module_t **out_module,
                                 fc_error_t *err) FC_MUST_CHECK;
fc_module_t *fc_module_retain(fc_module_t *module);  // atomic
void fc_module_release(fc_module_t *module);         // NULL is allowed

fc_str_t fc_module_get_name(const fc_module_t *module);
// "1", or the version in the path NAME/VERSION/model.EXT.
fc_str_t fc_module_get_version(const fc_module_t *module);
fc_str_t fc_module_get_path(const fc_module_t *module);
const char *fc_module_get_kind(const fc_module_t *module);
// 64 hex digits; "" until the file is hashed.
const char *fc_module_get_sha256(const fc_module_t *module);
// Returns a hash of the file's bytes and of every function: FC_DIGEST_SIZE characters,
// "" until the file is hashed.
fc_str_t fc_module_get_digest(const fc_module_t *module);
// Returns a hash of the file's bytes and the canonical JSON of a function. Archives of
// weights (vm.parameters) are not in the hash. "" until the file is hashed.
fc_str_t fc_function_get_digest(const fc_function_t *function);
// Hashes the file of a module that was not hashed when it was loaded (hash_max). One
// thread at a time may call this, while others use the module. FC_CODE_MODULE_PATH
// when the file cannot be read or was written to since the module was loaded.
fc_status_t fc_module_hash(fc_module_t *module, fc_error_t *err) FC_MUST_CHECK;
// Returns the module's own descriptors, valid as long as the module. If the same
// program loads them with the same path and options (describe_native may
// differ), the new module has the same digest.
fc_module_files_t fc_module_get_files(const fc_module_t *module);
const fc_backend_t *fc_module_get_backend(const fc_module_t *module);
void *fc_module_get_handle(const fc_module_t *module);  // the backend's own
const fc_module_info_t *fc_module_get_info(const fc_module_t *module);
size_t fc_module_function_count(const fc_module_t *module);
const fc_function_t *fc_module_function(const fc_module_t *module,
                                        size_t index);
// Returns the function of exactly this name, compared by bytes; of several, the first of
// the listing. NULL when there is none.
const fc_function_t *fc_module_find(const fc_module_t *module, fc_str_t name);
// Returns the function whose name is nearest, by the rules of fc_nearest_t; NULL if no
// name is near.
const fc_function_t *fc_module_nearest(const fc_module_t *module,
                                       fc_str_t name);

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_MODULE_H_
