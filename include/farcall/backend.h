// SPDX-License-Identifier: Apache-2.0
//
// The interface of a module kind. Two are built in (native, vm); tests bring their own
// (echo). A backend knows the module files, calling conventions and memory of its kind;
// it never sees the JSON of a call, HTTP or another backend.
//
// To add a kind, make its folder beside core/module/native, add a row to
// core/module/backends.c, add the first bytes of its files to core/module/kinds.def
// (before the FOREIGN rows), and say in scripts/check-layers who may include it. If it
// makes memory executable at run time, the jail must allow that (server/jail). Texts that
// name all kinds, and what the command line does by a file's name, contain "vmfb".
#ifndef FARCALL_BACKEND_H_
#define FARCALL_BACKEND_H_

#include "farcall/value.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

// An option of one kind of module. Its name begins with the kind and a dot.
//   vm.state       which instances share the state that a module keeps from call
//                  to call. "auto", the default: all instances share one state,
//                  and only a module that has state takes one call at a time;
//                  "shared": all instances share one state, and every module
//                  takes one call at a time; "private": each instance has its
//                  own state
//   vm.parameters  archives of weights, "[SCOPE=]FILE,…"
//   vm.heap        most bytes that the module may hold in its own memory, in
//                  __init and in all calls together, as "65536", "64k", "2M" or
//                  "1G"; with vm.state=private, in each instance. "0", the default:
//                  half of the machine's memory, or of its control group's limit
typedef struct fc_setting_t {
  fc_str_t name;
  fc_str_t value;  // "" is the same as not set
} fc_setting_t;

// A file as it was when its module was loaded, mapped for reading, from a page
// boundary on. Sealed bytes cannot change. Bytes that are not sealed are the
// file's own: a write to the file changes them at any time, and if the file is
// cut, reading the part that was cut off ends the process. So copy what you
// want to check and then trust, before you check it.
typedef struct fc_snapshot_t {
  int fd;          // -1: there is no such file
  fc_str_t bytes;  // data is NULL if there is no file
  bool sealed;
} fc_snapshot_t;

// Where a module comes from. The strings are borrowed for the call of `open`;
// the bytes that the snapshots map stay until `close`.
typedef struct fc_module_source_t {
  fc_snapshot_t file;
  fc_snapshot_t sidecar;
  fc_str_t path;  // NUL-terminated; for messages and for what lies beside it
  fc_str_t name;  // the module's name, made from the path
  const char *sha256;    // of the file, 64 hex digits; "": it is hashed later
  bool allow_native;     // false: refuse machine code inside a vm module
  bool describe_native;  // see fc_module_options_t
  const fc_setting_t *settings;  // for this kind of module and for others
  size_t setting_count;
  bool alone;  // no other file may be run with it (fc_module_options_t.admit)
} fc_module_source_t;

// Returns the value of an option; "" when it is not set. If it is set twice, the last
// value counts.
fc_str_t fc_source_setting(const fc_module_source_t *source, const char *name);

// What limits the time of one call of a function, as known before the call begins.
typedef enum fc_bound_t {
  FC_BOUND_NONE,    // nothing
  FC_BOUND_BUDGET,  // the call's budget (fc_budget_t), if it has one
  FC_BOUND_PROVED,  // its code: it cannot take long, whatever the arguments are
} fc_bound_t;

// What `open` found out. Owned by the module, valid until `close`.
typedef struct fc_module_info_t {
  fc_signature_t *const *signatures;  // in listing order
  size_t count;
  // Calls of at least one of the functions run one at a time; the backend holds the
  // lock.
  bool serial;
  // The results lie in the module's own memory, so a serial module stays locked
  // until call_end.
  bool holds_results;
  bool runs_native;    // has machine code: belongs in the process host
  bool private_state;  // each instance has its own state
  bool described;      // only read, not run: instance_create fails
  // Calls have no safe point: nothing but their code ends them.
  bool endless;
  fc_str_t warning;  // for the log, "" if none
  // One fc_bound_t for each function. NULL: every function has FC_BOUND_NONE.
  const uint8_t *bounds;
} fc_module_info_t;

// The time that an attempt to make a call may take. An attempt that takes longer fails,
// whatever `call` returns, and leaves no effects, so the same call may be made again.
typedef struct fc_budget_t {
  uint64_t end_ns;  // on fc_clock_ns' clock
  bool over;  // set by the backend: the attempt took longer, or would have
} fc_budget_t;

#define FC_TILES_MAX 64

// Runs parts of one call at the same time. The library starts no threads of its
// own; the program around it may hand in a fc_tiles_t (fc_frame_set_tiles).
typedef struct fc_tiles_t {
  void *context;
  uint32_t count;  // parts that may run at once, the caller's own included
  // Calls part(argument, i) once for every i below the argument `count`, which is at
  // most the member `count`. Several of these calls may run at the same time. Returns
  // when all of them have returned.
  void (*run)(void *context, uint32_t count,
              void (*part)(void *argument, uint32_t index), void *argument);
} fc_tiles_t;

// One call in flight. All but `state` is borrowed from the frame that makes the call.
typedef struct fc_backend_call_t {
  const fc_value_t *arguments;  // the flat call's
  size_t argument_count;
  // Written by call: raw_result_count values, then one for each OUT and INOUT
  // argument in argument order. They stay valid until call_end.
  fc_value_t *results;
  size_t result_count;
  fc_arena_t *arena;  // scratch for this call
  // Non-zero asks the backend to end the call at its next safe point (CANCELLED, or
  // DEADLINE_EXCEEDED when the deadline has passed). NULL: the call is never cancelled.
  const fc_atomic_word_t *cancel;
  uint64_t deadline_ns;  // on fc_clock_ns' clock, 0 = none
  // Whether tensor memory that the backend makes for this call must end at an
  // unmapped page. The memory of arguments without strides already does.
  bool guard;
  const fc_tiles_t *tiles;  // NULL: the call keeps to its thread
  // NULL if the call has no budget. If it has one, the budget limits the
  // function's time (FC_BOUND_BUDGET).
  fc_budget_t *budget;
  void *state;  // the backend's own, from call to call_end
} fc_backend_call_t;

// Records where the time of a call goes, for the program around the library.
typedef struct fc_profile_t fc_profile_t;

#define FC_PROBE_SIZE 4096

typedef struct fc_backend_t {
  const char *kind;    // "native", "vm"
  const char *title;   // "shared object", "IREE module", for messages
  const char *suffix;  // ".so", ".vmfb": files of a directory that are loaded
  // This replaces the suffix of a module's file name in the name of its sidecar, the file
  // that describes the module or names its arguments. NULL: this kind has no sidecars.
  const char *sidecar_suffix;
  // The names of the kind's options, NULL-terminated. NULL: it has no options.
  const char *const *settings;
  // A file larger than this is mapped as it is; its snapshot counts as sealed only if
  // the file is sealed memory itself. A file that is not larger is copied to sealed
  // memory. Every file is copied, whatever its size, if this is 0 or if
  // fc_module_options_t.admit is set.
  size_t sealed_max;
  // Tells by the first FC_PROBE_SIZE bytes of a file whether it is of this kind.
  // `head` is the whole file if that is shorter, and is never empty. If the file
  // is not of this kind, `err` says what is missing. When no kind accepts a file,
  // the error is that of the kind whose suffix the file has, if there is one.
  fc_status_t (*probe)(fc_str_t head, fc_error_t *err);
  // Opens, checks and decodes a module. May run the module's constructors,
  // unless the source says describe_native.
  fc_status_t (*open)(const fc_module_source_t *source,
                      fc_allocator_t allocator, void **out_module,
                      fc_error_t *err);
  const fc_module_info_t *(*describe)(const void *module);
  // An instance is used by one thread at a time, so each worker makes its own.
  fc_status_t (*instance_create)(void *module, fc_allocator_t allocator,
                                 void **out_instance, fc_error_t *err);
  // The fc_module_info_t of the module that `instance` was made of.
  const fc_module_info_t *(*inspect)(const void *instance);
  // Runs function `index` of fc_module_info_t. On failure the results are undefined
  // and call_end must still be called.
  fc_status_t (*call)(void *instance, size_t index, fc_backend_call_t *call,
                      fc_error_t *err);
  // Releases the results of a call, once they have been encoded.
  void (*call_end)(void *instance, size_t index, fc_backend_call_t *call);
  void (*instance_destroy)(void *instance);
  // No instance may be left.
  void (*close)(void *module);
  // Does what `call` does, and measures how long each part of the call takes. NULL:
  // this backend does not measure parts.
  fc_status_t (*call_profiled)(void *instance, size_t index,
                               fc_backend_call_t *call, fc_profile_t *profile,
                               fc_error_t *err);
} fc_backend_t;

extern const fc_backend_t fc_backend_native;
extern const fc_backend_t fc_backend_vm;
// Every kind of module that is built in; NULL-terminated.
extern const fc_backend_t *const fc_backends[];

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_BACKEND_H_
