// SPDX-License-Identifier: Apache-2.0
//
// echo BYTES: the least work of a server for large bodies. Reads BYTES from a connection,
// in parts of the size that farcalld reads, sends them back, and repeats that, for one
// connection after the other. Prints the port on which it listens.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PART (256u << 10)

static int serve(void) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (file < 0 || bind(file, (struct sockaddr *)&address, size) != 0 ||
      listen(file, 8) != 0 ||
      getsockname(file, (struct sockaddr *)&address, &size) != 0) {
    return -1;
  }
  printf("%u\n", ntohs(address.sin_port));
  fflush(stdout);
  return file;
}

static void echo(int file, char *body, size_t size) {
  for (;;) {
    size_t done = 0;
    while (done < size) {
      const size_t part = size - done < PART ? size - done : PART;
      const ssize_t got = recv(file, body + done, part, 0);
      if (got <= 0) return;
      done += (size_t)got;
    }
    for (done = 0; done < size;) {
      const ssize_t sent = send(file, body + done, size - done, MSG_NOSIGNAL);
      if (sent <= 0) return;
      done += (size_t)sent;
    }
  }
}

int main(int count, char **words) {
  const size_t size = count > 1 ? strtoul(words[1], NULL, 10) : 0;
  char *body = size ? malloc(size) : NULL;
  const int file = serve();
  for (int client = 0; body && file >= 0 && client >= 0;) {
    client = accept(file, NULL, NULL);
    if (client < 0) break;
    echo(client, body, size);
    close(client);
  }
  free(body);
  return 1;  // only a signal ends it
}
