// SPDX-License-Identifier: Apache-2.0
//
// The raw function ABI of 2019-2021 (attribute `f`): flat items, each a buffer
// with element type and dims, a scalar, or an opaque reference.
//   sig  := I(item*) R(item*)
//   item := 'B'(t? d*) | 'S'(t?) | 'O'() | 'U'()
// `t` and `d` come in any order and the last `t` counts, as in IREE. IREE writes
// 'U' but refuses to read it; here 'U' reads as unknown. Any thread.
#include "abi/sip.h"
#include "abi/span.h"
#include "json/writer.h"

typedef struct scalar_code_t {
  fc_dtype_t dtype;
  const char *text;
} scalar_code_t;

// The index in this table is the number after 't'.
static const scalar_code_t kScalars[] = {
    {FC_DTYPE_F32, "float32"}, {FC_DTYPE_F16, "float16"},
    {FC_DTYPE_F64, "float64"}, {FC_DTYPE_BF16, "bfloat16"},
    {FC_DTYPE_SI8, "sint8"},   {FC_DTYPE_SI16, "sint16"},
    {FC_DTYPE_SI32, "sint32"}, {FC_DTYPE_SI64, "sint64"},
    {FC_DTYPE_UI8, "uint8"},   {FC_DTYPE_UI16, "uint16"},
    {FC_DTYPE_UI32, "uint32"}, {FC_DTYPE_UI64, "uint64"},
};

typedef struct raw_item_t {
  char tag;
  size_t code;  // into kScalars
  int32_t rank;
  int64_t dims[FC_RANK_MAX];
} raw_item_t;

static fc_status_t read_dim(const fc_field_t *field, raw_item_t *item,
                            fc_error_t *err) {
  if (item->rank == FC_RANK_MAX) {
    return fc_abi_fail(err, field->offset, "buffer has more than %d dims",
                       FC_RANK_MAX);
  }
  item->dims[item->rank++] = field->number < 0 ? FC_DIM_DYNAMIC : field->number;
  return FC_OK;
}

static fc_status_t read_member(const fc_field_t *field, raw_item_t *item,
                               fc_error_t *err) {
  if (field->tag == 't' && (item->tag == 'B' || item->tag == 'S')) {
    if ((size_t)field->number >= FC_ARRAY_COUNT(kScalars)) {
      return fc_abi_fail(err, field->offset, "scalar type code %d is unknown",
                         (int)field->number);
    }
    item->code = (size_t)field->number;
    return FC_OK;
  }
  if (field->tag == 'd' && item->tag == 'B') return read_dim(field, item, err);
  return fc_abi_fail(err, field->offset, "field '%c' is not for a '%c' item",
                     field->tag, item->tag);
}

static fc_status_t read_item(fc_span_reader_t *side, raw_item_t *item,
                             fc_error_t *err) {
  fc_field_t field;
  FC_TRY(fc_span_next(side, &field, err));
  if (!field.is_span || !strchr("BSOU", field.tag)) {
    return fc_abi_fail(err, field.offset, "item tag '%c' is unknown",
                       field.tag);
  }
  item->tag = field.tag;
  item->code = 0;
  item->rank = 0;
  fc_span_reader_t members = fc_field_reader(side, &field);
  while (members.at < members.end) {
    FC_TRY(fc_span_next(&members, &field, err));
    FC_TRY(read_member(&field, item, err));
  }
  return FC_OK;
}

static uint32_t build_item(fc_builder_t *builder, const raw_item_t *item,
                           int32_t raw_index) {
  uint32_t node = FC_NODE_NONE;
  switch (item->tag) {
    case 'B':
      node = fc_builder_tensor(builder, kScalars[item->code].dtype, item->rank,
                               item->dims);
      break;
    case 'S':
      node = fc_builder_scalar(builder, kScalars[item->code].dtype);
      break;
    case 'O':
      node = fc_builder_opaque(builder, FC_STR("?"));
      break;
    default:
      node = fc_builder_node(builder, FC_TYPE_UNKNOWN);
      break;
  }
  fc_type_t *type = fc_builder_at(builder, node);
  if (type) type->raw_index = raw_index;
  return node;
}

static fc_status_t build_side(fc_builder_t *builder, fc_span_reader_t side,
                              fc_raw_nodes_t *out_nodes, fc_error_t *err) {
  fc_raw_nodes_t nodes = {FC_NODE_NONE, 0};
  for (; side.at < side.end; nodes.count++) {
    raw_item_t item;
    FC_TRY(read_item(&side, &item, err));
    uint32_t node = build_item(builder, &item, (int32_t)nodes.count);
    if (nodes.count == 0) nodes.first = node;
  }
  *out_nodes = nodes;
  return FC_OK;
}

fc_status_t fc_raw_build_nodes(fc_str_t text, fc_builder_t *builder,
                               fc_raw_nodes_t *out_arguments,
                               fc_raw_nodes_t *out_results, fc_error_t *err) {
  fc_field_t inputs, results;
  FC_TRY(fc_span_open(text, &inputs, &results, err));
  const fc_span_reader_t whole = {text.data, 0, text.size};
  FC_TRY(build_side(builder, fc_field_reader(&whole, &inputs), out_arguments,
                    err));
  return build_side(builder, fc_field_reader(&whole, &results), out_results,
                    err);
}

fc_status_t fc_raw_parse(fc_str_t text, fc_builder_t *builder,
                         fc_error_t *err) {
  fc_raw_nodes_t arguments, results;
  FC_TRY(fc_raw_build_nodes(text, builder, &arguments, &results, err));
  for (uint32_t i = 0; i < arguments.count; i++) {
    fc_builder_argument(builder, FC_STR(""), arguments.first + i, FC_ROLE_IN,
                        false, (int32_t)i);
  }
  for (uint32_t i = 0; i < results.count; i++) {
    fc_builder_result(builder, FC_STR(""), results.first + i, (int32_t)i);
  }
  fc_builder_source(builder, FC_SOURCE_RAW);
  fc_builder_raw_counts(builder, arguments.count, results.count);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Writing

// Returns the type that compilers wrote for an integer without a sign, an index or a
// boolean: the signed type of the same width; for a boolean, the one of 8 bits.
static fc_dtype_t with_sign(fc_dtype_t dtype) {
  switch (dtype) {
    case FC_DTYPE_I1:
    case FC_DTYPE_I8:
      return FC_DTYPE_SI8;
    case FC_DTYPE_I16:
      return FC_DTYPE_SI16;
    case FC_DTYPE_I32:
      return FC_DTYPE_SI32;
    case FC_DTYPE_I64:
    case FC_DTYPE_INDEX:
      return FC_DTYPE_SI64;
    default:
      return dtype;
  }
}

static fc_status_t item_of(const fc_signature_t *signature, uint32_t node,
                           raw_item_t *item, fc_error_t *err) {
  const fc_type_t *type = fc_signature_node(signature, node);
  *item = (raw_item_t){.tag = 'U'};
  if (type->kind == FC_TYPE_OPAQUE) item->tag = 'O';
  if (type->kind != FC_TYPE_SCALAR && type->kind != FC_TYPE_TENSOR) {
    if (type->kind == FC_TYPE_OPAQUE || type->kind == FC_TYPE_UNKNOWN) {
      return FC_OK;
    }
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "the raw ABI has no item for a compound type");
  }
  size_t code = 0;
  const fc_dtype_t dtype = with_sign((fc_dtype_t)type->dtype);
  while (code < FC_ARRAY_COUNT(kScalars) && kScalars[code].dtype != dtype) {
    code++;
  }
  if (code == FC_ARRAY_COUNT(kScalars)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "the raw ABI has no code for %s",
                   fc_dtype_info((fc_dtype_t)type->dtype)->text);
  }
  item->tag = type->kind == FC_TYPE_SCALAR ? 'S' : 'B';
  item->code = code;
  if (item->tag == 'S') return FC_OK;
  if (type->rank < 0 || type->rank > FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "the raw ABI has no unranked buffer");
  }
  item->rank = type->rank;
  const int64_t *dims = fc_signature_dims(signature, type);
  for (int32_t i = 0; i < type->rank; i++) {
    if (dims[i] > INT32_MAX) {
      return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                     "the raw ABI has no dim beyond 32 bits");
    }
    item->dims[i] = dims[i] < 0 ? FC_DIM_DYNAMIC : dims[i];
  }
  return FC_OK;
}

static size_t item_content_size(const raw_item_t *item) {
  size_t size = item->code ? 1 + fc_span_digits(item->code) : 0;
  for (int32_t i = 0; i < item->rank; i++) {
    int64_t dim = item->dims[i];
    size += 1 + (dim < 0 ? 2 : fc_span_digits((uint64_t)dim));
  }
  return size;
}

static fc_status_t put_item(const raw_item_t *item, fc_sink_t *sink,
                            fc_error_t *err) {
  FC_TRY(fc_span_put_begin(sink, item->tag, item_content_size(item), err));
  if (item->code) {
    FC_TRY(fc_span_put_number(sink, 't', (int64_t)item->code, err));
  }
  for (int32_t i = 0; i < item->rank; i++) {
    FC_TRY(fc_span_put_number(sink, 'd', item->dims[i], err));
  }
  return FC_OK;
}

static fc_status_t put_side(const fc_signature_t *signature, char tag,
                            const fc_param_t *params, uint32_t count,
                            fc_sink_t *sink, fc_error_t *err) {
  size_t content = 0;
  raw_item_t item;
  for (uint32_t i = 0; i < count; i++) {
    FC_TRY(item_of(signature, params[i].type, &item, err));
    content += fc_span_size(item_content_size(&item));
  }
  FC_TRY(fc_span_put_begin(sink, tag, content, err));
  for (uint32_t i = 0; i < count; i++) {
    FC_TRY(item_of(signature, params[i].type, &item, err));
    FC_TRY(put_item(&item, sink, err));
  }
  return FC_OK;
}

fc_status_t fc_raw_mangle(const fc_signature_t *signature, fc_sink_t *sink,
                          fc_error_t *err) {
  FC_TRY(put_side(signature, 'I', signature->arguments,
                  signature->argument_count, sink, err));
  return put_side(signature, 'R', signature->results, signature->result_count,
                  sink, err);
}

// ---------------------------------------------------------------------------
// Text

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t print_buffer(const raw_item_t *item, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(put(sink, "Buffer<", err));
  FC_TRY(put(sink, kScalars[item->code].text, err));
  FC_TRY(put(sink, "[", err));
  for (int32_t i = 0; i < item->rank; i++) {
    if (i) FC_TRY(put(sink, "x", err));
    if (item->dims[i] < 0) FC_TRY(put(sink, "?", err));
    else FC_TRY(fc_json_write_u64(sink, (uint64_t)item->dims[i], err));
  }
  return put(sink, "]>", err);
}

static fc_status_t print_item(const raw_item_t *item, fc_sink_t *sink,
                              fc_error_t *err) {
  switch (item->tag) {
    case 'B':
      return print_buffer(item, sink, err);
    case 'S':
      return put(sink, kScalars[item->code].text, err);
    case 'O':
      return put(sink, "RefObject<?>", err);
    default:
      return put(sink, "Unrecognized<?>", err);
  }
}

static fc_status_t print_side(fc_span_reader_t side, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(put(sink, "(", err));
  for (bool first = true; side.at < side.end; first = false) {
    raw_item_t item;
    FC_TRY(read_item(&side, &item, err));
    if (!first) FC_TRY(put(sink, ", ", err));
    FC_TRY(print_item(&item, sink, err));
  }
  return put(sink, ")", err);
}

fc_status_t fc_raw_print_text(fc_str_t text, fc_sink_t *sink, fc_error_t *err) {
  fc_field_t inputs, results;
  FC_TRY(fc_span_open(text, &inputs, &results, err));
  const fc_span_reader_t whole = {text.data, 0, text.size};
  FC_TRY(print_side(fc_field_reader(&whole, &inputs), sink, err));
  FC_TRY(put(sink, " -> ", err));
  return print_side(fc_field_reader(&whole, &results), sink, err);
}
