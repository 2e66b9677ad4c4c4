// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 against the vectors of FIPS 180-4, and against Python's hashlib for each size
// at which the padding changes. Byte i of a pattern is 7 i.
#include "helpers/test.h"

#include "base/sha256.h"

typedef struct digest_row_t {
  const char *name;
  size_t size;
  const char *hex;
} digest_row_t;

static const digest_row_t patterns[] = {
    {"fits one block", 55,
     "576a1bf8d4478657e6dc4af9398544765c2a92cde28478b019235cfed315fc09"},
    {"length spills", 56,
     "9b20501dfd1d99161c257950f3444f3e49230c351c5c8e0943ef369f85f5205d"},
    {"one short", 63,
     "30b345906b493f06f69444b6521113511c242f30e29840462950035043682f1e"},
    {"a block", 64,
     "d8bc63b4fc1156e5e7d95a418b9bf54cd3174bedbc2db40f74895349b229b3c0"},
    {"one over", 65,
     "1ee23b0fbcaecc1aff4a9e8f1645f35ab2c8e13609cd73b68df8b5e3f63ce073"},
    {"second fits", 119,
     "7a6589821178918ca8d9edaba5abfc1e9b2669564f4469b66885379c1530b2c8"},
    {"second spills", 120,
     "655250427d56b1b0eeb8497d21428704273458a01772d6881b65c0abac0f8a98"},
    {"many blocks", 1000,
     "89f4ff56a25dd1db06a4ce6033603775d705fb96f30f8693733fef602a1ca532"},
};

static void patterns_of_every_padding(void **state) {
  (void)state;
  uint8_t bytes[1000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
  FC_TEST_EACH_ROW(const digest_row_t, row, patterns) {
    char hex[65];
    fc_sha256_hex(bytes, row->size, hex);
    assert_string_equal(hex, row->hex);
  }
}

static void published_vectors(void **state) {
  (void)state;
  char hex[65];
  fc_sha256_hex("", 0, hex);
  assert_string_equal(
      hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  fc_sha256_hex("abc", 3, hex);
  assert_string_equal(
      hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void pieces_hash_as_the_whole(void **state) {
  (void)state;
  char piece[97], hex[65];
  memset(piece, 'a', sizeof piece);
  fc_sha256_t hash;
  fc_sha256_init(&hash);
  size_t left = 1000000;
  for (size_t i = 0; left; i++) {
    size_t take = i % sizeof piece;
    if (take > left) take = left;
    fc_sha256_update(&hash, piece, take);
    left -= take;
  }
  fc_sha256_finish(&hash, hex);
  assert_string_equal(
      hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(patterns_of_every_padding),
      FC_TEST(published_vectors),
      FC_TEST(pieces_hash_as_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
