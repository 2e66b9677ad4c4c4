// SPDX-License-Identifier: Apache-2.0
#include "pool/handoff.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pool/shared.h"

typedef struct message_t {
  uint32_t number;
  uint32_t kind;
  uint32_t tray;
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
  // The loop never reads, so what a module sends is refused: it would only take memory.
  (void)shutdown(ends[0], SHUT_RD);
  memcpy(out_ends, ends, sizeof ends);
  return true;
}

bool fc_handoff_send(int end, uint32_t number, fc_handoff_kind_t kind,
                     uint32_t tray, int file) {
  message_t said = {number, (uint32_t)kind, tray};
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
  return body_room(setup) +
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
  *out_inbox =
      (fc_inbox_t){.end = end, .body = {base, body}, .tray = FC_RING_TRAYS};
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) {
    out_inbox->answers[i] = (fc_span_t){base + body + i * answer, answer};
  }
  return FC_OK;
}

void fc_inbox_close(fc_inbox_t *inbox) {
  if (!inbox->body.data) return;
  munmap(inbox->body.data,
         inbox->body.size + FC_RING_TRAYS * inbox->answers[0].size);
  close(inbox->end);
  *inbox = (fc_inbox_t){0};
}

// Receives one message. *out_file is -1 if the process has too many files open.
// False: there is no message, because the module has received it or closed the socket.
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

static bool map(fc_span_t room, size_t size, int kind, int file) {
  return size <= room.size &&
         mmap(room.data, size, PROT_READ | PROT_WRITE,
              kind | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
}

static void leave_tray(fc_inbox_t *inbox, uint32_t tray) {
  if (!inbox->mapped[tray]) return;
  (void)set_aside(inbox->answers[tray].data, inbox->answers[tray].size);
  inbox->mapped[tray] = false;
}

// Maps a file at a tray, for the part of an answer behind FC_RING_FIRST. If the file
// cannot be mapped, that part stays in the ring.
static void set_tray(fc_inbox_t *inbox, uint32_t tray, int file) {
  if (tray >= FC_RING_TRAYS) return;
  leave_tray(inbox, tray);
  const fc_span_t room = inbox->answers[tray];
  inbox->mapped[tray] = file >= 0 && map(room, room.size, MAP_SHARED, file);
}

// Leaves all trays because messages are missing: any tray may be meant for another file
// by now.
static void leave_all(fc_inbox_t *inbox) {
  for (uint32_t i = 0; i < FC_RING_TRAYS; i++) leave_tray(inbox, i);
}

// Takes the messages up to `number`. Returns the file of that one if it is a body,
// else -1.
static int take_up_to(fc_inbox_t *inbox, uint32_t number) {
  int body = -1;
  while (inbox->received != number) {
    message_t message;
    int file;
    if (!receive(inbox, &message, &file)) {
      leave_all(inbox);
      break;
    }
    if (message.number != inbox->received + 1) leave_all(inbox);
    inbox->received = message.number;
    const bool wanted =
        message.kind == FC_HANDOFF_BODY && message.number == number;
    if (message.kind == FC_HANDOFF_ANSWER) set_tray(inbox, message.tray, file);
    if (wanted) body = file;
    else if (file >= 0) close(file);
    if ((int32_t)(message.number - number) > 0) break;
  }
  inbox->received = number;
  return body;
}

fc_status_t fc_inbox_take(fc_inbox_t *inbox, const fc_ring_slot_t *slot,
                          fc_error_t *err) {
  const fc_piece_t *body = &slot->slot.call.body;
  inbox->tray = slot->tray;
  if (inbox->received == slot->files && body->block != FC_RING_BODY_FILE) {
    return FC_OK;
  }
  const int file = take_up_to(inbox, slot->files);
  if (body->block != FC_RING_BODY_FILE) {
    if (file >= 0) close(file);
    return FC_OK;
  }
  const size_t size = pages(body->offset + body->size + FC_BLOCK_TAIL);
  // A function may write to a tensor that lies in the body. The mapping is private, so
  // that the loop finds the body as it came, and can recognise it (blame.h).
  const bool mapped = file >= 0 && map(inbox->body, size, MAP_PRIVATE, file);
  if (mapped) inbox->body_mapped = size;
  if (file >= 0) close(file);
  if (mapped) return FC_OK;
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
  if (inbox->body_mapped) {
    (void)set_aside(inbox->body.data, inbox->body_mapped);
    inbox->body_mapped = 0;
  }
  if (inbox->written && !answered) {
    const fc_span_t answer = inbox->answers[inbox->tray];
    (void)madvise(answer.data, answer.size, MADV_REMOVE);
  }
  inbox->written = false;
}
