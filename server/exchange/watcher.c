// SPDX-License-Identifier: Apache-2.0
//
// A watch is a request that is answered in parts until its client leaves: first with
// the present state, then with the state after each change. While the client has not
// read the last part, no part is added; afterwards it gets the state at that time. So a
// watch needs no more memory than any other request, and no timer. When the server
// drains, the watch ends after the client was told.
#include "dialect/ready.h"
#include "exchange/answer.h"

typedef struct fc_watcher_t {
  fc_exchange_t *x;
  struct fc_watcher_t *next;
  struct fc_watcher_t *previous;
  bool knows;
  bool told;   // the state that was sent last
  bool begun;  // a state was sent
} fc_watcher_t;

static fc_allocator_t allocator_of(const fc_exchange_t *x) {
  return x->server->modules->generations.allocator;
}

void fc_exchange_drop_watch(fc_exchange_t *x) {
  fc_watcher_t *w = x->watcher;
  if (FC_LIKELY(!w)) return;
  if (w->next) w->next->previous = w->previous;
  if (w->previous) w->previous->next = w->next;
  else x->server->watchers = w->next;
  x->watcher = NULL;
  fc_free(allocator_of(x), w);
}

static void send_told(fc_exchange_t *x, bool knows, bool ready) {
  const fc_dialect_t *dialect = fc_dialect_of(x->server, &x->place);
  const fc_answer_facts_t what = {.status = 200,
                                  .content_type = fc_str(dialect->error_type)};
  fc_block_sink_t out;
  fc_error_t error;
  fc_error_reset(&error);
  if (!fc_exchange_open_answer(x, &out)) {
    (void)fc_fail_memory(&error);
  } else if (dialect->tell(knows, ready, &out.sink, &error) != FC_OK) {
    fc_block_sink_drop(&out);
  } else {
    fc_exchange_close_answer(x, &out);
    fc_exchange_close_message(x, false);
    fc_exchange_send_part(x, &what, FC_PART_MORE);
    return;
  }
  fc_exchange_drop_watch(x);
  fc_exchange_fail(x, &error, FC_STAGE_COUNT);
}

// Sends the state that was not sent yet, or ends the watch.
static void tell(fc_watcher_t *w, bool ready) {
  fc_exchange_t *x = w->x;
  fc_error_t error;
  if (x->parted.sending) return;
  if (!w->begun || (w->knows && w->told != ready)) {
    w->begun = true;
    w->told = ready;
    send_told(x, w->knows, ready);
  } else if (x->server->draining) {
    fc_exchange_drop_watch(x);
    (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
    fc_exchange_fail(x, &error, FC_STAGE_COUNT);
  }
}

void fc_exchange_go_on_watch(fc_exchange_t *x) {
  tell(x->watcher, fc_ready_is(x->server));
}

void fc_exchange_begin_watch(fc_exchange_t *x, bool knows) {
  fc_watcher_t *w = fc_alloc(allocator_of(x), sizeof *w);
  if (!w) {
    fc_exchange_answer_nothing(x);
    return;
  }
  *w = (fc_watcher_t){.x = x, .knows = knows, .next = x->server->watchers};
  if (w->next) w->next->previous = w;
  x->server->watchers = x->watcher = w;
  tell(w, fc_ready_is(x->server));
}

void fc_exchange_tell_watchers(fc_server_t *server) {
  if (FC_LIKELY(!server->watchers) ||
      !fc_ready_look(server, &server->watched)) {
    return;
  }
  const bool ready = fc_ready_is(server);
  for (fc_watcher_t *next, *w = server->watchers; w; w = next) {
    next = w->next;
    tell(w, ready);
  }
}
