// SPDX-License-Identifier: Apache-2.0
//
// TLS for tests that know only plain sockets. A thread passes bytes between the test's
// socket and the TLS connection, so the same test runs with and without TLS. Also makes
// a certificate for the test's server. Only for programs that link OpenSSL.
#ifndef FARCALL_TESTS_HELPERS_SECURE_H_
#define FARCALL_TESTS_HELPERS_SECURE_H_

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECURE_CHECK(condition)                                       \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                        \
    }                                                                 \
  } while (0)

// Writes a certificate, signed by its own key, and the key into one file.
static inline void secure_make_file(const char *name) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  FILE *file = fopen(name, "w");
  SECURE_CHECK(key && certificate && file);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_set_pubkey(certificate, key);
  X509_NAME *subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             (const unsigned char *)"localhost", -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  SECURE_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
  SECURE_CHECK(PEM_write_X509(file, certificate) == 1);
  SECURE_CHECK(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
  SECURE_CHECK(fclose(file) == 0);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

typedef struct secure_way_t {
  char bytes[16384];
  size_t begin, end;
  bool over;  // nothing more is read
  bool told;  // and the other side knows
} secure_way_t;

typedef struct secure_t {
  SSL *ssl;
  int socket;  // of TCP
  int plain;
  secure_way_t up;    // to the server
  secure_way_t down;  // from it
} secure_t;

static _Atomic int secure_running;

// OpenSSL frees its memory when the program ends, so the threads must end before.
static inline void secure_wait(void) {
  while (secure_running) (void)poll(NULL, 0, 1);
}

// Both pass bytes on. False: there were no bytes, or there was no room.
static inline bool secure_go_up(secure_t *s) {
  secure_way_t *up = &s->up;
  if (!up->over && up->begin == up->end) {
    const ssize_t got = recv(s->plain, up->bytes, sizeof up->bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    up->over = got <= 0;
    up->begin = 0;
    up->end = got > 0 ? (size_t)got : 0;
  }
  if (up->begin < up->end) {
    const int sent =
        SSL_write(s->ssl, up->bytes + up->begin, (int)(up->end - up->begin));
    if (sent <= 0) {
      const int why = SSL_get_error(s->ssl, sent);
      ERR_clear_error();
      if (why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ)
        return false;
      up->over = up->told = true;
      up->begin = up->end;
      return true;
    }
    up->begin += (size_t)sent;
    return true;
  }
  if (!up->over || up->told) return false;
  (void)SSL_shutdown(s->ssl);
  ERR_clear_error();
  up->told = true;
  return true;
}

static inline bool secure_go_down(secure_t *s) {
  secure_way_t *down = &s->down;
  if (!down->over && down->begin == down->end) {
    const int got = SSL_read(s->ssl, down->bytes, sizeof down->bytes);
    const int why = got > 0 ? 0 : SSL_get_error(s->ssl, got);
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
    down->over = got <= 0;
    down->begin = 0;
    down->end = got > 0 ? (size_t)got : 0;
  }
  if (down->begin < down->end) {
    const ssize_t sent = send(s->plain, down->bytes + down->begin,
                              down->end - down->begin, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (sent < 0) {  // the test has closed its socket
      down->over = down->told = s->up.over = s->up.told = true;
      down->begin = down->end;
      return true;
    }
    down->begin += (size_t)sent;
    return true;
  }
  if (!down->over || down->told) return false;
  shutdown(s->plain, SHUT_WR);
  down->told = true;
  return true;
}

static inline void *secure_run(void *context) {
  secure_t *s = context;
  while (!s->down.told || !s->up.told) {
    bool went = secure_go_up(s);
    went |= secure_go_down(s);
    if (went) continue;
    struct pollfd wait[] = {{.fd = s->plain}, {.fd = s->socket}};
    if (!s->up.over && s->up.begin == s->up.end) wait[0].events |= POLLIN;
    if (s->down.begin < s->down.end) wait[0].events |= POLLOUT;
    if (!s->down.over && s->down.begin == s->down.end) wait[1].events |= POLLIN;
    if (s->up.begin < s->up.end) wait[1].events |= POLLOUT;
    // poll() would report a hangup of a socket even if no event of it is awaited.
    if (!wait[0].events) wait[0].fd = -1;
    if (!wait[1].events) wait[1].fd = -1;
    (void)poll(wait, 2, -1);
  }
  SSL_free(s->ssl);
  close(s->socket);
  close(s->plain);
  free(s);
  secure_running--;
  return NULL;
}

// Takes a connected socket. Returns a socket whose bytes go through TLS over it. The
// thread also does the handshake.
static inline int secure_wrap(int socket) {
  static const unsigned char kHttp[] = "\x08http/1.1";
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static SSL_CTX *context;
  int pair[2];
  pthread_t thread;
  secure_t *s = calloc(1, sizeof *s);
  SECURE_CHECK(s &&
               socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a server that may have closed
  pthread_mutex_lock(&lock);
  if (!context) {
    context = SSL_CTX_new(TLS_client_method());
    atexit(secure_wait);
  }
  s->ssl = SSL_new(context);
  pthread_mutex_unlock(&lock);
  SECURE_CHECK(s->ssl);
  SSL_set_mode(s->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
                           SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_alpn_protos(s->ssl, kHttp, sizeof kHttp - 1);
  SSL_set_fd(s->ssl, socket);
  SSL_set_connect_state(s->ssl);
  s->socket = socket;
  s->plain = pair[1];
  (void)fcntl(s->socket, F_SETFL, O_NONBLOCK);
  (void)fcntl(s->plain, F_SETFL, O_NONBLOCK);
  secure_running++;
  SECURE_CHECK(pthread_create(&thread, NULL, secure_run, s) == 0);
  pthread_detach(thread);
  return pair[0];
}

#endif  // FARCALL_TESTS_HELPERS_SECURE_H_
