// SPDX-License-Identifier: Apache-2.0
//
// What is reported of a process that crashes: the signal, the kind of address, and the
// place in the module.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"
#include "pool/fault.h"
#include "pool/helpers.h"

#define CRASH FARCALL_BUILD_DIR "/tests/modules/native/crash.so"

typedef struct row_t {
  const char *name;
  const char *function;  // of the module; NULL: recurse() here, or with
                         // argument 0 the stack, called as if it were code
  int64_t argument;
  int signal;
  fc_fault_class_t class_;
  bool in_module;
  bool in_helper;  // in a thread of --tiles
} row_t;

static const row_t rows[] = {
    {"near zero", "peek", 16, SIGSEGV, FC_FAULT_NULL, true, false},
    {"near zero, in a helper", "peek", 16, SIGSEGV, FC_FAULT_NULL, true, true},
    {"elsewhere", "peek", INT64_C(1) << 30, SIGSEGV, FC_FAULT_ELSEWHERE, true,
     false},
#if defined(__x86_64__)
    {"no address", "peek", INT64_C(1) << 62, SIGSEGV, FC_FAULT_NONE, true,
     false},
#endif
    {"the C library's", "stop", SIGABRT, SIGABRT, FC_FAULT_NONE, false, false},
    {"sent by somebody", "stop", SIGSEGV, SIGSEGV, FC_FAULT_NONE, false, false},
    {"a stack that ends", NULL, INT32_MAX, SIGSEGV, FC_FAULT_STACK, false,
     false},
    {"a helper's stack that ends", NULL, INT32_MAX, SIGSEGV, FC_FAULT_STACK,
     false, true},
    {"code above the module", NULL, 0, SIGSEGV, FC_FAULT_STACK, false, false},
};

// Touches the middle of its frame, so that the faulting address is not the stack
// pointer.
static int64_t recurse(int64_t depth) {
  volatile char room[1 << 14];
  room[1 << 13] = (char)depth;
  return depth ? recurse(depth - 1) + room[1 << 13] : 0;
}

typedef struct part_t {
  pthread_t caller;
  int64_t (*function)(int64_t);
  int64_t argument;
} part_t;

// One of the two parts runs in the helper thread.
static void run_in_helper(void *argument, uint32_t index) {
  const part_t *part = argument;
  (void)index;
  while (pthread_equal(pthread_self(), part->caller)) pause();
  (void)part->function(part->argument);
}

static void call_in_helper(int64_t (*function)(int64_t), int64_t argument) {
  fc_helpers_t *helpers;
  part_t part = {pthread_self(), function, argument};
  if (fc_helpers_create(fc_allocator_system(), 2, 0, &helpers, NULL)) _exit(1);
  const fc_tiles_t *tiles = fc_helpers_tiles(helpers);
  tiles->run(tiles->context, 2, run_in_helper, &part);
}

static _Noreturn void crash(const row_t *row, fc_fault_t *fault) {
  const struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  fc_fault_watch(fault);
  fc_fault_before_load();
  void *module = dlopen(CRASH, RTLD_NOW | RTLD_LOCAL);
  fc_fault_after_load();
  char name[64];
  // The stack is above everything that is loaded, and is not executable.
  const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
  int64_t (*function)(int64_t) = recurse;
  if (!row->function && !row->argument) {
    memcpy(&function, &stack, sizeof function);
  } else if (row->function) {
    snprintf(name, sizeof name, "_mlir_ciface_%s", row->function);
    void *address = module ? dlsym(module, name) : NULL;
    if (!address) _exit(1);
    memcpy(&function, &address, sizeof function);
  }
  if (row->in_helper) call_in_helper(function, row->argument);
  (void)function(row->argument);
  _exit(2);
}

static void last_words_say_what_and_where(void **state) {
  (void)state;
  fc_fault_t *fault = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(fault != MAP_FAILED);
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    memset(fault, 0, sizeof *fault);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) crash(row, fault);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), row->signal);
    assert_int_equal(fault->signal, row->signal);
    assert_int_equal(fault->class_, row->class_);
    assert_int_equal(fault->in_module, row->in_module);
    assert_int_equal(fault->offset != 0, row->in_module);
    // The offset is small, because the module has only a few pages.
    assert_true(fault->offset < 1 << 20);
  }
  munmap(fault, sizeof *fault);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(last_words_say_what_and_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
