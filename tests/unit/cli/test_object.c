// SPDX-License-Identifier: Apache-2.0
//
// Finds the largest stack frame in an object file that is made here, and in every
// damaged copy of it.
#include "helpers/test.h"

#include <elf.h>

#include "object.h"

// An object file: its header, three sections, their names, and two entries of
// .stack_sizes.
typedef struct object_t {
  Elf64_Ehdr head;
  Elf64_Shdr sections[3];
  char names[32];
  uint8_t sizes[8 + 1 + 8 + 3];
} object_t;

static object_t make_object(void) {
  object_t object = {0};
  memcpy(object.head.e_ident, ELFMAG, SELFMAG);
  object.head.e_ident[EI_CLASS] = ELFCLASS64;
  object.head.e_ident[EI_DATA] = ELFDATA2LSB;
  object.head.e_shoff = offsetof(object_t, sections);
  object.head.e_shentsize = sizeof(Elf64_Shdr);
  object.head.e_shnum = 3;
  object.head.e_shstrndx = 1;
  memcpy(object.names, "\0.shstrtab\0.stack_sizes", 24);
  object.sections[1] = (Elf64_Shdr){.sh_name = 1,
                                    .sh_type = SHT_STRTAB,
                                    .sh_offset = offsetof(object_t, names),
                                    .sh_size = sizeof object.names};
  object.sections[2] = (Elf64_Shdr){.sh_name = 11,
                                    .sh_type = SHT_PROGBITS,
                                    .sh_offset = offsetof(object_t, sizes),
                                    .sh_size = sizeof object.sizes};
  object.sizes[8] = 24;
  object.sizes[17] = 0x88;  // 400008 in ULEB128
  object.sizes[18] = 0xB5;
  object.sizes[19] = 0x18;
  return object;
}

static fc_str_t bytes_of(const object_t *object) {
  return fc_str_make((const char *)object,
                     offsetof(object_t, sizes) + sizeof object->sizes);
}

static void the_largest_frame_is_found(void **state) {
  (void)state;
  object_t object = make_object();
  assert_int_equal(fc_object_max_frame(bytes_of(&object)), 400008);
  object.sections[2].sh_name = 12;
  assert_int_equal(fc_object_max_frame(bytes_of(&object)), 0);
}

// Compilers write one .stack_sizes section for each group of functions. sh_name 11 is
// .stack_sizes.
static void of_several_sections_the_largest_frame_counts(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t offsets[2], sizes[2];  // of the two entries, 9 and 11 bytes
  } orders[] = {
      {"the larger one last", {0, 9}, {9, 11}},
      {"the larger one first", {9, 0}, {11, 9}},
  };
  FC_TEST_EACH_ROW(const __typeof__(orders[0]), row, orders) {
    object_t object = make_object();
    // The first section, otherwise all zeros, may be a real one.
    object.sections[0] = object.sections[2];
    for (int i = 0; i < 2; i++) {
      Elf64_Shdr *section = &object.sections[i ? 2 : 0];
      section->sh_offset += row->offsets[i];
      section->sh_size = row->sizes[i];
    }
    assert_int_equal(fc_object_max_frame(bytes_of(&object)), 400008);
  }
}

static void damage_is_survived(void **state) {
  (void)state;
  object_t whole = make_object();
  fc_str_t text = bytes_of(&whole);
  for (size_t at = 0; at < text.size; at++) {
    for (int value = 0; value < 4; value++) {
      static const char kValues[] = {0, 1, 0x7F, (char)0xFF};
      char *copy = fc_alloc(fc_allocator_system(), text.size);
      memcpy(copy, text.data, text.size);
      copy[at] = kValues[value];
      (void)fc_object_max_frame(fc_str_make(copy, text.size));
      (void)fc_object_max_frame(fc_str_make(copy, at));
      fc_free(fc_allocator_system(), copy);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(the_largest_frame_is_found),
      FC_TEST(of_several_sections_the_largest_frame_counts),
      FC_TEST(damage_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
