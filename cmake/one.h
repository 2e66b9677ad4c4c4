// SPDX-License-Identifier: Apache-2.0
//
// Seen before server/main.c and cli/main.c, in which `main` is another name.
int main(int argc, char **argv);
