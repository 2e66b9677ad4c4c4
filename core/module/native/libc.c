// SPDX-License-Identifier: Apache-2.0
//
// Names of the C library. Those of libm are looked up in libm, others in short lists.
// kReserved has the names that LLVM and gcc treat as builtins when they optimise
// calls.
#include "module/native/libc.h"

#include <dlfcn.h>
#include <link.h>

#include "module/native/shim.h"

static const char *const kHarmless[] = {
    "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free",
    "memcpy", "memmove", "memset", "memcmp", "puts", "abort",
    // All linked objects import these, through crtbeginS.o, crti.o and stack protectors.
    "__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable", "__stack_chk_fail"};

static const char *const kReserved[] = {
    "abs",      "labs",          "llabs",          "ffs",
    "ffsl",     "ffsll",         "malloc",         "calloc",
    "realloc",  "aligned_alloc", "posix_memalign", "memalign",
    "valloc",   "free",          "memcpy",         "memmove",
    "memset",   "memcmp",        "memchr",         "memrchr",
    "mempcpy",  "memccpy",       "bcmp",           "bcopy",
    "bzero",    "strlen",        "strnlen",        "strcpy",
    "strncpy",  "stpcpy",        "stpncpy",        "strcat",
    "strncat",  "strcmp",        "strncmp",        "strchr",
    "strrchr",  "strstr",        "strspn",         "strcspn",
    "strpbrk",  "strtol",        "strtoll",        "strtoul",
    "strtoull", "strtod",        "strtof",         "strdup",
    "strndup",  "atoi",          "atol",           "atoll",
    "atof",     "isdigit",       "isascii",        "toascii",
    "printf",   "fprintf",       "sprintf",        "snprintf",
    "vprintf",  "vfprintf",      "vsprintf",       "vsnprintf",
    "puts",     "putchar",       "fputs",          "fputc",
    "fwrite",   "exit",          "abort",          "setjmp",
    "longjmp",  "alloca"};

static bool is_among(fc_str_t name, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (fc_str_equal(name, fc_str(list[i]))) return true;
  }
  return false;
}

// True for a symbol of libm itself. dlsym on libm also finds symbols of the libraries
// that libm needs, so the name of the object at the address is checked.
bool fc_libc_is_math(fc_str_t name) {
  char text[64];
  if (name.size >= sizeof text) return false;
  memcpy(text, name.data, name.size);
  text[name.size] = '\0';
  void *libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (!libm) return false;
  bool found = false;
  void *address = dlsym(libm, text);
  struct link_map *map;
  Dl_info info;
  if (address && dlinfo(libm, RTLD_DI_LINKMAP, &map) == 0 &&
      dladdr(address, &info) != 0) {
    found = !strcmp(info.dli_fname, map->l_name);
  }
  dlclose(libm);
  return found;
}

bool fc_libc_is_harmless(fc_str_t name) {
  return is_among(name, kHarmless, FC_ARRAY_COUNT(kHarmless)) ||
         fc_shim_provides(name) || fc_libc_is_math(name);
}

bool fc_libc_is_reserved(fc_str_t name) {
  return is_among(name, kReserved, FC_ARRAY_COUNT(kReserved)) ||
         fc_libc_is_math(name);
}
