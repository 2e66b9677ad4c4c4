// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's input and output: it reads received bytes and writes to memory, so it never
// sees a socket. A read without bytes must be repeated when more have come. A write with
// too little room fails finally: callers must have made room for everything that OpenSSL
// may write.
#include <string.h>

#include "stream/tls_stream.h"

static int read_bio(BIO *bio, char *out, int capacity) {
  fc_str_t *from = &((fc_tls_stream_t *)BIO_get_data(bio))->from;
  const size_t most = (size_t)capacity;
  const size_t size = from->size < most ? from->size : most;
  BIO_clear_retry_flags(bio);
  if (size == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  memcpy(out, from->data, size);
  *from = fc_str_make(from->data + size, from->size - size);
  return (int)size;
}

static int write_bio(BIO *bio, const char *data, int size) {
  fc_tls_bytes_t *to = ((fc_tls_stream_t *)BIO_get_data(bio))->to;
  BIO_clear_retry_flags(bio);
  if ((size_t)size > to->capacity - to->size) return -1;
  memcpy(to->data + to->size, data, (size_t)size);
  to->size += (size_t)size;
  return size;
}

void *fc_tls_make_method(void) {
  return fc_openssl_make_method("stream of farcall", read_bio, write_bio);
}

void fc_tls_free_method(void *method) { BIO_meth_free(method); }

bool fc_tls_make_ssl(fc_tls_stream_t *self) {
  SSL *ssl = SSL_new(self->context);
  BIO *bio = ssl ? BIO_new(self->tls->method) : NULL;
  if (!bio) {
    SSL_free(ssl);
    return false;
  }
  BIO_set_data(bio, self);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  self->ssl = ssl;
  return true;
}
