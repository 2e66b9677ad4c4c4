// SPDX-License-Identifier: Apache-2.0
//
// TLS by OpenSSL, with our own BIO. With OpenSSL's BIO for sockets, a write to a server
// that has disconnected would end this program by SIGPIPE.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "tls/openssl.h"
#include "wire.h"

// Made once, because a program uses one set of rules for all its connections.
static SSL_CTX *context;
static BIO_METHOD *method;
static const char *why = "the server has closed without saying so";

// ---------------------------------------------------------------------------
// The socket

static int after(BIO *bio, ssize_t size, bool reads) {
  BIO_clear_retry_flags(bio);
  if (size >= 0 || (errno != EAGAIN && errno != EINTR)) return (int)size;
  if (reads) BIO_set_retry_read(bio);
  else BIO_set_retry_write(bio);
  return -1;
}

static int file_of(BIO *bio) { return ((fc_wire_t *)BIO_get_data(bio))->file; }

static int read_bio(BIO *bio, char *out, int capacity) {
  return after(bio, recv(file_of(bio), out, (size_t)capacity, 0), true);
}

static int write_bio(BIO *bio, const char *data, int size) {
  return after(bio, send(file_of(bio), data, (size_t)size, MSG_NOSIGNAL),
               false);
}

// ---------------------------------------------------------------------------
// Rules

static const char *reason(void) {
  const unsigned long code = ERR_peek_error();
  const char *text = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
                                            : ERR_reason_error_string(code);
  return text ? text : "no reason";
}

static fc_status_t fail_file(const char *option, const char *name,
                             fc_error_t *err) {
  const fc_status_t status =
      fc_fail(err, FC_CODE_JSON_SCHEMA, "--%s=%s: %s", option, name, reason());
  ERR_clear_error();
  return status;
}

static fc_status_t make_context(const fc_wire_rules_t *rules, fc_error_t *err) {
  FC_TRY(fc_openssl_load(err));
  method = fc_openssl_make_method("wire", read_bio, write_bio);
  context = method ? SSL_CTX_new(TLS_client_method()) : NULL;
  if (!context) return fc_fail_memory(err);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  if (rules->ca) {
    if (SSL_CTX_load_verify_file(context, rules->ca) != 1) {
      return fail_file("ca", rules->ca, err);
    }
  } else {
    (void)SSL_CTX_set_default_verify_paths(context);
  }
  if (!rules->certificate) return FC_OK;
  const char *key = rules->key ? rules->key : rules->certificate;
  if (SSL_CTX_use_certificate_chain_file(context, rules->certificate) != 1) {
    return fail_file("cert", rules->certificate, err);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
    return fail_file("key", key, err);
  }
  return FC_OK;
}

// The certificate must name the host; by its address, if the host was given as an
// address.
static bool set_host(SSL *ssl, const char *host) {
  unsigned char address[sizeof(struct in6_addr)];
  if (inet_pton(AF_INET, host, address) == 1 ||
      inet_pton(AF_INET6, host, address) == 1) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, host) == 1 &&
         SSL_set_tlsext_host_name(ssl, host) == 1;
}

fc_status_t fc_wire_secure(fc_wire_t *wire, const fc_wire_rules_t *rules,
                           fc_error_t *err) {
  static const unsigned char kHttp[] = "\x08http/1.1", kHttp2[] = "\x02h2";
  if (!context) {
    const fc_status_t status = make_context(rules, err);
    if (status != FC_OK) {
      if (context) SSL_CTX_free(context);
      context = NULL;
      return status;
    }
  }
  SSL *ssl = SSL_new(context);
  BIO *bio = ssl ? BIO_new(method) : NULL;
  if (!bio || !set_host(ssl, rules->host)) {
    BIO_free(bio);
    SSL_free(ssl);
    return fc_fail_memory(err);
  }
  SSL_set_bio(ssl, bio, bio);
  SSL_set_connect_state(ssl);
  if (rules->http2) SSL_set_alpn_protos(ssl, kHttp2, sizeof kHttp2 - 1);
  else SSL_set_alpn_protos(ssl, kHttp, sizeof kHttp - 1);
  wire->tls = ssl;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Bytes

// Returns the SSL of the wire. The wire may have moved since the last call, so its BIO
// gets the new address.
static SSL *ssl_of(fc_wire_t *wire) {
  SSL *ssl = wire->tls;
  BIO_set_data(SSL_get_rbio(ssl), wire);
  ERR_clear_error();
  return ssl;
}

// Returns OpenSSL's text, and a hint if the authority is not known here.
static const char *why_not_trusted(long verified) {
#define HINT ": --ca=FILE has the authority that you trust"
  switch (verified) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "self-signed certificate" HINT;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "self-signed certificate in certificate chain" HINT;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      return "unable to get local issuer certificate" HINT;
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "unable to verify the first certificate" HINT;
    default:
      return X509_verify_cert_error_string(verified);
  }
#undef HINT
}

// OpenSSL finds no version in a record whose head is plain text. A TLS server with other
// versions sends an alert instead.
static bool is_no_tls(unsigned long code) {
  return ERR_GET_LIB(code) == ERR_LIB_SSL &&
         ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER;
}

int fc_wire_tls_shake(fc_wire_t *wire, const char **out_why) {
  SSL *ssl = ssl_of(wire);
  errno = 0;
  const int done = SSL_do_handshake(ssl);
  if (done == 1) return 0;
  const int error = SSL_get_error(ssl, done);
  if (error == SSL_ERROR_WANT_READ) return POLLIN;
  if (error == SSL_ERROR_WANT_WRITE) return POLLOUT;
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) {
    *out_why = why_not_trusted(verified);
  } else if (error == SSL_ERROR_SYSCALL) {
    *out_why = errno ? strerror(errno) : "the server has closed";
  } else {
    *out_why = reason();
    if (is_no_tls(ERR_peek_error())) return FC_WIRE_NO_TLS;
  }
  return -1;
}

// Converts the result of an OpenSSL call to that of send(2) or recv(2), with errno.
static ssize_t result(const SSL *ssl, int done, size_t size) {
  if (done == 1) return (ssize_t)size;
  switch (SSL_get_error(ssl, done)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      errno = EAGAIN;
      return -1;
    case SSL_ERROR_SYSCALL:
      if (errno && errno != EAGAIN) return -1;
      break;
    default:
      why = reason();
      break;
  }
  errno = EPROTO;
  return -1;
}

const char *fc_wire_why(void) { return why; }

ssize_t fc_wire_tls_send(fc_wire_t *wire, const void *data, size_t size) {
  size_t sent = 0;
  SSL *ssl = ssl_of(wire);
  const int done = SSL_write_ex(ssl, data, size, &sent);
  return result(ssl, done, sent);
}

ssize_t fc_wire_tls_recv(fc_wire_t *wire, void *data, size_t size) {
  size_t got = 0;
  SSL *ssl = ssl_of(wire);
  const int done = SSL_read_ex(ssl, data, size, &got);
  return result(ssl, done, got);
}

bool fc_wire_tls_has(const fc_wire_t *wire) {
  return SSL_pending(wire->tls) > 0;
}

// TLS session tickets come unrequested; they are not an answer.
bool fc_wire_tls_is_answered(fc_wire_t *wire) {
  char byte;
  size_t got = 0;
  SSL *ssl = ssl_of(wire);
  const int done = SSL_peek_ex(ssl, &byte, 1, &got);
  return result(ssl, done, got) >= 0 || errno != EAGAIN;
}

void fc_wire_tls_close(fc_wire_t *wire) {
  SSL *ssl = ssl_of(wire);
  if (SSL_is_init_finished(ssl)) (void)SSL_shutdown(ssl);
  SSL_free(ssl);
  ERR_clear_error();
}
