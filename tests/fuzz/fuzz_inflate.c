// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a compressed body; the first one chooses the format. No more than the
// limit is inflated. The inflated bytes are compressed again, and that inflates to the
// same bytes.
#include "base/inflate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

static void pack(fc_coding_t coding, fc_str_t bytes, fc_text_t *out) {
  fc_deflate_t packer;
  bool packed = false;
  CHECK(fc_deflate_init(&packer, coding, &out->sink, fc_allocator_system(),
                        NULL) == FC_OK);
  const size_t half = bytes.size / 2;
  CHECK(fc_sink_put(&packer.sink, fc_str_make(bytes.data, half), NULL) ==
        FC_OK);
  CHECK(fc_sink_put(&packer.sink,
                    fc_str_make(bytes.data + half, bytes.size - half),
                    NULL) == FC_OK);
  CHECK(fc_deflate_finish(&packer, &packed, NULL) == FC_OK);
  CHECK(packed == (bytes.size >= FC_DEFLATE_LEAST));
  fc_deflate_deinit(&packer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { LIMIT = 1 << 18 };
  if (size < 1) return 0;
  const fc_coding_t coding = (fc_coding_t)(data[0] % 3 + FC_CODING_GZIP);
  fc_text_t text, packed, back;
  fc_error_t err;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&packed, fc_allocator_system(), SIZE_MAX);
  fc_text_init(&back, fc_allocator_system(), SIZE_MAX);
  fc_error_reset(&err);
  const fc_str_t sent = fc_str_make((const char *)data + 1, size - 1);
  if (fc_inflate(coding, sent, LIMIT, &text, NULL, &err) != FC_OK) {
    CHECK(err.code == FC_CODE_CONTENT_CODING ||
          err.code == FC_CODE_BODY_TOO_LARGE);
    CHECK(fc_text_str(&text).size <= LIMIT + 1);
  } else {
    const fc_str_t bytes = fc_text_str(&text);
    CHECK(bytes.size <= LIMIT);
    pack(coding, bytes, &packed);
    if (bytes.size >= FC_DEFLATE_LEAST) {
      const fc_status_t status =
          fc_inflate(coding, fc_text_str(&packed), LIMIT, &back, NULL, &err);
      CHECK(status == FC_OK);
      CHECK(fc_str_equal(fc_text_str(&back), bytes));
    }
  }
  fc_text_deinit(&text);
  fc_text_deinit(&packed);
  fc_text_deinit(&back);
  return 0;
}
