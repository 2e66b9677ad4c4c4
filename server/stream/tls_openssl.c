// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <string.h>

#include "stream/openssl.h"

#define LIBRARY "libssl.so.3"  // which brings libcrypto

fc_openssl_t fc_openssl;

static fc_status_t fail(fc_error_t *err) {
  const char *why = dlerror();
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "TLS needs OpenSSL 3: %s",
                 why ? why : LIBRARY);
}

fc_status_t fc_openssl_load(fc_error_t *err) {
  static const struct {
    const char *name;
    void *member;  // of fc_openssl, where the name's line in openssl.h leads
  } kFunctions[] = {
#define FC_OPENSSL(name) {#name, &(name)},
#include "stream/openssl.def"
  };
  static bool loaded;
  if (loaded) return FC_OK;
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(err);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFunctions); i++) {
    void *function = dlsym(library, kFunctions[i].name);
    if (!function) return fail(err);
    memcpy(kFunctions[i].member, &function, sizeof function);
  }
  loaded = true;
  return FC_OK;
}
