// SPDX-License-Identifier: Apache-2.0
//
// Answers that need not be copied: who runs a call may send bytes of a result from where
// they lie. Private to the library and its programs.
#ifndef FARCALL_MARSHAL_KEEPER_H_
#define FARCALL_MARSHAL_KEEPER_H_

#include "farcall/codec.h"

typedef struct fc_keeper_t {
  // Is asked by ENCODE with the last bytes of an answer, when all before them are in
  // `sink`. True: the bytes are the end of the answer, and the callee sends them from
  // where they lie; nothing more is written. False: ENCODE writes them to the sink.
  bool (*keep)(void *context, const fc_sink_t *sink, fc_str_t bytes);
  void *context;
} fc_keeper_t;

// From the next ENCODE on, `keeper` is asked; it is borrowed. NULL, the initial value:
// all bytes are written.
void fc_frame_set_keeper(fc_frame_t *frame, const fc_keeper_t *keeper);

#endif  // FARCALL_MARSHAL_KEEPER_H_
