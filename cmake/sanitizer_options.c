// SPDX-License-Identifier: Apache-2.0
//
// Linked into every program of a sanitizer build; the runtimes ask for these.
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void);

// A module's absurd malloc must get NULL, as it would from the C library.
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1";
}
const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }
const char *__tsan_default_options(void) {
  return "allocator_may_return_null=1:second_deadlock_stack=1";
}
