// SPDX-License-Identifier: Apache-2.0
//
// Pages of memory: what is mapped, and an allocator that gives each allocation pages
// of its own and never takes them back, so that a test can take away the right to look
// at one.
#ifndef FARCALL_TESTS_HELPERS_PAGES_H_
#define FARCALL_TESTS_HELPERS_PAGES_H_

#include <sys/mman.h>

#include "farcall/base.h"

fc_allocator_t fc_test_pages(void);
// Sets the rights (PROT_NONE, ...) of the page that an allocation begins in.
void fc_test_protect(const void *in_page, int rights);
// Whether the page that holds this byte is there.
bool fc_test_is_mapped(const void *in_page);

#endif  // FARCALL_TESTS_HELPERS_PAGES_H_
