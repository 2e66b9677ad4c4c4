// SPDX-License-Identifier: Apache-2.0
//
// Files are read here and not by OpenSSL, which would open them without O_CLOEXEC: a
// worker process that is started meanwhile must not inherit a descriptor of the key. The
// memory with the key's bytes is overwritten before it is freed.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "stream/tls_stream.h"

#define FILE_MAX (1u << 20)
// Bytes of the messages besides the certificates.
#define FLIGHT_MIN (16u << 10)
// The most bytes of certificates that a client sends.
#define CERTIFICATES_MAX (64u << 10)
#define DEPTH_MAX 8  // the most certificates between client and authority
#define TICKETS_MS (60u * 60 * 1000)  // how long one key encrypts tickets

typedef struct file_t {
  const char *option;
  const char *name;
  fc_allocator_t allocator;
  uint8_t *data;
  size_t size;
  BIO *bio;
} file_t;

// ---------------------------------------------------------------------------
// Files

static fc_status_t fail_file(const file_t *file, const char *why,
                             fc_error_t *err) {
  char shown[160];
  fc_escape(shown, sizeof shown, 128, fc_str(file->name));
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "--%s: '%s': %s", file->option,
                 shown, why);
}

// Fails with OpenSSL's reason.
static fc_status_t fail_ssl(const file_t *file, const char *what,
                            fc_error_t *err) {
  char why[160];
  const char *reason = ERR_reason_error_string(ERR_peek_last_error());
  snprintf(why, sizeof why, "%s: %s", what, reason ? reason : "no reason");
  ERR_clear_error();
  return fail_file(file, why, err);
}

static ssize_t read_all(int fd, uint8_t *data, size_t capacity) {
  size_t size = 0;
  while (size < capacity) {
    const ssize_t got = read(fd, data + size, capacity - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    size += (size_t)got;
  }
  return (ssize_t)size;
}

static fc_status_t open_file(file_t *file, fc_error_t *err) {
  const int fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return fail_file(file, strerror(errno), err);
  file->data = fc_alloc(file->allocator, FILE_MAX);
  const ssize_t size = file->data ? read_all(fd, file->data, FILE_MAX) : 0;
  const int reason = errno;
  close(fd);
  if (!file->data) return fc_fail_memory(err);
  if (size < 0) return fail_file(file, strerror(reason), err);
  file->size = (size_t)size;
  if (size == 0) return fail_file(file, "it is empty", err);
  if (size == FILE_MAX) {
    return fail_file(file, "it has 1 MiB or more", err);
  }
  file->bio = BIO_new_mem_buf(file->data, (int)size);
  return file->bio ? FC_OK : fc_fail_memory(err);
}

static void close_file(file_t *file) {
  BIO_free(file->bio);
  if (file->data) OPENSSL_cleanse(file->data, file->size);
  fc_free(file->allocator, file->data);
}

// Refuses an encrypted key: the server cannot ask anybody for its password.
static int no_password(char *out, int capacity, int writing, void *context) {
  (void)out;
  (void)capacity;
  (void)writing;
  (void)context;
  return -1;
}

// ---------------------------------------------------------------------------
// The contents of the files

// Returns seconds since 1970; `unknown` if the certificate has no such time.
static int64_t seconds_of(const ASN1_TIME *time, int64_t unknown) {
  struct tm parts;
  return ASN1_TIME_to_tm(time, &parts) ? (int64_t)timegm(&parts) : unknown;
}

// A chain of certificates is valid while each of them is valid.
static void note_dates(fc_tls_keys_t *keys, const X509 *certificate) {
  const int64_t begin =
      seconds_of(X509_get0_notBefore(certificate), keys->begin_s);
  const int64_t end = seconds_of(X509_get0_notAfter(certificate), keys->end_s);
  if (begin > keys->begin_s) keys->begin_s = begin;
  if (end < keys->end_s) keys->end_s = end;
}

static fc_status_t take_certificates(fc_tls_keys_t *keys, file_t *file,
                                     fc_error_t *err) {
  X509 *own = PEM_read_bio_X509_AUX(file->bio, NULL, no_password, NULL);
  if (!own) return fail_ssl(file, "no certificate in PEM", err);
  note_dates(keys, own);
  const int taken = SSL_CTX_use_certificate(keys->context, own);
  X509_free(own);
  if (taken != 1) return fail_ssl(file, "the certificate is refused", err);
  X509 *next;
  while ((next = PEM_read_bio_X509(file->bio, NULL, no_password, NULL))) {
    note_dates(keys, next);
    if (SSL_CTX_add0_chain_cert(keys->context, next) == 1) continue;
    X509_free(next);
    return fail_ssl(file, "a certificate is refused", err);
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return fail_ssl(file, "a certificate behind the first", err);
  }
  ERR_clear_error();
  return FC_OK;
}

static fc_status_t take_key(fc_tls_keys_t *keys, file_t *file,
                            fc_error_t *err) {
  EVP_PKEY *key = PEM_read_bio_PrivateKey(file->bio, NULL, no_password, NULL);
  if (!key) return fail_ssl(file, "no key in PEM without a password", err);
  const int taken = SSL_CTX_use_PrivateKey(keys->context, key);
  EVP_PKEY_free(key);
  if (taken == 1 && SSL_CTX_check_private_key(keys->context) == 1) return FC_OK;
  return fail_ssl(file, "the key is not that of the certificate", err);
}

// Clients need a certificate that leads to one of these authorities.
static fc_status_t take_authorities(fc_tls_keys_t *keys, file_t *file,
                                    fc_error_t *err) {
  X509_STORE *store = SSL_CTX_get_cert_store(keys->context);
  X509 *each;
  unsigned count = 0;
  while ((each = PEM_read_bio_X509(file->bio, NULL, no_password, NULL))) {
    const bool taken = X509_STORE_add_cert(store, each) == 1 &&
                       SSL_CTX_add_client_CA(keys->context, each) == 1;
    X509_free(each);
    if (!taken) return fail_ssl(file, "a certificate is refused", err);
    count++;
  }
  if (count == 0 ||
      ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return fail_ssl(file, "no certificate in PEM", err);
  }
  ERR_clear_error();
  SSL_CTX_set_verify(keys->context,
                     SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_verify_depth(keys->context, DEPTH_MAX);
  // No tickets are given: a resumed session does not check the client's certificate
  // again, so an expired one would be accepted.
  SSL_CTX_set_options(keys->context, SSL_OP_NO_TICKET);
  return SSL_CTX_set_num_tickets(keys->context, 0) == 1 ? FC_OK
                                                        : fc_fail_memory(err);
}

static fc_status_t take_file(fc_tls_keys_t *keys, const char *option,
                             const char *name,
                             fc_status_t (*take)(fc_tls_keys_t *, file_t *,
                                                 fc_error_t *),
                             fc_error_t *err) {
  file_t file = {.option = option, .name = name, .allocator = keys->allocator};
  fc_status_t status = open_file(&file, err);
  if (status == FC_OK) status = take(keys, &file, err);
  keys->flight_max += file.size;
  close_file(&file);
  return status;
}

// ---------------------------------------------------------------------------
// Protocols, versions and ciphers

// Chooses the protocol. A client that offers protocols must offer HTTP/2 or HTTP/1.1, and
// gets the first of these that it offers. A client that offers none gets HTTP/1.1.
static int choose_protocol(SSL *ssl, const unsigned char **out,
                           unsigned char *out_size,
                           const unsigned char *offered, unsigned size,
                           void *context) {
#if FARCALL_HTTP2
  static const unsigned char kHttp[] = "\x02h2\x08http/1.1";
#else
  static const unsigned char kHttp[] = "\x08http/1.1";
#endif
  (void)ssl;
  (void)context;
  return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_size,
                               kHttp, sizeof kHttp - 1, offered,
                               size) == OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Sets the versions, and the ciphers of TLS 1.2, independent of the system's OpenSSL
// configuration. With these ciphers each session has its own keys: a server key that is
// stolen later cannot decrypt earlier traffic.
static bool set_rules(SSL_CTX *context) {
  static const unsigned char kName[] = "farcalld";
  SSL_CTX_set_security_level(context, 2);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_PRIORITIZE_CHACHA |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Clients get only the certificates of --tls-cert, and none of --client-ca.
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A read ends after each message of the protocol itself, so that reads can be counted.
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  // Only tickets are used: sessions take no memory here.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, CERTIFICATES_MAX);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
         SSL_CTX_set_session_id_context(context, kName, sizeof kName - 1) == 1;
}

static fc_status_t fail_try(const char *certificate, fc_error_t *err) {
  const file_t file = {.option = "tls-cert", .name = certificate};
  return fail_ssl(&file, "a handshake that tries it fails", err);
}

static fc_status_t take_files(fc_tls_keys_t *keys, const fc_tls_files_t *files,
                              fc_error_t *err) {
  keys->context = SSL_CTX_new(TLS_server_method());
  if (!keys->context || !set_rules(keys->context)) {
    ERR_clear_error();
    return fc_fail_memory(err);
  }
  keys->flight_max = FLIGHT_MIN;
  FC_TRY(
      take_file(keys, "tls-cert", files->certificate, take_certificates, err));
  FC_TRY(take_file(keys, "tls-key", files->key, take_key, err));
  keys->has_tickets = !*files->client_ca;
  if (keys->has_tickets) return FC_OK;
  return take_file(keys, "client-ca", files->client_ca, take_authorities, err);
}

fc_status_t fc_tls_keys_open(const fc_tls_files_t *files,
                             fc_allocator_t allocator, fc_tls_keys_t **out_keys,
                             fc_error_t *err) {
  FC_TRY(fc_openssl_load(err));
  fc_tls_keys_t *keys = fc_alloc(allocator, sizeof *keys);
  if (!keys) return fc_fail_memory(err);
  *keys = (fc_tls_keys_t){
      .allocator = allocator, .begin_s = INT64_MIN, .end_s = INT64_MAX};
  fc_status_t status = take_files(keys, files, err);
  if (status == FC_OK && !fc_tls_try(keys))
    status = fail_try(files->certificate, err);
  if (status == FC_OK) *out_keys = keys;
  else fc_tls_keys_close(keys);
  return status;
}

void fc_tls_keys_close(fc_tls_keys_t *keys) {
  if (!keys) return;
  SSL_CTX_free(keys->context);
  fc_free(keys->allocator, keys);
}

// OpenSSL makes a ticket key for each context, and has no lock for changing it while
// threads make handshakes. So a new context is made with the same certificates and key,
// and each stream holds the context with which it began.
static SSL_CTX *make_again(SSL_CTX *old) {
  STACK_OF(X509) *chain = NULL;
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (context && set_rules(context) &&
      SSL_CTX_get0_chain_certs(old, &chain) == 1 &&
      SSL_CTX_use_cert_and_key(context, SSL_CTX_get0_certificate(old),
                               SSL_CTX_get0_privatekey(old), chain, 1) == 1) {
    return context;
  }
  ERR_clear_error();
  SSL_CTX_free(context);
  return NULL;
}

void fc_tls_keys_renew(fc_tls_keys_t *keys, uint64_t now_ms) {
  if (!keys->renewed_ms) keys->renewed_ms = now_ms;
  if (!keys->has_tickets || now_ms - keys->renewed_ms < TICKETS_MS) return;
  SSL_CTX *context = make_again(keys->context);
  if (!context) return;  // no memory: the next stream tries again
  SSL_CTX_free(keys->context);
  keys->context = context;
  keys->renewed_ms = now_ms;
}

bool fc_tls_keys_hold(const fc_tls_keys_t *keys, int64_t now_s,
                      char out_text[FC_TLS_DATES_MAX]) {
  const bool early = now_s < keys->begin_s, late = now_s >= keys->end_s;
  const time_t when = (time_t)(early ? keys->begin_s : keys->end_s);
  struct tm parts;
  char day[32] = "no day that is known";
  if (keys->end_s != INT64_MAX && gmtime_r(&when, &parts)) {
    (void)strftime(day, sizeof day, "%Y-%m-%d", &parts);
  }
  snprintf(out_text, FC_TLS_DATES_MAX, "%s %s",
           early  ? "begins on"
           : late ? "has ended on"
                  : "ends on",
           day);
  return !early && !late;
}

void fc_tls_keys_dates(const fc_tls_keys_t *keys, int64_t *out_begin_s,
                       int64_t *out_end_s) {
  *out_begin_s = keys->begin_s;
  *out_end_s = keys->end_s;
}

const char *fc_tls_library(void) { return "OpenSSL " OPENSSL_VERSION_STR; }
