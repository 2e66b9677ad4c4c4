// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL, loaded when the first connection or listener wants it. If it were linked, a
// program without TLS and every worker process would pay for its two libraries at the
// start: 0.9 ms, and 0.5 MB of memory of its own. A package for Python would have to
// bring a copy.
//
// A file that calls OpenSSL includes this header and no header of OpenSSL's own. A call
// by the usual name then goes through the table.
#ifndef FARCALL_TLS_OPENSSL_H_
#define FARCALL_TLS_OPENSSL_H_

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "farcall/base.h"

typedef struct fc_openssl_t {
#define FC_OPENSSL(name) __typeof__(&(name)) name;
#include "tls/openssl.def"
} fc_openssl_t;

extern fc_openssl_t fc_openssl;

// Loads the library once; it stays until the program ends. Call it on one thread,
// before any other function of OpenSSL. The message of FC_CODE_NOT_ACCEPTABLE is that
// of the system's loader.
fc_status_t fc_openssl_load(fc_error_t *err) FC_MUST_CHECK;

// Makes a method with which OpenSSL reads and writes through our functions. The
// caller owns it (BIO_meth_free). NULL when out of memory.
BIO_METHOD *fc_openssl_make_method(const char *name,
                                   int (*read)(BIO *, char *, int),
                                   int (*write)(BIO *, const char *, int));

#include "openssl_names.h"

#endif  // FARCALL_TLS_OPENSSL_H_
