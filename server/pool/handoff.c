// SPDX-License-Identifier: Apache-2.0
#include "pool/handoff.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pool/shared.h"

typedef struct message_t {
  uint32_t number;
  uint32_t kind;
  uint32_t place;
} message_t;

typedef union control_t {
  struct cmsghdr head;  // for its alignment
  char bytes[CMSG_SPACE(sizeof(int))];
} control_t;

// ---------------------------------------------------------------------------
// The loop

bool fc_handoff_open(int out_ends[2]) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
    return false;
  }
  // The loop never reads from the socket, so bytes that a module sends are refused: they
  // would only take memory.
  (void)shutdown(ends[0], SHUT_RD);
  memcpy(out_ends, ends, sizeof ends);
  return true;
}

bool fc_handoff_send(int end, uint32_t number, fc_handoff_kind_t kind,
                     uint32_t place, int file) {
  message_t said = {number, (uint32_t)kind, place};
  struct iovec part = {&said, sizeof said};
  control_t control = {0};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof file),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.head), &file, sizeof file);
  return sendmsg(end, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         (ssize_t)sizeof said;
}

// ---------------------------------------------------------------------------
// The worker

static size_t pages(uint64_t size) { return (size_t)fc_shared_pages(size); }

// A body begins within the first FC_BLOCK_ALIGN bytes of its file.
static size_t body_room(const fc_ring_setup_t *setup) {
  return pages(FC_BLOCK_ALIGN + setup->body_size + FC_BLOCK_TAIL);
}

uint64_t fc_inbox_size(const fc_ring_setup_t *setup) {
  return FC_RING_SHELVES * (uint64_t)body_room(setup) +
         FC_RING_TRAYS * (uint64_t)pages(setup->result_size + FC_BLOCK_TAIL);
}

static void *set_aside(void *address, size_t size) {
  return mmap(
      address, size, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address ? MAP_FIXED : 0),
      -1, 0);
}

fc_status_t fc_inbox_open(int end, const fc_ring_setup_t *setup,
                          fc_inbox_t *out_inbox, fc_error_t *err) {
  const size_t body = body_room(setup);
  const size_t answer = pages(setup->result_size + FC_BLOCK_TAIL);
  const size_t size = (size_t)fc_inbox_size(setup);
  uint8_t *base = set_aside(NULL, size);
  if (base == MAP_FAILED) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY,
                   "a worker cannot set aside %zu bytes of addresses: %s", size,
                   strerror(errno));
  }
  *out_inbox = (fc_inbox_t){
      .end = end, .shelf = FC_RING_SHELVES, .tray = FC_RING_TRAYS, .slab = -1};
  for (uint32_t i = 0; i < FC_RING_SHELVES; i++, base += body) {
    out_inbox->shelves[i].room = (fc_span_t){base, body};
  }
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++, base += answer) {
    out_inbox->answers[i] = (fc_span_t){base, answer};
  }
  return FC_OK;
}

static void set_slab(fc_inbox_t *inbox, int file) {
  if (inbox->slab >= 0) close(inbox->slab);
  inbox->slab = file;
  inbox->slabs++;
}

void fc_inbox_close(fc_inbox_t *inbox) {
  const fc_span_t *first = &inbox->shelves[0].room;
  if (!first->data) return;
  munmap(first->data, FC_RING_SHELVES * first->size +
                          FC_RING_TRAYS * inbox->answers[0].size);
  close(inbox->end);
  set_slab(inbox, -1);
  *inbox = (fc_inbox_t){0};
}

// Receives one message. *out_file is -1 if the process has too many open files. False:
// there is no message, because the module has received it or closed the socket.
static bool receive(const fc_inbox_t *inbox, message_t *out_message,
                    int *out_file) {
  struct iovec part = {out_message, sizeof *out_message};
  control_t control;
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  const ssize_t size =
      recvmsg(inbox->end, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const struct cmsghdr *head = size >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
  *out_file = -1;
  if (head && head->cmsg_type == SCM_RIGHTS) {
    memcpy(out_file, CMSG_DATA(head), sizeof *out_file);
  }
  return size == (ssize_t)sizeof *out_message;
}

static bool map(fc_span_t room, int protection, int kind, int file) {
  return file >= 0 &&
         mmap(room.data, room.size, protection,
              kind | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
}

// ---------------------------------------------------------------------------
// Shelves

static void leave_shelf(fc_inbox_t *inbox, uint32_t at) {
  fc_shelf_t *shelf = &inbox->shelves[at];
  if (shelf->mapped) (void)set_aside(shelf->room.data, shelf->room.size);
  *shelf = (fc_shelf_t){.room = shelf->room};
}

// Maps a file at a shelf. No part of it may be used yet, so that a function which reads
// past the end of its body is stopped there.
static void set_shelf(fc_inbox_t *inbox, uint32_t at, int file) {
  if (at >= FC_RING_SHELVES) return;
  leave_shelf(inbox, at);
  fc_shelf_t *shelf = &inbox->shelves[at];
  shelf->mapped = map(shelf->room, PROT_NONE, MAP_PRIVATE, file);
}

// Makes the first `size` bytes of a shelf present. A kernel without MADV_POPULATE_READ
// leaves their pages to faults; these cost time and are then mistaken for changes of the
// body, which is safe.
static bool open_shelf(fc_shelf_t *shelf, size_t size) {
  if (!shelf->mapped || size > shelf->room.size) return false;
  uint8_t *data = shelf->room.data;
  if (size > shelf->open) {
    if (mprotect(data + shelf->open, size - shelf->open,
                 PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
    shelf->open = size;
  }
  if (size > shelf->present) {
    (void)madvise(data + shelf->present, size - shelf->present,
                  MADV_POPULATE_READ);
    shelf->present = size;
  }
  return true;
}

static uint64_t count_faults(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return UINT64_MAX;
  return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

bool fc_inbox_is_as_sent(void *context) {
  const fc_inbox_t *inbox = context;
  return inbox->shelf < FC_RING_SHELVES && inbox->faults != UINT64_MAX &&
         count_faults() == inbox->faults;
}

// Drops pages that the call may have written to. If that fails, drops the file: the next
// call must not see the changes.
static void end_body(fc_inbox_t *inbox) {
  const uint32_t at = inbox->shelf;
  if (at >= FC_RING_SHELVES) return;
  fc_shelf_t *shelf = &inbox->shelves[at];
  if (!fc_inbox_is_as_sent(inbox)) {
    shelf->present = 0;
    if (madvise(shelf->room.data, shelf->open, MADV_DONTNEED) != 0) {
      leave_shelf(inbox, at);
    }
  }
  inbox->shelf = FC_RING_SHELVES;
}

// ---------------------------------------------------------------------------
// Trays

static void leave_tray(fc_inbox_t *inbox, uint32_t tray) {
  if (!inbox->mapped[tray]) return;
  (void)set_aside(inbox->answers[tray].data, inbox->answers[tray].size);
  inbox->mapped[tray] = false;
}

// Maps a file at a tray, for the part of an answer after FC_RING_FIRST. If the file
// cannot be mapped, that part stays in the ring.
static void set_tray(fc_inbox_t *inbox, uint32_t tray, int file) {
  if (tray >= FC_RING_TRAYS) return;
  leave_tray(inbox, tray);
  inbox->mapped[tray] =
      map(inbox->answers[tray], PROT_READ | PROT_WRITE, MAP_SHARED, file);
}

// ---------------------------------------------------------------------------
// Before and after a call

// Drops all places because messages are missing: any place may now be meant for another
// file.
static void leave_all(fc_inbox_t *inbox) {
  for (uint32_t i = 0; i < FC_RING_SHELVES; i++) leave_shelf(inbox, i);
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) leave_tray(inbox, i);
  set_slab(inbox, -1);
}

// Receives the messages up to `number`.
static void take_up_to(fc_inbox_t *inbox, uint32_t number) {
  while (inbox->received != number) {
    message_t message;
    int file;
    if (!receive(inbox, &message, &file)) {
      leave_all(inbox);
      break;
    }
    if (message.number != inbox->received + 1) leave_all(inbox);
    inbox->received = message.number;
    if (message.kind == FC_HANDOFF_SLAB) set_slab(inbox, file);
    else if (message.kind == FC_HANDOFF_ANSWER)
      set_tray(inbox, message.place, file);
    else set_shelf(inbox, message.place, file);
    if (file >= 0 && message.kind != FC_HANDOFF_SLAB) close(file);
    if ((int32_t)(message.number - number) > 0) break;
  }
  inbox->received = number;
}

fc_status_t fc_inbox_take(fc_inbox_t *inbox, const fc_ring_slot_t *slot,
                          fc_error_t *err) {
  const fc_piece_t body = slot->slot.call.body;
  const uint32_t shelf = body.block - FC_RING_BODY_FILE(0);
  inbox->tray = slot->tray;
  take_up_to(inbox, slot->files);
  // A block of the ring has a lower index than the blocks of shelves: for it the result
  // of the subtraction wraps around to a large value.
  if (shelf >= FC_RING_SHELVES) return FC_OK;
  if (open_shelf(&inbox->shelves[shelf],
                 pages(body.offset + body.size + FC_BLOCK_TAIL))) {
    inbox->shelf = shelf;
    inbox->faults = count_faults();
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_OUT_OF_MEMORY,
                 "the worker cannot have the body: its module has taken the "
                 "files or the memory");
}

uint32_t fc_inbox_more(void *context) {
  fc_inbox_t *inbox = context;
  const uint32_t tray = inbox->tray;
  if (tray >= FC_RING_TRAYS || !inbox->mapped[tray]) return FC_BLOCK_NONE;
  inbox->written = true;
  return FC_RING_ANSWER_FILE(tray);
}

void fc_inbox_end(fc_inbox_t *inbox, bool answered) {
  end_body(inbox);
  if (inbox->written && !answered) {
    const fc_span_t answer = inbox->answers[inbox->tray];
    (void)madvise(answer.data, answer.size, MADV_REMOVE);
  }
  inbox->written = false;
}
