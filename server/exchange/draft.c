// SPDX-License-Identifier: Apache-2.0
//
// Documents are written at once, or in parts (dialect/parts.h), each part in a turn of
// the loop. A document in parts is called a draft.
#include "dialect/parts.h"
#include "exchange/answer.h"

// Sends the document, or its next part, which is in `out`.
static void send_document(fc_exchange_t *x, const fc_document_t *document,
                          fc_block_sink_t *out, fc_part_end_t part) {
  const bool same = document->not_modified;
  fc_exchange_close_answer(x, out);
  out->count = 0;
  fc_exchange_send_part(
      x,
      &(fc_answer_facts_t){
          .status = same                    ? 304
                    : document->unavailable ? 503
                    : document->created     ? 201
                                            : 200,
          .content_type = same ? FC_STR("") : document->content_type,
          .digest = document->digest,
          .weak_digest = document->weak_digest,
          .coding = document->coding,
          .is_page = document->is_page,
          .session = document->session},
      part);
}

// ---------------------------------------------------------------------------
// Documents in parts

// A document that is being written. Drafts whose parts so far were sent are in a ring,
// and each turn writes a part of the next one.
typedef struct fc_draft_t {
  fc_exchange_t *x;
  fc_document_t document;
  fc_block_sink_t out;      // count 0: to be opened before the next part
  struct fc_draft_t *next;  // NULL: the draft waits for its reader
  struct fc_draft_t *previous;
} fc_draft_t;

static void enter_ring(fc_draft_t *w) {
  fc_draft_t *first = w->x->server->drafts;
  w->next = first ? first : w;
  w->previous = first ? first->previous : w;
  w->next->previous = w->previous->next = w;
  if (!first) w->x->server->drafts = w;
  w->x->server->draft_count++;
}

static void leave_ring(fc_draft_t *w) {
  fc_server_t *server = w->x->server;
  if (!w->next) return;
  w->next->previous = w->previous;
  w->previous->next = w->next;
  if (server->drafts == w) server->drafts = w->next == w ? NULL : w->next;
  w->next = w->previous = NULL;
  server->draft_count--;
}

void fc_exchange_go_on_draft(fc_exchange_t *x) {
  if (!x->draft->next) enter_ring(x->draft);
}

// Frees the draft, except `out`: the caller owns the written bytes.
static void end_draft(fc_draft_t *w) {
  leave_ring(w);
  w->x->draft = NULL;
  fc_parts_destroy(w->document.parts);
  fc_free(w->x->server->modules->generations.allocator, w);
}

void fc_exchange_drop_draft(fc_exchange_t *x) {
  if (!x->draft) return;
  fc_block_sink_drop(&x->draft->out);
  end_draft(x->draft);
}

static bool has_bytes(const fc_block_sink_t *out) {
  const fc_piece_t *first = &out->pieces[0];
  return out->count > 1 ||
         out->sink.cursor !=
             (char *)fc_block_data(out->blocks, first->block) + first->offset;
}

// Sends the written bytes, and ends the draft if nothing follows.
static void send_draft(fc_draft_t *w, fc_part_end_t part) {
  fc_exchange_t *x = w->x;
  const fc_document_t document = w->document;
  fc_block_sink_t out = w->out;
  if (part == FC_PART_MORE && x->asked.method != FC_METHOD_HEAD) {
    send_document(x, &document, &w->out, part);
    // The draft no longer exists if the connection was closed.
    if (x->draft && x->parted.sending) leave_ring(x->draft);
    return;
  }
  w->document.parts = NULL;  // the parts retain the module that has the digest
  end_draft(w);
  send_document(x, &document, &out, part);
  fc_parts_destroy(document.parts);
}

static fc_status_t open_part(fc_draft_t *w, fc_error_t *err) {
  if (w->out.count) return FC_OK;
  if (!fc_exchange_open_answer(w->x, &w->out)) return fc_fail_memory(err);
  fc_block_sink_own(&w->out, &w->document.parts->owner);
  return FC_OK;
}

// Writes a part, and sends it if it is the last one or `may_begin`. A document that fits
// into one part is sent as a whole.
static void write_part(fc_draft_t *w, bool may_begin) {
  fc_exchange_t *x = w->x;
  fc_error_t error;
  bool more;
  fc_error_reset(&error);
  if (open_part(w, &error) != FC_OK ||
      fc_parts_write(w->document.parts, &w->out, &more, &error) != FC_OK) {
    fc_exchange_drop_draft(x);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
  } else if (!more) {
    send_draft(w, FC_PART_LAST);
  } else if (may_begin && has_bytes(&w->out) &&
             !fc_dialect_of(x->server, &x->place)->framed) {
    send_draft(w, FC_PART_MORE);
  }
}

// Begins a draft. Takes ownership of `out` and of the document's parts.
static void begin_draft(fc_exchange_t *x, const fc_document_t *document,
                        fc_block_sink_t *out) {
  fc_draft_t *w =
      fc_alloc(x->server->modules->generations.allocator, sizeof *w);
  if (!w) {
    fc_block_sink_drop(out);
    fc_parts_destroy(document->parts);
    fc_exchange_answer_nothing(x);
    return;
  }
  *w = (fc_draft_t){.x = x, .document = *document, .out = *out};
  w->document.parts->owner = x->job.caller;
  fc_block_sink_own(&w->out, &w->document.parts->owner);
  // A message is sent as a whole, and must not exceed what every client reads.
  if (fc_dialect_of(x->server, &x->place)->framed) w->out.limit = FC_LIMIT_LIST;
  x->draft = w;
  // The first part is written at once only if no other document is being written.
  // Otherwise many requests in one turn of the loop would make the turn long.
  const bool is_first = x->server->draft_count == 0;
  enter_ring(w);
  if (is_first) write_part(w, false);
}

static fc_status_t check_drafts(const fc_server_t *server, fc_error_t *err) {
  if (server->draft_count < FC_LIMIT_DRAFTS) return FC_OK;
  return fc_fail(err, FC_CODE_OVERLOADED,
                 "%u documents about all modules are being written, the limit",
                 FC_LIMIT_DRAFTS);
}

void fc_exchange_write_part(fc_server_t *server) {
  fc_draft_t *w = server->drafts;
  if (!w) return;
  fc_exchange_t *x = w->x;
  server->drafts = w->next;
  write_part(w, true);
  if (!x->draft) x->carrier->resume(x);
}

void fc_exchange_document(fc_exchange_t *x, const fc_request_t *request) {
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  fc_block_sink_t out;
  fc_error_t error;
  fc_error_reset(&error);
  if (!fc_exchange_open_answer(x, &out)) {
    fc_exchange_answer_nothing(x);
    return;
  }
  if (x->asked.is_preflight || x->asked.is_over) {
    fc_exchange_close_answer(x, &out);
    fc_exchange_send(x, &(fc_answer_facts_t){.status = 204});
    return;
  }
  fc_document_t document;
  if (dialect->document(x->server, request, &x->place, &document, &out.sink,
                        &error) != FC_OK) {
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
    return;
  }
  if (FC_UNLIKELY(document.watches)) {
    fc_block_sink_drop(&out);
    fc_exchange_begin_watch(x, document.watches_known);
  } else if (!document.parts) {
    send_document(x, &document, &out, FC_PART_LAST);
  } else if (check_drafts(x->server, &error) != FC_OK) {
    fc_parts_destroy(document.parts);
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
  } else {
    begin_draft(x, &document, &out);
  }
}
