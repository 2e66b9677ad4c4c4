// SPDX-License-Identifier: Apache-2.0
//
// The key that encrypts session tickets, and how long it is used.
#include "helpers/test.h"
#include "stream/tls.h"
#if FARCALL_TLS
#include "helpers/secure.h"
#include "stream/tls_stream.h"

#define HOUR_MS 3600000u

// Makes a file with a certificate and its key. `name` ends in XXXXXX, which is replaced
// (mkstemp).
static void make_file(char *name) {
  const int file = mkstemp(name);
  assert_true(file >= 0);
  close(file);
  secure_make_file(name);
}

// Appends the contents of file `more` to file `name`.
static void append(const char *name, const char *more) {
  char text[8192];
  FILE *from = fopen(more, "r"), *to = fopen(name, "a");
  assert_true(from && to);
  const size_t size = fread(text, 1, sizeof text, from);
  assert_true(size > 0 && size < sizeof text);
  assert_int_equal(fwrite(text, 1, size, to), size);
  fclose(from);
  assert_int_equal(fclose(to), 0);
}

static fc_tls_keys_t *open_keys(bool client_ca) {
  char own[] = "/tmp/farcall-keys-XXXXXX", other[] = "/tmp/farcall-keys-XXXXXX";
  fc_tls_keys_t *keys = NULL;
  fc_error_t error;
  make_file(own);
  make_file(other);
  append(own, other);
  const fc_tls_files_t files = {own, own, client_ca ? other : ""};
  assert_int_equal(
      fc_tls_keys_open(&files, fc_allocator_system(), &keys, &error), FC_OK);
  unlink(own);
  unlink(other);
  return keys;
}

// Makes a connection in memory. Returns whether it resumed *session, which is replaced
// by the session of the new ticket.
static bool connects(SSL_CTX *client, const fc_tls_keys_t *keys,
                     SSL_SESSION **session) {
  SSL *one = SSL_new(client), *other = SSL_new(keys->context);
  BIO *here = NULL, *there = NULL;
  char byte = 'x';
  assert_true(one && other && BIO_new_bio_pair(&here, 0, &there, 0) == 1);
  SSL_set_bio(one, here, here);
  SSL_set_bio(other, there, there);
  SSL_set_connect_state(one);
  SSL_set_accept_state(other);
  if (*session) assert_int_equal(SSL_set_session(one, *session), 1);
  bool done = false;
  for (int i = 0; i < 10 && !done; i++) {
    done = SSL_do_handshake(one) == 1;
    done &= SSL_do_handshake(other) == 1;
  }
  assert_true(done);
  // TLS 1.3 sends tickets before the first byte.
  assert_int_equal(SSL_write(other, &byte, 1), 1);
  assert_int_equal(SSL_read(one, &byte, 1), 1);
  const bool resumed = SSL_session_reused(other) == 1;
  SSL_SESSION_free(*session);
  *session = SSL_get1_session(one);
  SSL_shutdown(one);
  SSL_shutdown(other);
  SSL_free(one);
  SSL_free(other);
  ERR_clear_error();
  return resumed;
}

static void tickets_have_another_key_each_hour(void **state) {
  (void)state;
  static const int kVersions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kVersions); i++) {
    fc_test_row(i ? "1.3" : "1.2");
    fc_tls_keys_t *keys = open_keys(false);
    SSL_CTX *client = SSL_CTX_new(TLS_client_method());
    SSL_SESSION *session = NULL;
    SSL_CTX_set_max_proto_version(client, kVersions[i]);
    fc_tls_keys_renew(keys, 1000);
    SSL_CTX *first = keys->context;
    SSL_CTX_up_ref(first);
    assert_false(connects(client, keys, &session));
    fc_tls_keys_renew(keys, 1000 + HOUR_MS - 1);
    assert_ptr_equal(keys->context, first);
    assert_true(connects(client, keys, &session));
    fc_tls_keys_renew(keys, 1000 + HOUR_MS);
    assert_ptr_not_equal(keys->context, first);
    assert_false(connects(client, keys, &session));
    fc_tls_keys_renew(keys, 1000 + 2 * HOUR_MS - 1);
    assert_true(connects(client, keys, &session));
    fc_tls_keys_renew(keys, 1000 + 2 * HOUR_MS);
    assert_false(connects(client, keys, &session));
    SSL_SESSION_free(session);
    SSL_CTX_free(client);
    SSL_CTX_free(first);
    fc_tls_keys_close(keys);
  }
  fc_test_row(NULL);
}

static void all_else_stays(void **state) {
  (void)state;
  fc_tls_keys_t *keys = open_keys(false);
  fc_tls_keys_renew(keys, 1);
  SSL_CTX *first = keys->context;
  SSL_CTX_up_ref(first);
  fc_tls_keys_renew(keys, 1 + HOUR_MS);
  SSL_CTX *second = keys->context;
  assert_ptr_not_equal(first, second);
  STACK_OF(X509) *one = NULL, *other = NULL;
  SSL_CTX_get0_chain_certs(first, &one);
  SSL_CTX_get0_chain_certs(second, &other);
  assert_int_equal(sk_X509_num(one), 1);
  assert_int_equal(sk_X509_num(other), 1);
  assert_ptr_equal(sk_X509_value(one, 0), sk_X509_value(other, 0));
  assert_ptr_equal(SSL_CTX_get0_certificate(first),
                   SSL_CTX_get0_certificate(second));
  assert_ptr_equal(SSL_CTX_get0_privatekey(first),
                   SSL_CTX_get0_privatekey(second));
  assert_true(SSL_CTX_get_options(first) == SSL_CTX_get_options(second));
  assert_true(SSL_CTX_get_mode(first) == SSL_CTX_get_mode(second));
  assert_int_equal(SSL_CTX_get_min_proto_version(second), TLS1_2_VERSION);
  SSL_CTX_free(first);
  fc_tls_keys_close(keys);
}

// With client certificates, connections have no tickets, and the rules for clients are
// read from files.
static void with_an_authority_of_clients_nothing_is_renewed(void **state) {
  (void)state;
  fc_tls_keys_t *keys = open_keys(true);
  const SSL_CTX *first = keys->context;
  fc_tls_keys_renew(keys, 1);
  fc_tls_keys_renew(keys, 1 + 5 * HOUR_MS);
  assert_ptr_equal(keys->context, first);
  fc_tls_keys_close(keys);
}

static int load(void **state) {
  (void)state;
  fc_error_t error;
  return fc_openssl_load(&error) == FC_OK ? 0 : 1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(tickets_have_another_key_each_hour),
      FC_TEST(all_else_stays),
      FC_TEST(with_an_authority_of_clients_nothing_is_renewed),
  };
  return cmocka_run_group_tests(tests, load, NULL);
}
#else
int main(void) {
  puts("skipped: built with -DFARCALL_TLS=OFF");
  return 77;
}
#endif
