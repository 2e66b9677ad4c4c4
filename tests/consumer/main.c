// SPDX-License-Identifier: Apache-2.0
//
// A program outside the project. It includes every public header, and makes one call
// that needs the libraries which libfarcall links.
#include <farcall/farcall.h>
#include <farcall/version.h>
#include <stdio.h>

int main(void) {
  fc_error_t err = {0};
  fc_fail(&err, FC_CODE_NOT_FOUND, "no module '%s'", "m");
  printf("farcall %s: %s\n", fc_version(), err.message);
  return strcmp(fc_version(), FARCALL_VERSION) != 0;
}
