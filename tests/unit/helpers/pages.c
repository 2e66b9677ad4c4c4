// SPDX-License-Identifier: Apache-2.0
#include "helpers/pages.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "helpers/test.h"

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

static void *take(void *context, size_t size, size_t alignment) {
  (void)context;
  (void)alignment;
  const size_t page = page_size();
  void *memory =
      mmap(NULL, (size + 2 * page - 1) / page * page, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void keep(void *context, void *memory) {
  (void)context;
  (void)memory;
}

fc_allocator_t fc_test_pages(void) {
  return (fc_allocator_t){NULL, take, keep};
}

static void *page_of(const void *in_page) {
  return (void *)((uintptr_t)in_page & ~(page_size() - 1));
}

void fc_test_protect(const void *in_page, int rights) {
  assert_int_equal(mprotect(page_of(in_page), page_size(), rights), 0);
}

bool fc_test_is_mapped(const void *in_page) {
  if (msync(page_of(in_page), 1, MS_ASYNC) == 0) return true;
  assert_int_equal(errno, ENOMEM);
  return false;
}
