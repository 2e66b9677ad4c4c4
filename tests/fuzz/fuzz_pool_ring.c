// SPDX-License-Identifier: Apache-2.0
//
// What a worker may write into the memory that it shares with the server. The input is
// written over a slot's answer, the error of loading and the report of a fault. No
// value that is read from there may be out of bounds or unfit to be shown.
#include <stdlib.h>

#include "config/limits.h"
#include "pool/ring.h"

#define RESULT 2000
#define BODY 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine) {
  if (!fine) abort();
}

// The text ends within its room and contains no control bytes, because it goes to logs
// and clients.
static void check_text(const char *text, size_t capacity) {
  const char *end = memchr(text, '\0', capacity);
  check(end != NULL);
  for (const char *p = text; p < end; p++) {
    check((unsigned char)*p >= 0x20 && *p != 0x7F);
  }
}

static void check_error(const fc_error_t *error) {
  check(error->code > FC_CODE_NONE && error->code < FC_CODE_COUNT);
  check(error->status > FC_OK && error->status <= FC_INCOMPATIBLE);
  check_text(error->message, sizeof error->message);
  check_text(error->pointer, sizeof error->pointer);
  check_text(error->expected, sizeof error->expected);
  check_text(error->got, sizeof error->got);
}

static void lay_over(void *target, size_t room, const uint8_t *data,
                     size_t size) {
  memcpy(target, data, size < room ? size : room);
}

static void read_slot(fc_ring_t *ring, uint8_t flags, const uint8_t *data,
                      size_t size) {
  const size_t begin = offsetof(fc_slot_t, outcome);
  uint8_t *slot = (uint8_t *)&ring->head->slots[1].slot;
  memset(slot, 0, sizeof(fc_slot_t));
  lay_over(slot + begin, sizeof(fc_slot_t) - begin, data, size);

  const fc_ring_call_t call = {.sent_ns = fc_clock_ns(),
                               .body_size = BODY,
                               .flags = flags & FC_CALL_VALIDATE,
                               .awaited = (flags & 0x80) != 0,
                               .lent = (flags & 0x40) != 0,
                               .in_file = (flags & 0x20) != 0,
                               .shelf = 3,
                               .body_offset = 40};
  fc_outcome_t out;
  fc_ring_sizes_t sizes;
  fc_error_t error;
  if (!fc_ring_read(ring, 1, &call, &out, &sizes, &error)) {
    check_error(&error);
    return;
  }
  const uint64_t result = sizes.in_area + sizes.in_file + sizes.in_body;
  check(out.piece_count == 0 && sizes.in_area <= RESULT && result <= RESULT);
  check(sizes.in_file == 0 || (call.lent && !call.flags));
  check(sizes.in_body == 0 || (call.in_file && !call.flags));
  check(sizes.in_body == 0 || (sizes.body_at >= 40 && sizes.in_body <= BODY &&
                               sizes.body_at - 40 + sizes.in_body <= BODY));
  check(out.stage >= FC_STAGE_QUEUE && out.stage <= FC_STAGE_ENCODE);
  const uint64_t now_ns = fc_clock_ns();
  check(out.began_ns >= call.sent_ns && out.began_ns <= now_ns);
  for (int i = 0; i < FC_STAGE_COUNT; i++) {
    check(out.spent_ns[i] <= now_ns - call.sent_ns);
  }
  if (out.status == FC_OK) return;
  check_error(&out.error);
  check(out.error.status == out.status && result == 0);
  check(out.error.byte_offset <= BODY || out.error.byte_offset == FC_NO_OFFSET);
}

static void read_head(fc_ring_t *ring, uint8_t phase, const uint8_t *data,
                      size_t size) {
  fc_ring_head_t *head = ring->head;
  atomic_store(&head->phase, phase);
  lay_over(&head->error, sizeof head->error, data, size);
  lay_over(&head->fault, sizeof head->fault, data, size);
  char digest[FC_DIGEST_SIZE];
  fc_error_t error;
  fc_ring_phase_t said = fc_ring_phase(ring, digest, &error);
  check(said <= FC_RING_FAILED);
  if (said == FC_RING_FAILED) check_error(&error);
  fc_fault_t fault = fc_ring_fault(ring);
  check(fault.signal <= 64 && fault.class_ < FC_FAULT_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fc_ring_t ring;
  fc_error_t error;
  if (!ring.base) {
    const fc_ring_setup_t setup = {.body_size = BODY, .result_size = RESULT};
    check(fc_ring_create(&setup, &ring, &error) == FC_OK);
  }
  if (size < 1) return 0;
  read_slot(&ring, data[0], data + 1, size - 1);
  read_head(&ring, data[0] % 4, data + 1, size - 1);
  return 0;
}
