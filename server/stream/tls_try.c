// SPDX-License-Identifier: Apache-2.0
//
// Makes one handshake in memory, with a client made here. If an allocation fails while
// OpenSSL starts, OpenSSL may lack an algorithm, and reports nothing. Without this test
// the server would listen, and the handshake of every client would fail.
#include "stream/tls_stream.h"

#define TURNS_MAX 32

// False: one of the two sides failed.
static bool shake(SSL *client, SSL *server) {
  SSL *const both[2] = {client, server};
  bool done[2] = {false, false};
  for (int i = 0; i < TURNS_MAX && !(done[0] && done[1]); i++) {
    const int who = i % 2;
    if (done[who]) continue;
    const int made = SSL_do_handshake(both[who]);
    const int error =
        made == 1 ? SSL_ERROR_NONE : SSL_get_error(both[who], made);
    done[who] = made == 1;
    if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ &&
        error != SSL_ERROR_WANT_WRITE) {
      return false;
    }
  }
  return done[0] && done[1];
}

// Makes a client that accepts any certificate and has none.
static SSL_CTX *make_client(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (!context) return NULL;
  SSL_CTX_set_security_level(context, 0);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1)
    return context;
  SSL_CTX_free(context);
  return NULL;
}

static bool try_with(SSL *client, SSL *server, size_t flight_max) {
  BIO *here, *there;
  if (BIO_new_bio_pair(&here, flight_max, &there, flight_max) != 1)
    return false;
  SSL_set_bio(client, here, here);
  SSL_set_bio(server, there, there);
  SSL_set_connect_state(client);
  SSL_set_accept_state(server);
  SSL_set_verify(server, SSL_VERIFY_NONE, NULL);
  return shake(client, server);
}

bool fc_tls_try(const fc_tls_keys_t *keys) {
  SSL_CTX *context = make_client();
  SSL *client = context ? SSL_new(context) : NULL;
  SSL *server = client ? SSL_new(keys->context) : NULL;
  const bool tried = server && try_with(client, server, keys->flight_max);
  SSL_free(client);
  SSL_free(server);
  SSL_CTX_free(context);
  return tried;
}
