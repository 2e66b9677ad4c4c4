// SPDX-License-Identifier: Apache-2.0
//
// The Open Inference Protocol, /v2. Its clients see functions as models (route.def),
// whose values are named tensors (docs/oip.md).
#ifndef FARCALL_SERVER_DIALECT_OIP_H_
#define FARCALL_SERVER_DIALECT_OIP_H_

#include "dialect/dialect.h"
#include "json/reader.h"
#include "marshal/model.h"

// Reads which sequence a call belongs to from its document (oip_sequence.c).
// FC_CODE_MISSING_KEY, _TYPE_MISMATCH, _OUT_OF_RANGE, and codes of json/reader.h: the
// document has a malformed sequence.
fc_status_t fc_oip_find_sequence(fc_str_t document, fc_sequence_t *out_sequence,
                                 fc_error_t *err) FC_MUST_CHECK;

// Writes the document of a place below /v2.
fc_status_t fc_oip_document(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_document_t *out_document, fc_sink_t *sink,
                            fc_error_t *err);

// The extensions that the metadata of the server lists.
#define FC_OIP_EXTENSIONS                                          \
  "binary_tensor_data", "model_configuration", "model_repository", \
      "parameters", "sequence", "sequence(string_id)", "statistics", "logging"

// Returns the model name for the answer to a call: MODULE.FUNCTION, written to `pair`, or
// only the module's name if the client gave no more.
#define FC_OIP_NAME_MAX (2 * FC_MODULE_NAME_MAX)
fc_str_t fc_oip_model_name(const fc_function_t *function, bool is_alone,
                           char pair[FC_OIP_NAME_MAX]);

// Reads the JSON body of a request that is no call; `members` are its allowed members. An
// empty body is allowed. FC_CODE_JSON_SCHEMA: the body is no object.
fc_status_t fc_oip_read(fc_json_reader_t *reader, fc_str_t body,
                        const fc_json_member_t *members, size_t count,
                        void *context, fc_error_t *err);
// Reads the value of the member `name`: true or false.
fc_status_t fc_oip_read_flag(fc_json_reader_t *reader, const char *name,
                             bool *out_value, fc_error_t *err);

// Returns the HTTP status of an error. 422 becomes 400, because these clients do not know
// 422.
int fc_oip_status(const fc_error_t *error);

// Writes the function's name as a model, as a JSON string.
fc_status_t fc_oip_put_name(const fc_generation_t *generation,
                            const fc_function_t *function, fc_sink_t *sink,
                            fc_error_t *err);

// Writes the configuration of a model. Its function must have a plan.
fc_status_t fc_oip_write_config(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err);
// Triton's max_batch_size: the most rows that one call of a function takes, if the
// first dim of each input and output counts rows. "dims" then leave that dim out. 0: it
// does not count rows, and "dims" have all dims.
int64_t fc_oip_batch_max(const fc_function_t *function,
                         const fc_model_t *model);
// For a function whose fc_oip_batch_max is not 0: does the server compute its calls in
// batches?
bool fc_oip_joins(const fc_generation_t *generation);
// Fails with FC_CODE_UNSUPPORTED_TYPE and the reason if the function cannot be a model.
fc_status_t fc_oip_check_model(const fc_function_t *function, fc_error_t *err);
// Writes the counts and times of a function's calls as one element of "model_stats".
fc_status_t fc_oip_write_statistics(const fc_server_t *server,
                                    const fc_generation_t *generation,
                                    const fc_function_t *function,
                                    fc_sink_t *sink, fc_error_t *err);
// Returns when the last call ended, in milliseconds since 1970; 0: none has ended.
uint64_t fc_oip_last_ms(const fc_server_t *server,
                        const fc_function_counts_t *counts);
// Returns how many executions of the function these calls took. A batch of calls is one
// execution.
uint64_t fc_oip_executions(const fc_function_counts_t *counts);
// Returns how many rows these calls had; a call without rows counts as one.
uint64_t fc_oip_inferences(const fc_function_counts_t *counts);
// Changes the enabled levels of the log as `body` asks ("": no change), then writes the
// settings of the log.
fc_status_t fc_oip_log(const fc_server_t *server, fc_str_t body,
                       fc_sink_t *sink, fc_error_t *err);
// Writes Triton's trace settings. They are always the same, because the server has no
// such traces.
fc_status_t fc_oip_write_trace(fc_sink_t *sink, fc_error_t *err);

// Load and unload (oip_act.c).
fc_str_t fc_oip_act_module(const fc_server_t *server, fc_str_t name);
fc_status_t fc_oip_begin_act(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place, fc_str_t by,
                             fc_act_t **out_act, fc_error_t *err);
fc_status_t fc_oip_read_act(fc_act_t *act, fc_str_t body, fc_error_t *err);
fc_status_t fc_oip_tell_act(const fc_server_t *server, const fc_act_t *act,
                            fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_OIP_H_
