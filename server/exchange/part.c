// SPDX-License-Identifier: Apache-2.0
//
// Answers in parts: begin, part, end. Whoever makes the parts (draft.c) is asked for the
// next one when the carrier has sent the last.
#include "exchange/answer.h"

static void end(fc_exchange_t *x, bool cut) {
  x->parted.ended = true;
  x->server->metrics.parts.open--;
  x->server->metrics.parts.cut += cut;
}

// A HEAD is answered as the first part would be, without it.
static void send_head(fc_exchange_t *x, const fc_answer_facts_t *what) {
  fc_answer_t answer;
  fc_exchange_describe(x, what, &answer);
  answer.in_parts = true;
  fc_exchange_note(x, what, 0);
  x->carrier->begin(x, &answer);
}

static void begin(fc_exchange_t *x, const fc_answer_facts_t *what) {
  fc_parts_counts_t *counts = &x->server->metrics.parts;
  fc_answer_t answer;
  fc_exchange_describe(x, what, &answer);
  answer.in_parts = x->parted.begun = true;
  x->parted.first_ns = fc_clock_ns() - x->began_ns;
  counts->first_ns += x->parted.first_ns;
  counts->begun++;
  counts->open++;
  x->carrier->begin(x, &answer);
}

static void count_part(fc_exchange_t *x) {
  fc_parts_counts_t *counts = &x->server->metrics.parts;
  uint64_t size = 0;
  for (uint32_t i = 0; i < x->piece_count; i++) size += x->pieces[i].size;
  x->parted.sending = true;
  x->parted.count += size != 0;
  x->parted.size += size;
  counts->parts += size != 0;
  counts->bytes += size;
}

void fc_exchange_send_part(fc_exchange_t *x, const fc_answer_facts_t *what,
                           fc_part_end_t part) {
  if (!x->parted.begun && part != FC_PART_MORE) {
    fc_exchange_send(x, what);
  } else if (x->method == FC_METHOD_HEAD) {
    send_head(x, what);
  } else {
    count_part(x);
    if (!x->parted.begun) {
      begin(x, what);
      return;
    }
    if (part != FC_PART_MORE) {
      end(x, part == FC_PART_CUT);
      fc_exchange_note(x, what, x->parted.size);
    }
    x->carrier->part(x, part);
  }
}

void fc_exchange_part_sent(fc_exchange_t *x) {
  fc_exchange_sent(x);
  x->parted.sending = false;
  if (x->draft) fc_exchange_go_on_draft(x);
}

void fc_exchange_abandoned(fc_exchange_t *x) {
  if (x->parted.ended) return;
  if (x->parted.begun) end(x, true);
  fc_exchange_count(x, 499, FC_SERIES_LEFT, x->parted.size, false);
  fc_exchange_export(x, 499, FC_SERIES_LEFT, x->parted.size);
  fc_exchange_log(x, 499, FC_CODE_NONE, FC_STR(""), x->parted.size, false);
}
