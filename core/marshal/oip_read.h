// SPDX-License-Identifier: Apache-2.0
//
// What decode keeps of a request for encode, and what documents and messages
// share. Private to oip_*.c and message_*.c.
#ifndef FARCALL_MARSHAL_OIP_READ_H_
#define FARCALL_MARSHAL_OIP_READ_H_

#include "marshal/encoder.h"
#include "marshal/inputs.h"
#include "marshal/oip.h"

// How an output is sent if the request has chosen outputs (fc_oip_t.chosen).
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

// Begins a request: its inputs, and frame->oip, which is valid as long as the call.
fc_status_t fc_oip_begin(fc_frame_t *frame, fc_inputs_t *inputs,
                         fc_oip_t **out_oip, fc_error_t *err);
// Does the same as fc_inputs_find, except that a single input may have any name, since
// some clients send no names.
fc_status_t fc_oip_find(const fc_inputs_t *inputs, fc_oip_t *oip, fc_str_t name,
                        uint32_t *out_number, fc_error_t *err);
// fc_oip_choose finds an output that the request names; naming it twice is an error.
// fc_oip_ask marks an output as sent in this form.
fc_status_t fc_oip_choose(const fc_inputs_t *inputs, fc_oip_t *oip,
                          fc_str_t name, uint32_t *out_number, fc_error_t *err);
void fc_oip_ask(fc_oip_t *oip, uint32_t number, uint8_t form);

// One output that is sent. For byte strings only `texts` and the dims of the
// tensor are set.
typedef struct fc_sent_t {
  fc_tensor_t tensor;
  const fc_value_t *texts;
  size_t count;  // of elements
  size_t size;   // in bytes, if it is sent raw
  bool raw;
} fc_sent_t;

typedef struct fc_oip_answer_t {
  fc_encoder_t encoder;
  const fc_oip_t *oip;
  fc_sent_t *sent;  // by place in the answer
  uint32_t count;
} fc_oip_answer_t;

// Begins an answer, with room for each output that is sent.
fc_status_t fc_oip_answer_begin(fc_oip_answer_t *answer, fc_frame_t *frame,
                                fc_sink_t *sink, fc_error_t *err);
// The number of the output at this place of the answer.
static inline uint32_t fc_oip_output_at(const fc_oip_answer_t *answer,
                                        uint32_t place) {
  return answer->oip->chosen ? answer->oip->order[place] : place;
}
// The warning of an answer whose only input came under another name.
#define FC_OIP_WARNING 240
fc_str_t fc_oip_print_warning(const fc_oip_t *oip, char out[FC_OIP_WARNING]);
// Finds and checks the value of an output, and finds the name of its type.
fc_status_t fc_oip_find_output(fc_oip_answer_t *answer, uint32_t number,
                               fc_sent_t *sent, const char **out_datatype,
                               fc_error_t *err);
// Writes the bytes of an output. `last`: nothing follows them.
fc_status_t fc_oip_write_raw(fc_oip_answer_t *answer, const fc_sent_t *sent,
                             bool last, fc_error_t *err);

#endif  // FARCALL_MARSHAL_OIP_READ_H_
