// SPDX-License-Identifier: Apache-2.0
//
// The readers and writers of the function metadata that IREE has used since 2019: V1
// (`iree.abi`), SIP (`sip`) and SIP's raw companion (`f`). Every reader fills a builder
// (type.h). A reader that refuses a text fails with FC_CODE_ABI_METADATA, which says
// the reason and, if one place of the text is wrong, its byte offset. A writer fails
// with FC_CODE_UNSUPPORTED_TYPE for a type that its text cannot express. The texts come
// from module files and are not trusted. Any thread.
//
// Grammars: docs/abi.md. SIP and raw follow iree/base/signature_parser and
// signature_mangle of IREE 2019-2021, V1 follows SavedModelToIreeABI and
// iree/runtime/function.py. Where IREE's code accepts a text that makes no sense, these
// readers refuse it.
#ifndef FARCALL_ABI_H_
#define FARCALL_ABI_H_

#include "farcall/type.h"

#if defined(__cplusplus)
extern "C" {
#endif
FC_PUBLIC_BEGIN

// The numbers of values in the flat call, if the caller knows them from a better source
// than the text.
#define FC_COUNT_UNKNOWN (-1)
typedef struct fc_raw_counts_t {
  int32_t arguments;  // FC_COUNT_UNKNOWN: the text's count is used
  int32_t results;
} fc_raw_counts_t;

// ---------------------------------------------------------------------------
// V1: {"a":[…],"r":[…],"v":1}

// A single slist, stuple or sdict result is taken as inlined: its children are the raw
// results. It is not, if `counts` says that the function returns one value and the record
// has another number of children. The parse fails if the counts agree with neither form.
fc_status_t fc_v1_parse(fc_str_t text, fc_raw_counts_t counts,
                        fc_builder_t *builder, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_v1_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                         fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// SIP: I<len>!… R<len>!…

typedef enum fc_sip_side_t { FC_SIP_INPUTS, FC_SIP_RESULTS } fc_sip_side_t;

typedef enum fc_sip_key_kind_t {
  FC_SIP_KEY_NONE,  // the root
  FC_SIP_KEY_INDEX,
  FC_SIP_KEY_NAME,
} fc_sip_key_kind_t;

typedef struct fc_sip_key_t {
  fc_sip_key_kind_t kind;
  int32_t index;
  fc_str_t name;  // of FC_SIP_KEY_NAME: any bytes
} fc_sip_key_t;

// Called in document order. A non-OK status stops the walk and is returned.
typedef struct fc_sip_visitor_t {
  void *context;
  fc_status_t (*leaf)(void *context, fc_sip_key_t key, int32_t raw_index);
  fc_status_t (*begin)(void *context, fc_sip_key_t key, bool is_dict);
  fc_status_t (*end)(void *context, bool is_dict);
} fc_sip_visitor_t;

// Walks one side of a signature. The whole text is checked first, so a visitor
// only ever sees a valid tree.
fc_status_t fc_sip_visit(fc_str_t text, fc_sip_side_t side,
                         const fc_sip_visitor_t *visitor,
                         fc_error_t *err) FC_MUST_CHECK;
// Writes one side as indented text, as IREE itself prints it: "=raw(0),\n".
fc_status_t fc_sip_print_text(fc_str_t text, fc_sip_side_t side,
                              fc_sink_t *sink, fc_error_t *err) FC_MUST_CHECK;

// Parses a whole signature. `raw` is the text of attribute `f`, which has the types of
// the leaves. If `raw` is empty, the leaves are UNKNOWN.
fc_status_t fc_sip_parse(fc_str_t text, fc_str_t raw, fc_raw_counts_t counts,
                         fc_builder_t *builder, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_sip_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                          fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// Raw: the flat types beside SIP, attribute `f`

fc_status_t fc_raw_parse(fc_str_t text, fc_builder_t *builder,
                         fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_raw_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                          fc_error_t *err) FC_MUST_CHECK;
// Writes text such as `(Buffer<float32[?x128]>, sint32) -> (RefObject<?>)`.
fc_status_t fc_raw_print_text(fc_str_t text, fc_sink_t *sink,
                              fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// The canonical JSON read back (what fc_signature_print_json writes)

// An error has a byte offset only if the text is not JSON; other errors name the member.
fc_status_t fc_signature_parse_json(fc_str_t text, fc_builder_t *builder,
                                    fc_error_t *err) FC_MUST_CHECK;

FC_PUBLIC_END
#if defined(__cplusplus)
}
#endif
#endif  // FARCALL_ABI_H_
