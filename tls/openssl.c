// SPDX-License-Identifier: Apache-2.0
//
// Loads OpenSSL and fills the table of openssl.h.
#include <dlfcn.h>
#include <string.h>

#include "tls/openssl.h"

#define LIBRARY "libssl.so.3"  // which loads libcrypto

fc_openssl_t fc_openssl;

static fc_status_t fail(fc_error_t *err) {
  const char *why = dlerror();
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "TLS needs OpenSSL 3: %s",
                 why ? why : LIBRARY);
}

fc_status_t fc_openssl_load(fc_error_t *err) {
  static const struct {
    const char *name;
    void *member;  // of fc_openssl; the usual name stands for it
  } kFunctions[] = {
#define FC_OPENSSL(name) {#name, &(name)},
#include "tls/openssl.def"
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

static long control(BIO *bio, int what, long number, void *pointer) {
  (void)bio;
  (void)number;
  (void)pointer;
  return what == BIO_CTRL_FLUSH;
}

static int create(BIO *bio) {
  BIO_set_init(bio, 1);
  return 1;
}

BIO_METHOD *fc_openssl_make_method(const char *name,
                                   int (*read)(BIO *, char *, int),
                                   int (*write)(BIO *, const char *, int)) {
  BIO_METHOD *method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, name);
  if (!method) return NULL;
  BIO_meth_set_read(method, read);
  BIO_meth_set_write(method, write);
  BIO_meth_set_ctrl(method, control);
  BIO_meth_set_create(method, create);
  return method;
}
