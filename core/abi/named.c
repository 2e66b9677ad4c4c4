// SPDX-License-Identifier: Apache-2.0
//
// Finds equal names by sorting: afterwards they stand beside each other.
#include "abi/named.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const fc_named_t *x = a, *y = b;
  const int order = fc_str_compare(x->name, y->name);
  return order ? order : (x->number > y->number) - (x->number < y->number);
}

void fc_named_sort(fc_named_t *items, size_t count) {
  if (count > 1) qsort(items, count, sizeof *items, compare);
}

bool fc_named_find_twins(fc_named_t *items, size_t count, fc_named_t *out_first,
                         fc_named_t *out_second) {
  fc_named_sort(items, count);
  const fc_named_t *second = NULL;
  for (size_t i = 1; i < count; i++) {
    if (!fc_str_equal(items[i - 1].name, items[i].name)) continue;
    if (!second || items[i].number < second->number) second = &items[i];
  }
  if (!second) return false;
  *out_first = second[-1];
  *out_second = *second;
  return true;
}
