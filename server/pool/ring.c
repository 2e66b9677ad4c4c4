// SPDX-License-Identifier: Apache-2.0
//
// Both sides of the ring. Linux only: memfd, seals, a futex that is not private. Data
// from a worker, which may change it at any time, is copied before it is read, and
// checked.
#include "pool/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"
#include "config/limits.h"
#include "obs/code.h"
#include "obs/spans.h"
#include "pool/shared.h"

// An area that a call fills up to this size keeps its memory, because touching fresh
// pages costs more than the copy. If a call fills more, the memory of the area is given
// back after the call.
#define KEPT_AREA FC_RING_KEPT
_Static_assert(2 * FC_RING_SLOTS * (KEPT_AREA + (16u << 10)) < FC_RING_SPARE,
               "what is kept is spare");

static uint64_t body_area(const fc_ring_setup_t *setup) {
  return fc_shared_pages(setup->body_size + FC_BLOCK_TAIL);
}

static uint64_t answer_area(const fc_ring_setup_t *setup) {
  return fc_shared_pages(FC_LIMIT_HEAD + setup->result_size + FC_BLOCK_TAIL);
}

static uint64_t desk_area(void) {
  return fc_shared_pages(sizeof(fc_store_desk_t));
}

// Returns the size of head and desks, where the bodies begin.
static uint64_t bodies_at(void) {
  return fc_shared_pages(sizeof(fc_ring_head_t)) + FC_RING_SLOTS * desk_area();
}

uint64_t fc_ring_size(const fc_ring_setup_t *setup) {
  return bodies_at() + FC_RING_SLOTS * (body_area(setup) + answer_area(setup));
}

uint64_t fc_ring_taken(const fc_ring_t *ring) {
  return fc_shared_taken(ring->fd);
}

static fc_status_t map(int fd, uint64_t size, fc_ring_t *out_ring,
                       fc_error_t *err) {
  void *base =
      mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY,
                   "cannot map a worker's ring of %llu bytes: %s",
                   (unsigned long long)size, strerror(errno));
  }
  // A touched byte must take only a small page, because fc_ring_taken counts pages.
  (void)madvise(base, (size_t)size, MADV_NOHUGEPAGE);
  *out_ring =
      (fc_ring_t){.fd = fd, .base = base, .size = (size_t)size, .head = base};
  return FC_OK;
}

fc_status_t fc_ring_create(const fc_ring_setup_t *setup, fc_ring_t *out_ring,
                           fc_error_t *err) {
  uint64_t size = fc_ring_size(setup);
  const int fd = fc_shared_create("farcall-ring", size);
  if (fd < 0) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY,
                   "cannot make a worker's ring: %s", strerror(errno));
  }
  fc_status_t status = map(fd, size, out_ring, err);
  if (status != FC_OK) {
    close(fd);
    return status;
  }
  out_ring->setup = out_ring->head->setup = *setup;
  return FC_OK;
}

fc_status_t fc_ring_open(int fd, fc_ring_t *out_ring, fc_error_t *err) {
  struct stat info;
  if (fstat(fd, &info) < 0 || (size_t)info.st_size < sizeof(fc_ring_head_t)) {
    return fc_fail(err, FC_CODE_INTERNAL, "descriptor %d is no ring", fd);
  }
  FC_TRY(map(fd, (uint64_t)info.st_size, out_ring, err));
  out_ring->setup = out_ring->head->setup;
  out_ring->spin.ns = out_ring->setup.spin_ns;
  if (fc_ring_size(&out_ring->setup) == out_ring->size) return FC_OK;
  fc_ring_close(out_ring);
  return fc_fail(err, FC_CODE_INTERNAL, "the ring has another layout");
}

void fc_ring_close(fc_ring_t *ring) {
  if (!ring->base) return;
  munmap(ring->base, ring->size);
  close(ring->fd);
  *ring = (fc_ring_t){0};
}

fc_store_desk_t *fc_ring_desk(const fc_ring_t *ring, uint32_t slot) {
  return (void *)(ring->base + fc_shared_pages(sizeof(fc_ring_head_t)) +
                  slot * desk_area());
}

fc_span_t fc_ring_body(const fc_ring_t *ring, uint32_t slot) {
  uint64_t area = body_area(&ring->setup);
  uint64_t begin = bodies_at() + slot * area;
  return (fc_span_t){ring->base + begin, (size_t)area};
}

fc_span_t fc_ring_answer(const fc_ring_t *ring, uint32_t slot) {
  uint64_t area = answer_area(&ring->setup);
  uint64_t begin =
      bodies_at() + FC_RING_SLOTS * body_area(&ring->setup) + slot * area;
  return (fc_span_t){
      ring->base + begin,
      (size_t)(FC_LIMIT_HEAD + ring->setup.result_size + FC_BLOCK_TAIL)};
}

// ---------------------------------------------------------------------------
// The bells

static void futex_wait(_Atomic uint32_t *word, uint32_t seen) {
  // Not private, because the other side is another process. After EINTR and EAGAIN the
  // caller checks again.
  (void)syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word) {
  (void)syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool look_for(fc_ring_t *ring, uint32_t slot) {
  fc_spin_t *spin = &ring->spin;
  for (bool on = fc_spin_begin(spin); on; on = fc_spin_more(spin)) {
    if (fc_ring_state(ring, slot) == FC_RING_READY) return fc_spin_hit(spin);
  }
  return false;
}

uint32_t fc_ring_take(fc_ring_t *ring) {
  fc_ring_head_t *head = ring->head;
  uint32_t slot = ring->next;
  for (;;) {
    uint32_t seen = atomic_load(&head->bell);
    if (fc_ring_state(ring, slot) == FC_RING_READY || look_for(ring, slot))
      break;
    if (fc_ring_has_drops(ring)) return FC_SLOT_NONE;
    atomic_store(&head->worker_asleep, 1);
    const bool ready = fc_ring_state(ring, slot) == FC_RING_READY;
    if (!ready && !fc_ring_has_drops(ring)) futex_wait(&head->bell, seen);
    atomic_store(&head->worker_asleep, 0);
  }
  atomic_store(&head->slots[slot].state, FC_RING_BUSY);
  ring->next = (slot + 1) % FC_RING_SLOTS;
  return slot;
}

uint32_t fc_ring_take_mates(fc_ring_t *ring, uint32_t first) {
  uint32_t count = 0;
  uint32_t slot = first;
  while (count < FC_RING_SLOTS - 1) {
    const uint32_t mate = ring->head->slots[slot].slot.mate;
    if (mate == slot || mate == FC_SLOT_NONE) break;
    slot = fc_ring_take(ring);
    count++;
  }
  return count;
}

bool fc_ring_done(fc_ring_t *ring, uint32_t slot) {
  atomic_store(&ring->head->slots[slot].state, FC_RING_DONE);
  return atomic_exchange(&ring->head->loop_asleep, 0) != 0;
}

void fc_ring_write(fc_ring_t *ring, uint32_t index, uint64_t offset,
                   fc_str_t part) {
  FC_ASSERT(offset + part.size <= body_area(&ring->setup) - FC_BLOCK_TAIL);
  fc_span_t area = fc_ring_body(ring, index);
  if (part.size) memcpy(area.data + offset, part.data, part.size);
}

static void publish(fc_ring_t *ring, uint32_t index,
                    const fc_invocation_t *call, fc_piece_t body) {
  fc_slot_t *slot = &ring->head->slots[index].slot;
  ring->head->slots[index].files = ring->files;
  ring->head->slots[index].tray = ring->tray;
  slot->loop = 0;
  slot->call = *call;
  slot->call.generation = 0;  // a worker process has only one
  slot->call.body = body;
  slot->mate = FC_SLOT_NONE;
  slot->answer_block = FC_RING_ANSWER_BLOCK(index);
  slot->carry_block = FC_RING_BODY_BLOCK(index);
  atomic_store_explicit(&slot->steps, call->steps, memory_order_relaxed);
  slot->outcome.piece_count = 0;
  atomic_store_explicit(&slot->cancel, 0, memory_order_relaxed);
  atomic_store_explicit(&slot->left, 0, memory_order_relaxed);
  atomic_store_explicit(&slot->begun, FC_BEGUN_NOT, memory_order_relaxed);
  if (FC_UNLIKELY(ring->holds)) return;
  atomic_store(&ring->head->slots[index].state, FC_RING_READY);
}

void fc_ring_release(fc_ring_t *ring, uint32_t first, uint32_t count) {
  fc_ring_slot_t *slots = ring->head->slots;
  uint32_t mate = (first + count - 1) % FC_RING_SLOTS;
  for (uint32_t i = count; i-- > 0;) {
    const uint32_t index = (first + i) % FC_RING_SLOTS;
    if (count > 1) slots[index].slot.mate = mate;
    atomic_store(&slots[index].state, FC_RING_READY);
    mate = index;
  }
  ring->holds = false;
}

void fc_ring_publish(fc_ring_t *ring, uint32_t index,
                     const fc_invocation_t *call, uint64_t size) {
  memset(fc_ring_body(ring, index).data + size, 0, FC_BLOCK_TAIL);
  publish(ring, index, call, (fc_piece_t){FC_RING_BODY_BLOCK(index), 0, size});
}

void fc_ring_publish_file(fc_ring_t *ring, uint32_t index,
                          const fc_invocation_t *call, uint32_t shelf) {
  const fc_piece_t body = {FC_RING_BODY_FILE(shelf), call->body.offset,
                           call->body.size};
  publish(ring, index, call, body);
}

void fc_ring_put(fc_ring_t *ring, uint32_t index, const fc_invocation_t *call,
                 fc_str_t body) {
  fc_ring_write(ring, index, 0, body);
  fc_ring_publish(ring, index, call, body.size);
}

void fc_ring_notify(fc_ring_t *ring) {
  if (!atomic_load(&ring->head->worker_asleep)) return;
  atomic_fetch_add(&ring->head->bell, 1);
  futex_wake(&ring->head->bell);
}

bool fc_ring_sleep(fc_ring_t *ring, uint32_t first, uint32_t count) {
  atomic_store(&ring->head->loop_asleep, 1);
  for (uint32_t i = 0; i < count; i++) {
    if (fc_ring_state(ring, (first + i) % FC_RING_SLOTS) == FC_RING_DONE) {
      atomic_store(&ring->head->loop_asleep, 0);
      return false;
    }
  }
  return true;
}

void fc_ring_wake(fc_ring_t *ring) {
  atomic_store(&ring->head->loop_asleep, 0);
}

// ---------------------------------------------------------------------------
// What a worker wrote

// Copies data that the worker can change at any time. The compiler must not read the
// original again later, when it may have changed.
static void copy_once(void *to, const void *from, size_t size) {
  memcpy(to, from, size);
  __asm__ volatile("" : : "r"(to) : "memory");
}

// Makes a worker's text safe to show: control bytes and invalid UTF-8 become '?'. False:
// no NUL ends it within `capacity`.
static bool clean(char *text, size_t capacity) {
  const char *end = memchr(text, '\0', capacity);
  if (!end) return false;
  size_t size = (size_t)(end - text);
  for (size_t i = 0; i < size;) {
    size_t length = fc_utf8_length(text + i, size - i);
    bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7F;
    if (length == 0 || control) text[i] = '?';
    i += length ? length : 1;
  }
  return true;
}

static bool clean_error(fc_error_t *error) {
  return clean(error->message, sizeof error->message) &&
         clean(error->pointer, sizeof error->pointer) &&
         clean(error->expected, sizeof error->expected) &&
         clean(error->got, sizeof error->got);
}

// Copies a worker's error. `has_pointer` may contain any byte, so it is checked as a
// byte: reading a bool that is neither 0 nor 1 is undefined.
static bool copy_error(fc_error_t *out, const fc_error_t *shared) {
  uint8_t bytes[sizeof *out];
  copy_once(bytes, shared, sizeof bytes);
  size_t at = offsetof(fc_error_t, has_pointer);
  bool good = bytes[at] <= 1;
  if (!good) bytes[at] = 0;
  memcpy(out, bytes, sizeof *out);
  return clean_error(out) && good;
}

static bool lie(fc_error_t *err, const char *what, uint64_t value) {
  (void)fc_fail(err, FC_CODE_WORKER_CRASHED,
                "the worker wrote over its slot: %s %llu", what,
                (unsigned long long)value);
  return false;
}

// An honest worker gives only codes with `from_worker`.
static bool check_error(const fc_error_t *error, fc_status_t status,
                        fc_stage_t stage, bool is_session, fc_error_t *err) {
  // Only DECODE, and values that a session keeps, can need more memory than there is.
  const bool misplaced = error->code == FC_CODE_OVERLOADED &&
                         stage != FC_STAGE_DECODE && !is_session;
  if (error->code >= FC_CODE_COUNT ||
      !fc_code_traits(error->code)->from_worker || misplaced) {
    return lie(err, "code", error->code);
  }
  if (error->status != status) return lie(err, "status", error->status);
  return true;
}

// Checks an error that says that the call was ended from outside, while the loop still
// waits for it. If the error names the deadline, that must have passed, unless it can be
// the deadline of the previous turn, which has kept the error (marshal/iteration.h). If
// the error says "cancelled", the cancel word must not be set, because only the loop sets
// it and has not; and the reason must not be that nobody waits (INTERNAL). A module may
// report a cancellation of its own.
static bool check_end(const fc_error_t *error, const fc_ring_call_t *call,
                      uint32_t cancel, fc_error_t *err) {
  if (!call->awaited) return true;
  if (error->code == FC_CODE_DEADLINE_EXCEEDED) {
    if (call->parts && call->flags & FC_CALL_LATER) return true;
    bool late = call->deadline_ns && fc_clock_ns() >= call->deadline_ns;
    return late || lie(err, "deadline", 0);
  }
  if (error->status != FC_CANCELLED) return true;
  if (error->code != FC_CODE_INTERNAL && !cancel) return true;
  return lie(err, "cancelled", 1);
}

// Times are shown, and the pool learns the cost of functions from them. A wrong time
// within these bounds misleads only the estimates for its own module. So the time is
// corrected, and the worker is not killed for it.
static void bound_times(fc_outcome_t *outcome, uint64_t sent_ns) {
  uint64_t now_ns = fc_clock_ns();
  if (outcome->began_ns < sent_ns || outcome->began_ns > now_ns) {
    outcome->began_ns = sent_ns;
  }
  uint64_t left_ns = now_ns - outcome->began_ns;
  for (int i = 0; i < FC_STAGE_COUNT; i++) {
    bool on_worker = i >= FC_STAGE_DECODE && i <= FC_STAGE_ENCODE;
    uint64_t most = on_worker ? left_ns : 0;
    if (outcome->spent_ns[i] > most) outcome->spent_ns[i] = most;
    left_ns -= outcome->spent_ns[i];
  }
}

// The most pieces of an answer: in its area, in the lent file, and in the body.
#define PIECES_MAX 3

static bool check_area(const fc_piece_t *piece, uint32_t index,
                       fc_ring_sizes_t *out_sizes, fc_error_t *err) {
  if (piece->block != FC_RING_ANSWER_BLOCK(index)) {
    return lie(err, "block", piece->block);
  }
  if (piece->offset != FC_LIMIT_HEAD) return lie(err, "offset", piece->offset);
  out_sizes->in_area = piece->size;
  return true;
}

static bool check_file(const fc_piece_t *piece, fc_ring_sizes_t *out_sizes,
                       fc_error_t *err) {
  if (piece->offset != 0) return lie(err, "offset", piece->offset);
  if (piece->size == 0) return lie(err, "length", 0);
  if (out_sizes->in_area > FC_RING_FIRST - FC_LIMIT_HEAD) {
    return lie(err, "length", out_sizes->in_area);
  }
  out_sizes->in_file = piece->size;
  return true;
}

static bool check_body(const fc_piece_t *piece, const fc_ring_call_t *call,
                       fc_ring_sizes_t *out_sizes, fc_error_t *err) {
  const uint64_t end = call->body_offset + call->body_size;
  if (piece->offset < call->body_offset || piece->offset > end) {
    return lie(err, "offset", piece->offset);
  }
  if (piece->size == 0 || piece->size > end - piece->offset) {
    return lie(err, "length", piece->size);
  }
  out_sizes->in_body = piece->size;
  out_sizes->body_at = piece->offset;
  return true;
}

// Checks the pieces of an answer. The first is in the area of its slot, the next may be
// in the file that the loop has lent, and the last in the file of the body. A turn cannot
// use its body, which no longer exists when it has left a carry.
static bool check_pieces(const fc_ring_t *ring, uint32_t index,
                         const fc_ring_call_t *call, const fc_piece_t *pieces,
                         uint32_t count, fc_ring_sizes_t *out_sizes,
                         fc_error_t *err) {
  const bool in_body = call->in_file && !call->parts;
  uint64_t left = ring->setup.result_size;
  for (uint32_t i = 0; i < count; i++) {
    const fc_piece_t *piece = &pieces[i];
    const bool further = i == 1 && call->lent;
    const bool last = i > 0 && i + 1 == count && in_body;
    if (piece->size > left) return lie(err, "length", piece->size);
    left -= piece->size;
    if (i == 0) {
      if (!check_area(piece, index, out_sizes, err)) return false;
    } else if (further && piece->block == FC_RING_ANSWER_FILE(call->tray)) {
      if (!check_file(piece, out_sizes, err)) return false;
    } else if (last && piece->block == FC_RING_BODY_FILE(call->shelf)) {
      if (!check_body(piece, call, out_sizes, err)) return false;
    } else {
      return lie(err, "block", piece->block);
    }
  }
  return true;
}

// Checks that the state left by a turn is in the area for the body of its slot.
static bool check_carry(const fc_ring_t *ring, uint32_t index,
                        const fc_piece_t *piece, fc_ring_sizes_t *out_sizes,
                        fc_error_t *err) {
  const uint64_t room = body_area(&ring->setup) - FC_BLOCK_TAIL;
  if (piece->block != FC_RING_BODY_BLOCK(index)) {
    return lie(err, "block", piece->block);
  }
  if (piece->offset % FC_BLOCK_ALIGN || piece->offset > room) {
    return lie(err, "offset", piece->offset);
  }
  if (piece->size == 0 || piece->size > room - piece->offset) {
    return lie(err, "length", piece->size);
  }
  out_sizes->carry = piece->size;
  out_sizes->carry_at = piece->offset;
  return true;
}

uint64_t fc_ring_steps(const fc_ring_t *ring, uint32_t index,
                       const fc_ring_call_t *call) {
  const uint64_t steps = atomic_load_explicit(
      &ring->head->slots[index].slot.steps, memory_order_relaxed);
  return steps > call->steps ? steps : call->steps;
}

bool fc_ring_read(const fc_ring_t *ring, uint32_t index,
                  const fc_ring_call_t *call, fc_outcome_t *out,
                  fc_ring_sizes_t *out_sizes, fc_error_t *err) {
  const fc_slot_t *slot = &ring->head->slots[index].slot;
  const fc_outcome_t *shared = &slot->outcome;
  struct {
    uint32_t status;
    uint32_t piece_count;
    uint8_t stage;
    uint8_t name_size;
    fc_piece_t pieces[PIECES_MAX];
    uint64_t document;
    uint32_t spans_size;
    uint8_t more;
    fc_piece_t carry;
  } said;
  copy_once(&said.status, &shared->status, sizeof said.status);
  copy_once(&said.piece_count, &shared->piece_count, sizeof said.piece_count);
  copy_once(&said.stage, &shared->stage, sizeof said.stage);
  copy_once(&said.name_size, &shared->name_size, sizeof said.name_size);
  copy_once(said.pieces, shared->pieces, sizeof said.pieces);
  copy_once(&said.document, &shared->document, sizeof said.document);
  copy_once(&said.spans_size, &shared->spans_size, sizeof said.spans_size);
  copy_once(&said.more, &shared->more, sizeof said.more);
  if (call->parts) copy_once(&said.carry, &slot->call.body, sizeof said.carry);
  copy_once(&out->began_ns, &shared->began_ns, sizeof out->began_ns);
  copy_once(out->spent_ns, shared->spent_ns, sizeof out->spent_ns);
  bound_times(out, call->sent_ns);
  copy_once(&out->batch, &shared->batch, sizeof out->batch);
  fc_batched_bound(&out->batch, call->batched ? FC_BATCH_CALLS : 1);
  out->piece_count = 0;
  out->more = false;
  out->document = 0;
  out->name_size = 0;
  *out_sizes = (fc_ring_sizes_t){0};

  if (said.status > FC_INCOMPATIBLE) return lie(err, "status", said.status);
  if (said.stage < FC_STAGE_QUEUE || said.stage > FC_STAGE_ENCODE) {
    return lie(err, "stage", said.stage);
  }
  out->status = (fc_status_t)said.status;
  out->stage = said.stage;
  if (out->status != FC_OK) {
    if (!copy_error(&out->error, &shared->error)) {
      return lie(err, "an error without an end, status", said.status);
    }
    if (said.name_size > sizeof out->name) {
      return lie(err, "name", said.name_size);
    }
    copy_once(out->name, shared->name, sizeof out->name);
    if (!fc_utf8_is_valid(fc_str_make(out->name, said.name_size))) {
      return lie(err, "name", said.name_size);
    }
    out->name_size = said.name_size;
    if (out->error.byte_offset > call->body_size) {
      out->error.byte_offset = FC_NO_OFFSET;
    }
    uint32_t cancel = atomic_load_explicit(&slot->cancel, memory_order_relaxed);
    return check_error(&out->error, out->status, out->stage,
                       call->flags & FC_CALL_SESSION, err) &&
           check_end(&out->error, call, cancel, err);
  }
  const bool validated = call->flags & FC_CALL_VALIDATE;
  const uint32_t most =
      validated ? 0 : 1 + (uint32_t)call->lent + (uint32_t)call->in_file;
  if (said.piece_count > most || (said.piece_count == 0) != validated) {
    return lie(err, "pieces", said.piece_count);
  }
  if (validated) return true;
  fc_ring_sizes_t sizes = {0};
  if (!check_pieces(ring, index, call, said.pieces, said.piece_count, &sizes,
                    err)) {
    return false;
  }
  if (call->parts && said.more) {
    const uint64_t steps = fc_ring_steps(ring, index, call);
    if (steps == call->steps) return lie(err, "steps", steps);
    if (!check_carry(ring, index, &said.carry, &sizes, err)) return false;
    out->more = true;
  }
  const uint64_t whole = sizes.in_area + sizes.in_file + sizes.in_body;
  if (!(call->flags & FC_CALL_TRACED)) said.spans_size = 0;
  if (said.spans_size > FC_SPANS_DISPATCHES * sizeof(fc_dispatch_span_t) ||
      said.spans_size % sizeof(fc_dispatch_span_t) || said.spans_size > whole) {
    return lie(err, "spans", said.spans_size);
  }
  if (said.document > whole - said.spans_size) {
    return lie(err, "document", said.document);
  }
  out->document = said.document;
  out->spans_size = said.spans_size;
  *out_sizes = sizes;
  return true;
}

bool fc_ring_scrub(const fc_ring_t *ring, fc_span_t area, uint64_t used,
                   uint64_t most, uint64_t *at) {
  if (used <= KEPT_AREA) return false;
  return fc_shared_scrub(ring->fd, (uint64_t)(area.data - ring->base), used,
                         most, at);
}

bool fc_ring_empty(const fc_ring_t *ring, uint64_t most) {
  const off_t data = lseek(ring->fd, 0, SEEK_DATA);
  if (data < 0) return false;
  return fallocate(ring->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, data,
                   (off_t)fc_shared_pages(most)) == 0;
}

void fc_ring_free(fc_ring_t *ring, uint32_t slot) {
  atomic_store(&ring->head->slots[slot].state, FC_RING_FREE);
}

fc_ring_phase_t fc_ring_phase(const fc_ring_t *ring,
                              char out_digest[FC_DIGEST_SIZE],
                              fc_error_t *err) {
  uint32_t phase =
      atomic_load_explicit(&ring->head->phase, memory_order_acquire);
  if (phase == FC_RING_SERVING) {
    copy_once(out_digest, ring->head->digest, FC_DIGEST_SIZE);
    return FC_RING_SERVING;
  }
  if (phase != FC_RING_FAILED) return FC_RING_LOADING;
  bool good = copy_error(err, &ring->head->error) && err->status > FC_OK &&
              err->status <= FC_INCOMPATIBLE && err->code > FC_CODE_NONE &&
              err->code < FC_CODE_COUNT;
  if (!good) {
    (void)fc_fail(err, FC_CODE_MODULE_LOAD, "its worker failed to say why");
  }
  return FC_RING_FAILED;
}

fc_fault_t fc_ring_fault(const fc_ring_t *ring) {
  fc_fault_t fault;
  copy_once(&fault, &ring->head->fault, sizeof fault);
  if (fault.signal > 64 || fault.class_ >= FC_FAULT_COUNT) {
    return (fc_fault_t){0};
  }
  if (fault.in_module > 1 || fault.offset > (1u << 30)) {
    fault.in_module = 0;
    fault.offset = 0;
  }
  return fault;
}
