// SPDX-License-Identifier: Apache-2.0
//
// Lets the code that runs a call send bytes of a result from where they lie, so that they
// need not be copied into the answer. Private to the library and its programs.
#ifndef FARCALL_MARSHAL_KEEPER_H_
#define FARCALL_MARSHAL_KEEPER_H_

#include "farcall/codec.h"

typedef struct fc_keeper_t {
  // ENCODE calls `keep` with the last bytes of an answer, when all bytes before them
  // are in `sink`. True: the code that set the keeper sends `bytes` itself, as the end
  // of the answer, and ENCODE writes nothing more. False: ENCODE writes `bytes` to
  // `sink`.
  bool (*keep)(void *context, const fc_sink_t *sink, fc_str_t bytes);
  void *context;
} fc_keeper_t;

// From the next ENCODE on, keeper->keep is called with the end of each answer. The frame
// borrows `keeper`. NULL, the initial value: ENCODE writes all bytes.
void fc_frame_set_keeper(fc_frame_t *frame, const fc_keeper_t *keeper);

#endif  // FARCALL_MARSHAL_KEEPER_H_
