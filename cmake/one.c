// SPDX-License-Identifier: Apache-2.0
//
// Both programs in one file: farcall if it is called so, else farcalld, which is also how
// its worker processes are started.
#include <string.h>

int fc_one_server(int argc, char **argv);
int fc_one_cli(int argc, char **argv);

int main(int argc, char **argv) {
  const char *name = argc ? argv[0] : "";
  const char *slash = strrchr(name, '/');
  if (!strcmp(slash ? slash + 1 : name, "farcall")) {
    return fc_one_cli(argc, argv);
  }
  return fc_one_server(argc, argv);
}
