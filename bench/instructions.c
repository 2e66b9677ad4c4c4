// SPDX-License-Identifier: Apache-2.0
//
// bench_instructions COUNT FUNCTION BODY PROGRAM [ARGUMENT ...]: starts PROGRAM, which is
// or runs a farcalld, posts BODY to FUNCTION ("module/name") COUNT times over one
// connection, and ends PROGRAM. The difference of two such runs, counted by PROGRAM
// (valgrind, strace), is the cost of a request.
#include "farcalld.h"

int main(int argc, char **argv) {
  if (argc < 5) die("COUNT FUNCTION BODY PROGRAM [ARGUMENT ...]");
  char reply[64 << 10];
  const server_t server = start((const char *const *)&argv[4]);
  const int fd = connect_to(server.port);
  for (long left = atol(argv[1]); left > 0; left--) {
    const int status = post(fd, argv[2], argv[3], 60000, reply, sizeof reply);
    if (status == 200) continue;
    fprintf(stderr, "%s\n", reply);
    die("the call fails");
  }
  close(fd);
  stop(&server);
  return 0;
}
