// SPDX-License-Identifier: Apache-2.0
//
// What decode keeps of a request for encode. Private to oip_*.c.
#ifndef FARCALL_MARSHAL_OIP_READ_H_
#define FARCALL_MARSHAL_OIP_READ_H_

#include "marshal/frame.h"
#include "marshal/model.h"
#include "marshal/oip.h"

// How one output is sent, where the request has chosen outputs (fc_oip_t.chosen).
enum {
  FC_OIP_ABSENT,  // not at all
  FC_OIP_UNSAID,  // as fc_oip_t.raw says
  FC_OIP_JSON,
  FC_OIP_RAW
};

typedef struct fc_oip_t {
  const fc_model_t *model;
  fc_str_t id;  // as it stood between its quotes
  bool has_id;
  fc_str_t
      renamed;  // what the client called the only input; data NULL: by its name
  bool raw;     // outputs of which the request says nothing are sent raw
  bool chosen;  // `order` has the outputs to send, else all are sent
  uint32_t order_count;
  uint32_t *order;  // numbers of outputs, in the order of the request
  uint8_t *forms;   // FC_OIP_*, by output; ABSENT until the request names it
} fc_oip_t;

#endif  // FARCALL_MARSHAL_OIP_READ_H_
