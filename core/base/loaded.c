// SPDX-License-Identifier: Apache-2.0
#include "base/loaded.h"

#include <link.h>
#include <ucontext.h>

static int count_object(struct dl_phdr_info *info, size_t size, void *context) {
  (void)info;
  (void)size;
  ++*(unsigned *)context;
  return 0;
}

unsigned fc_loaded_count(void) {
  unsigned count = 0;
  dl_iterate_phdr(count_object, &count);
  return count;
}

typedef struct search_t {
  unsigned before;  // objects that are still to be skipped
  fc_loaded_t found;
} search_t;

static int note_object(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  search_t *search = context;
  fc_loaded_t *found = &search->found;
  if (search->before) {
    search->before--;
    return 0;
  }
  found->base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    const uintptr_t end = begin + segment->p_memsz;
    if (!found->begin || begin < found->begin) found->begin = begin;
    if (end > found->end) found->end = end;
  }
  return 1;
}

fc_loaded_t fc_loaded_at(unsigned count) {
  search_t search = {.before = count};
  dl_iterate_phdr(note_object, &search);
  return search.found;
}

uintptr_t fc_loaded_counter(const void *context) {
  const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
  return (uintptr_t)machine->gregs[REG_RIP];
#else
  return (uintptr_t)machine->pc;
#endif
}
