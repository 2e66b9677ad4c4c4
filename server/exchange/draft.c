// SPDX-License-Identifier: Apache-2.0
//
// Documents: those that are written at once, and drafts, those that are written in parts
// (dialect/parts.h), each in a turn of the loop.
#include "dialect/parts.h"
#include "exchange/answer.h"

// The document is in `out`.
static void send_document(fc_exchange_t *x, const fc_document_t *document,
                          fc_block_sink_t *out) {
  const bool same = document->not_modified;
  fc_exchange_close_answer(x, out);
  fc_exchange_send(
      x,
      &(fc_reply_t){.status = same                    ? 304
                              : document->unavailable ? 503
                                                      : 200,
                    .content_type = same ? FC_STR("") : document->content_type,
                    .digest = document->digest,
                    .weak_digest = document->weak_digest,
                    .coding = document->coding,
                    .is_page = document->is_page});
}

// ---------------------------------------------------------------------------
// Documents in parts

// A document that is being written. All documents of a loop that are being written are in
// a ring, and each turn writes a part of the next one.
typedef struct fc_draft_t {
  fc_exchange_t *x;
  fc_document_t document;
  fc_block_sink_t out;
  struct fc_draft_t *next;
  struct fc_draft_t *previous;
} fc_draft_t;

static void enter_draft(fc_draft_t *w) {
  fc_draft_t *first = w->x->server->drafts;
  w->next = first ? first : w;
  w->previous = first ? first->previous : w;
  w->next->previous = w->previous->next = w;
  if (!first) w->x->server->drafts = w;
  w->x->server->draft_count++;
}

// Takes the draft out of the ring and frees it, but for `out`: what was written is
// the caller's.
static void leave_draft(fc_draft_t *w) {
  fc_server_t *server = w->x->server;
  w->next->previous = w->previous;
  w->previous->next = w->next;
  if (server->drafts == w) server->drafts = w->next == w ? NULL : w->next;
  w->x->draft = NULL;
  server->draft_count--;
  fc_parts_destroy(w->document.parts);
  fc_free(server->modules->generations.allocator, w);
}

void fc_exchange_drop_draft(fc_exchange_t *x) {
  if (!x->draft) return;
  fc_block_sink_drop(&x->draft->out);
  leave_draft(x->draft);
}

// Writes a part, and answers if it was the last one or failed. True: there is more.
static bool write_part(fc_draft_t *w) {
  fc_exchange_t *x = w->x;
  fc_error_t error;
  bool more;
  fc_error_reset(&error);
  if (fc_parts_write(w->document.parts, &w->out, &more, &error) != FC_OK) {
    fc_exchange_drop_draft(x);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
    return false;
  }
  if (more) return true;
  const fc_document_t document = w->document;
  fc_block_sink_t out = w->out;
  w->document.parts = NULL;  // the digest is in a module that they retain
  leave_draft(w);
  send_document(x, &document, &out);
  fc_parts_destroy(document.parts);
  return false;
}

// Takes over `out` and the document's parts.
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
  x->draft = w;
  // The first part is written at once only if no other document is being written.
  // Otherwise many requests in one turn of the loop would make it a long one.
  const bool is_first = x->server->draft_count == 0;
  enter_draft(w);
  if (is_first) (void)write_part(w);
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
  if (!write_part(w)) x->carrier->resume(x);
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
  if (x->is_preflight) {
    fc_exchange_close_answer(x, &out);
    fc_exchange_send(x, &(fc_reply_t){.status = 204});
    return;
  }
  fc_document_t document;
  if (dialect->document(x->server, request, &x->place, &document, &out.sink,
                        &error) != FC_OK) {
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
    return;
  }
  if (!document.parts) {
    send_document(x, &document, &out);
  } else if (check_drafts(x->server, &error) != FC_OK) {
    fc_parts_destroy(document.parts);
    fc_block_sink_drop(&out);
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
  } else {
    begin_draft(x, &document, &out);
  }
}
