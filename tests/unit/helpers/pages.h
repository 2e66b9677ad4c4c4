// SPDX-License-Identifier: Apache-2.0
//
// Pages of memory: which are mapped, and an allocator that gives each allocation pages
// of its own. It never reuses them, so a test can forbid access to one.
#ifndef FARCALL_TESTS_HELPERS_PAGES_H_
#define FARCALL_TESTS_HELPERS_PAGES_H_

#include <sys/mman.h>

#include "farcall/base.h"

fc_allocator_t fc_test_pages(void);
// Sets the rights (PROT_NONE, ...) of the first page of an allocation.
void fc_test_protect(const void *in_page, int rights);
// True if the page of this byte is mapped.
bool fc_test_is_mapped(const void *in_page);

#endif  // FARCALL_TESTS_HELPERS_PAGES_H_
