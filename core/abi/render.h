// SPDX-License-Identifier: Apache-2.0
//
// Writes other forms of a finished signature, for people and tools: MLIR, a JSON
// Schema of the call document, an example of a call document. They are made on demand;
// any thread. Memory comes from the signature's allocator.
#ifndef FARCALL_ABI_RENDER_H_
#define FARCALL_ABI_RENDER_H_

#include "farcall/type.h"

#define FC_EXAMPLE_SIZE_MAX (64U << 20)

// Writes `func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32>`. mlir-opt
// reads it with --allow-unregistered-dialect: a type that MLIR lacks is
// !farcall.…
fc_status_t fc_signature_print_mlir(const fc_signature_t *signature,
                                    fc_sink_t *sink, fc_error_t *err);

// Writes a JSON Schema 2020-12 of the call document, with every form that the decoder
// accepts outside a session. "$defs" has "argument0" and so on, and "answer", the
// document of a response 200.
fc_status_t fc_signature_print_schema(const fc_signature_t *signature,
                                      fc_sink_t *sink, fc_error_t *err);

// Writes schemas of the call, its arguments and its answer as members of an OpenAPI
// document's "components/schemas": PREFIXcall, PREFIXargument0 and so on, PREFIXanswer
// and some more, with commas between them. They refer to a member "Options", which has
// the call's options. The schema of the call has two forms: all arguments by position,
// or all by name; it has no mix of both.
fc_status_t fc_signature_print_components(const fc_signature_t *signature,
                                          fc_str_t prefix, fc_sink_t *sink,
                                          fc_error_t *err);
// fc_signature_print_options writes the schema of the options of a call.
// fc_signature_print_stored writes two schemas of {"ref":NAME}: as an argument and as a
// result. They are written with the names that they have among the components.
fc_status_t fc_signature_print_options(fc_sink_t *sink, fc_error_t *err);
fc_status_t fc_signature_print_stored(fc_sink_t *sink, fc_error_t *err);

// Writes a call document that the decoder accepts. Elements are 0 (1 where the type has
// no 0). Dims that have sizes are as in the first row; other dynamic dims are 1, or 0
// where 1 is not possible. Lists have one element. FC_CODE_RESULT_TOO_LARGE above
// FC_EXAMPLE_SIZE_MAX bytes.
fc_status_t fc_signature_print_example(const fc_signature_t *signature,
                                       fc_sink_t *sink, fc_error_t *err);
// Does the same as fc_signature_print_example, with the limit `most` in bytes. If the
// document is larger, nothing is written, and finding this out takes no longer than
// writing `most` bytes.
fc_status_t fc_signature_print_example_below(const fc_signature_t *signature,
                                             size_t most, fc_sink_t *sink,
                                             fc_error_t *err);

#endif  // FARCALL_ABI_RENDER_H_
