// SPDX-License-Identifier: Apache-2.0
//
// key_updates PORT COUNT: a TLS client that changes its key COUNT times and then sends
// a request, all at once. Meanwhile another client sends one request after the other.
// Prints how many of these are answered before the first client's request.
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char kRequest[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "key_updates: %s\n", what);
  exit(1);
}

static SSL *dial(SSL_CTX *context, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  check(!connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
  SSL *ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  check(SSL_connect(ssl) == 1, "handshake");
  return ssl;
}

static void ask(SSL *ssl) {
  char answer[4096];
  check(SSL_write(ssl, kRequest, sizeof kRequest - 1) > 0, "write");
  check(SSL_read(ssl, answer, sizeof answer) > 0, "read");
}

int main(int argc, char **argv) {
  check(argc == 3, "PORT COUNT");
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  SSL *busy = dial(context, atoi(argv[1])),
      *other = dial(context, atoi(argv[1]));
  ask(busy);  // with it come the tickets
  ask(other);
  BIO *out = BIO_new(BIO_s_mem());
  SSL_set0_wbio(busy, out);
  for (int i = atoi(argv[2]); i > 0; i--) {
    check(SSL_key_update(busy, SSL_KEY_UPDATE_NOT_REQUESTED) == 1, "key");
    check(SSL_do_handshake(busy) == 1, "key");
  }
  check(SSL_write(busy, kRequest, sizeof kRequest - 1) > 0, "write");
  char *bytes;
  const long size = BIO_get_mem_data(out, &bytes);
  const int fd = SSL_get_rfd(busy);
  for (long sent = 0, some; sent < size; sent += some) {
    some = write(fd, bytes + sent, (size_t)(size - sent));
    check(some > 0, "write");
  }
  int answered = 0;
  struct pollfd readable = {.fd = fd, .events = POLLIN};
  for (; poll(&readable, 1, 0) == 0; answered++) ask(other);
  char answer[4096];
  check(SSL_read(busy, answer, sizeof answer) > 0, "read");
  printf("%d\n", answered);
  return 0;
}
