// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL, loaded at the first connection or listener that needs it. Linked, its two
// libraries would cost every start of a program without TLS, and of every worker process,
// 0.9 ms and 0.5 MB of private memory. And a package for Python would have to contain a
// copy.
//
// A file that calls OpenSSL includes this header instead of OpenSSL's own. A call by the
// usual name then goes through the table fc_openssl.
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

// Loads the library once; it stays until the program ends. Call it on one thread, before
// any other function of OpenSSL. FC_CODE_NOT_ACCEPTABLE: it cannot be loaded; the message
// is the system loader's.
fc_status_t fc_openssl_load(fc_error_t *err) FC_MUST_CHECK;

// Makes a BIO method with which OpenSSL reads and writes through `read` and `write`. The
// caller frees it (BIO_meth_free). NULL: no memory.
BIO_METHOD *fc_openssl_make_method(const char *name,
                                   int (*read)(BIO *, char *, int),
                                   int (*write)(BIO *, const char *, int));

#include "openssl_names.h"

#endif  // FARCALL_TLS_OPENSSL_H_
