// SPDX-License-Identifier: Apache-2.0
//
// What a call does to its session. Before the call its desk is laid; after the call the
// changes on the desk are checked and taken over. The worker may be hostile: what it
// wrote is copied once, and believed only within the grant of the call. Pages that the
// call was granted and has not used are the grant of the session's next call.
#include "state/session.h"

// At least one page after each new value stays empty.
#define GAPS (FC_STORE_ROWS * FC_STORE_PAGE)

static fc_session_t *of(const fc_claim_t *claim) {
  return (fc_session_t *)(void *)claim;
}

// ---------------------------------------------------------------------------
// Before a call

// Ends the grant of a call, which has used the pages up to `next`. `written`: these pages
// hold no values, so they are given back.
static void end_grant(fc_session_t *session, uint64_t next, bool written) {
  session->slab->claim.allowed -= session->budget;
  session->budget = 0;
  session->granted = false;
  if (written && next > session->grant) {
    fc_slab_clear(session->slab, session->grant, next - session->grant);
  }
  session->grant = next;
}

// Makes sure that the grant has room for `budget` bytes of new values. A new grant gets
// twice the room, so that about half of it is used before the rest is given up. Returns
// the number of bytes for which there is room: `budget` or 0.
static uint64_t make_grant(fc_session_t *session, uint64_t budget) {
  fc_slab_t *slab = session->slab;
  const uint64_t size = budget + GAPS;
  if (!budget || size <= session->grant_end - session->grant) return budget;
  fc_slab_return(slab, session->grant, session->grant_end);
  session->grant = session->grant_end = slab->cursor;
  if (fc_slab_grant(slab, 2 * size, &session->grant)) {
    session->grant_end = session->grant + 2 * size;
    return budget;
  }
  if (!fc_slab_grant(slab, size, &session->grant)) return 0;
  session->grant_end = session->grant + size;
  return budget;
}

// Must a call copy the value before it writes to the value?
static bool is_shared(const fc_session_t *session, const fc_kept_t *value) {
  return value->place && (session->checkpoint || value->place->counts > 1);
}

static uint64_t shared_bytes(const fc_session_t *session) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < session->count; i++) {
    const fc_kept_t *value = &session->values[i];
    if (is_shared(session, value)) sum += value->place->size;
  }
  return sum;
}

static void lay(fc_claim_t *claim, fc_store_desk_t *out) {
  fc_session_t *session = of(claim);
  fc_code_t code;
  // The last worker that had a desk never began the call.
  if (session->granted) end_grant(session, session->grant_end, true);
  // A shared value counts already. So there is always room for a copy of it, and this
  // room is for copies only.
  uint64_t copies = shared_bytes(session);
  uint64_t left = fc_session_left(session, 0, &code) & ~(FC_STORE_PAGE - 1);
  const uint64_t budget = make_grant(session, left + copies);
  if (!budget) left = copies = 0;
  session->granted = true;
  session->budget = budget;
  session->copies = copies;
  session->laid = session->count;
  session->slab->claim.allowed += budget;
  out->count = session->count;
  out->code = code;
  out->next = session->grant;
  out->end = session->grant_end;
  out->budget = left;
  out->copies = copies;
  out->step = session->step;
  for (uint32_t i = 0; i < session->count; i++) {
    fc_kept_t *value = &session->values[i];
    value->row.flags = is_shared(session, value) ? FC_STORE_SHARED : 0;
    out->rows[i] = value->row;
    out->rows[i].change = 0;
  }
}

// ---------------------------------------------------------------------------
// After a call

// A copy of a new row of a desk.
typedef struct fc_taken_t {
  fc_store_row_t row;
  uint32_t at;              // index of the value in the session
  fc_store_place_t *place;  // NULL: the value has no bytes, or no place yet
} fc_taken_t;

static bool lie(fc_error_t *err, const char *what, uint64_t value) {
  (void)fc_fail(err, FC_CODE_WORKER_CRASHED,
                "the worker wrote over its desk: %s %llu", what,
                (unsigned long long)value);
  return false;
}

// Copies data that a worker can change at any time. The compiler must not read the
// original again later, when it may have changed.
static void copy_once(void *to, const void *from, size_t size) {
  memcpy(to, from, size);
  __asm__ volatile("" : : "r"(to) : "memory");
}

// Is the row's place inside the granted pages, and apart from the places of earlier rows?
// Workers take places upwards, but may put them onto the desk in any order.
static bool check_place(const fc_session_t *session, const fc_taken_t *taken,
                        uint32_t count, uint64_t next, fc_error_t *err) {
  const fc_store_row_t *row = &taken[count].row;
  if (row->kind == FC_VALUE_OPAQUE) return true;
  const uint64_t page = fc_store_page_of(row->offset);
  const uint64_t size = fc_store_pages(row->size);
  if (!size) return !row->offset || lie(err, "offset", row->offset);
  if (page < session->grant || page > next || size > next - page) {
    return lie(err, "offset", row->offset);
  }
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t other = fc_store_page_of(taken[i].row.offset);
    const uint64_t end = other + fc_store_pages(taken[i].row.size);
    if (end > other && page < end && other < page + size) {
      return lie(err, "offset", row->offset);
    }
  }
  return true;
}

// Has the row of an old value its old name, and a row of a new value a name that no other
// row has?
static bool check_name(const fc_session_t *session, const fc_taken_t *taken,
                       uint32_t count, fc_error_t *err) {
  const fc_taken_t *now = &taken[count];
  const fc_str_t name = fc_store_name(&now->row);
  const fc_kept_t *known = fc_session_value(session, name);
  if (now->at < session->count) {
    return known == &session->values[now->at] || lie(err, "name", now->at);
  }
  if (known) return lie(err, "name", now->at);
  for (uint32_t i = 0; i < count; i++) {
    if (fc_str_equal(fc_store_name(&taken[i].row), name)) {
      return lie(err, "name", now->at);
    }
  }
  return true;
}

// A reference has a number that was granted, and no other row has it.
static bool check_reference(const fc_session_t *session,
                            const fc_store_row_t *row, uint64_t *seen,
                            fc_error_t *err) {
  if (row->kind != FC_VALUE_OPAQUE || !row->reference) return true;
  return fc_home_is_granted(&session->claim, row->reference, seen) ||
         lie(err, "reference", row->reference);
}

// Bytes that the row takes beyond those of the value in whose place it comes, if that was
// shared when the desk was laid.
static uint64_t excess(const fc_session_t *session, const fc_taken_t *taken) {
  const uint64_t size = fc_store_pages(taken->row.size);
  if (taken->at >= session->count) return size;
  const fc_store_row_t *old = &session->values[taken->at].row;
  const uint64_t had =
      old->flags & FC_STORE_SHARED ? fc_store_pages(old->size) : 0;
  return size > had ? size - had : 0;
}

// Copies the new rows. False and `err`: no honest worker writes such rows.
static bool read_rows(const fc_session_t *session, const fc_store_desk_t *desk,
                      uint32_t rows, uint64_t next, fc_taken_t *out_taken,
                      uint32_t *out_count, fc_error_t *err) {
  uint64_t sum = 0, more = 0, seen = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < rows; i++) {
    uint8_t change;
    copy_once(&change, &desk->rows[i].change, sizeof change);
    const bool added = i >= session->laid;
    if (change & ~(FC_STORE_WRITTEN | FC_STORE_NEW) ||
        (added && !(change & FC_STORE_NEW))) {
      return lie(err, "change", change);
    }
    if (!(change & FC_STORE_NEW)) continue;
    fc_taken_t *taken = &out_taken[count];
    copy_once(&taken->row, &desk->rows[i], sizeof taken->row);
    taken->at = i;
    taken->place = NULL;
    fc_error_t why;
    if (fc_store_verify(&taken->row, &why) != FC_OK) {
      return lie(err, "row", i);
    }
    if (!check_name(session, out_taken, count, err) ||
        !check_reference(session, &taken->row, &seen, err) ||
        !check_place(session, out_taken, count, next, err)) {
      return false;
    }
    sum += fc_store_pages(taken->row.size);
    more += excess(session, taken);
    if (sum > session->budget || more > session->budget - session->copies) {
      return lie(err, "size", taken->row.size);
    }
    count++;
  }
  *out_count = count;
  return true;
}

// Is there room for the values that the call leaves? Since its desk was laid, calls of
// other sessions may have used up the room.
static bool has_room(const fc_session_t *session, const fc_taken_t *taken,
                     uint32_t count, fc_outcome_t *outcome) {
  uint64_t more = 0, less = 0;
  for (uint32_t i = 0; i < count; i++) {
    more += fc_store_pages(taken[i].row.size);
    if (taken[i].at >= session->count) continue;
    less += fc_store_pages(session->values[taken[i].at].row.size);
  }
  if (more <= less) return true;
  outcome->status =
      fc_session_check_room(session, more - less, &outcome->error);
  if (outcome->status != FC_OK) outcome->more = false;
  return outcome->status == FC_OK;
}

static bool make_places(fc_session_t *session, fc_taken_t *taken,
                        uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const fc_store_row_t *row = &taken[i].row;
    taken[i].place = NULL;
    if (!row->size) continue;
    taken[i].place = fc_slab_place(session->slab, fc_store_page_of(row->offset),
                                   fc_store_pages(row->size));
    if (taken[i].place) continue;
    while (i--) fc_slab_leave(session->slab, taken[i].place);
    return false;
  }
  return true;
}

static void put_values(fc_session_t *session, const fc_taken_t *taken,
                       uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t size = fc_store_pages(taken[i].row.size);
    fc_kept_t *value = &session->values[taken[i].at];
    if (taken[i].at < session->count) {
      fc_session_weigh(session, size, fc_store_pages(value->row.size));
      fc_session_leave(session, value);
    } else {
      fc_session_weigh(session, size, 0);
      session->count++;
    }
    *value = (fc_kept_t){.row = taken[i].row, .place = taken[i].place};
    value->row.change = value->row.flags = 0;
    const bool opaque = value->row.kind == FC_VALUE_OPAQUE;
    if (opaque && value->row.reference) {
      fc_home_keep(&session->claim, value->row.reference);
    }
  }
}

// Gives back the pages between the new places, if there is more than one: the worker may
// have written to them.
static void clear_gaps(fc_session_t *session, const fc_taken_t *taken,
                       uint32_t count, uint64_t next) {
  uint64_t at = session->grant;
  while (at < next) {
    // The next place at or after `at` is from `page` to `end`.
    uint64_t page = next, end = next;
    for (uint32_t i = 0; i < count; i++) {
      const uint64_t begin = fc_store_page_of(taken[i].row.offset);
      if (!taken[i].place || begin < at || begin >= page) continue;
      page = begin;
      end = begin + taken[i].place->size;
    }
    if (page - at > FC_STORE_PAGE) fc_slab_clear(session->slab, at, page - at);
    at = end > at ? end : next;
  }
}

// Ends the grant of a session that is lost. All granted pages may have been written to.
static void end_lost(fc_session_t *session, fc_str_t function,
                     fc_session_end_t why) {
  end_grant(session, session->grant_end, true);
  fc_session_lose(session, function, why);
}

static bool take_over(fc_session_t *session, fc_taken_t *taken, uint32_t count,
                      uint32_t rows, uint64_t next) {
  fc_error_t ignored;
  if (fc_session_make_room(session, rows, &ignored) != FC_OK ||
      !make_places(session, taken, count)) {
    return false;
  }
  // The places count by themselves now (fc_slab_place).
  session->slab->claim.allowed -= session->budget;
  session->budget = 0;
  put_values(session, taken, count);
  clear_gaps(session, taken, count, next);
  end_grant(session, next, false);
  return true;
}

// Was the function stopped before its end, by a deadline or because nobody waits? Then a
// value that the function was writing may be half written.
static bool is_stopped(const fc_outcome_t *outcome) {
  return outcome->stage == FC_STAGE_CALL &&
         (outcome->status == FC_DEADLINE_EXCEEDED ||
          outcome->status == FC_CANCELLED);
}

static void fail_for_memory(fc_outcome_t *outcome) {
  outcome->more = false;
  outcome->status = fc_fail(&outcome->error, FC_CODE_OUT_OF_MEMORY,
                            "there is no memory to note the values that the "
                            "call has left: the session is as it was before");
}

static void count_step(fc_session_t *session, const fc_outcome_t *outcome) {
  if (outcome->stage < FC_STAGE_CALL || session->claim.later) return;
  if (outcome->status != FC_OK && session->checkpoint) return;
  fc_session_set_step(session, session->step + 1);
}

static bool take(fc_claim_t *claim, const fc_store_desk_t *desk,
                 fc_outcome_t *outcome, fc_error_t *err) {
  fc_session_t *session = of(claim);
  fc_taken_t taken[FC_STORE_ROWS];
  uint32_t rows, count = 0;
  uint64_t next;
  copy_once(&rows, &desk->count, sizeof rows);
  copy_once(&next, &desk->next, sizeof next);
  if (rows < session->laid || rows > FC_STORE_ROWS) {
    return lie(err, "count", rows);
  }
  if (next < session->grant || next > session->grant_end ||
      next % FC_STORE_PAGE) {
    return lie(err, "next", next);
  }
  bool done = outcome->status == FC_OK && !session->ended && !session->lost;
  if (done && !read_rows(session, desk, rows, next, taken, &count, err)) {
    return false;
  }
  if (is_stopped(outcome) && !session->checkpoint) {
    end_lost(session, FC_STR(""), FC_SESSION_END_DEADLINE);
    return true;
  }
  done = done && has_room(session, taken, count, outcome);
  // A failed call leaves no new values. What it wrote into old values in place stays.
  const bool kept = done && take_over(session, taken, count, rows, next);
  if (done && !kept && session->checkpoint) fail_for_memory(outcome);
  if (outcome->status != FC_OK || !done) end_grant(session, next, true);
  count_step(session, outcome);
  if (outcome->status == FC_OK && done && !kept) {
    end_lost(session, FC_STR(""), FC_SESSION_END_MEMORY);
  }
  if (session->ended) fc_session_drop_values(session);
  return true;
}

static const fc_session_end_t kEnds[FC_LOSS_COUNT] = {
    [FC_LOSS_CRASH] = FC_SESSION_END_CRASH,
    [FC_LOSS_DEADLINE] = FC_SESSION_END_DEADLINE,
    [FC_LOSS_LIE] = FC_SESSION_END_LIE,
    [FC_LOSS_WORKER] = FC_SESSION_END_WORKER};

static void lose(fc_claim_t *claim, fc_str_t function, fc_loss_t why) {
  fc_session_t *session = of(claim);
  if (!session->checkpoint || session->lost || why == FC_LOSS_LIE) {
    end_lost(session, function, kEnds[why]);
    return;
  }
  // With checkpoints, the call has written only to the pages of its grant.
  end_grant(session, session->grant_end, true);
  if (session->ended) fc_session_drop_values(session);
}

static void condemn(fc_claim_t *claim, fc_str_t function, fc_loss_t why) {
  fc_session_condemn(of(claim), function, kEnds[why]);
}

static bool refuse(const fc_claim_t *claim, fc_error_t *err) {
  return fc_session_check(of(claim), err) != FC_OK;
}

static void on_idle(fc_claim_t *claim) {
  fc_session_t *session = of(claim);
  // The last call was given to a worker and then taken back.
  if (session->granted) end_grant(session, session->grant_end, true);
  session->used_ns = fc_clock_ns();
  fc_session_settle(session);
}

const fc_claim_class_t fc_session_claims = {.lay = lay,
                                            .take = take,
                                            .lose = lose,
                                            .condemn = condemn,
                                            .refuse = refuse,
                                            .idle = on_idle};
