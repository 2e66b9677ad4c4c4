// SPDX-License-Identifier: Apache-2.0
//
// The call document of a function as JSON Schema 2020-12.
#include <stdio.h>

#include "abi/print.h"
#include "abi/render.h"
#include "abi/walk.h"
#include "json/writer.h"

// All mixes of positional and keyword arguments are written out up to here.
enum { MIX_MAX = 4 };

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t put_count(fc_sink_t *sink, const char *before,
                             uint64_t count, fc_error_t *err) {
  FC_TRY(put(sink, before, err));
  return fc_json_write_u64(sink, count, err);
}

// ---------------------------------------------------------------------------
// Values

// The greatest finite number of a float type; NULL where JSON numbers have no
// bound of their own.
static const char *float_limit(fc_dtype_t dtype) {
  switch (dtype) {
    case FC_DTYPE_F16:
      return "65504";
    case FC_DTYPE_BF16:
      return "3.3895313892515355e+38";
    case FC_DTYPE_F32:
      return "3.4028234663852886e+38";
    case FC_DTYPE_F8E5M2:
    case FC_DTYPE_F8E5M2FNUZ:
      return "57344";
    case FC_DTYPE_F8E4M3FN:
      return "448";
    case FC_DTYPE_F8E4M3FNUZ:
      return "240";
    default:
      return NULL;
  }
}

static fc_status_t put_float(fc_sink_t *sink, fc_dtype_t dtype,
                             fc_error_t *err) {
  // What has no infinity is NaN alone.
  bool finite = dtype == FC_DTYPE_F8E4M3FN || dtype == FC_DTYPE_F8E4M3FNUZ ||
                dtype == FC_DTYPE_F8E5M2FNUZ || dtype == FC_DTYPE_F8E8M0FNU;
  const char *limit = float_limit(dtype);
  FC_TRY(put(sink, "{\"anyOf\":[{\"type\":\"number\"", err));
  if (dtype == FC_DTYPE_F8E8M0FNU) {
    FC_TRY(put(sink, ",\"exclusiveMinimum\":0", err));
  }
  if (limit) {
    FC_TRY(put(sink, ",\"minimum\":-", err));
    FC_TRY(put(sink, limit, err));
    FC_TRY(put(sink, ",\"maximum\":", err));
    FC_TRY(put(sink, limit, err));
  }
  return put(sink,
             finite ? "},{\"enum\":[\"NaN\"]}]}"
                    : "},{\"enum\":[\"NaN\",\"Infinity\",\"-Infinity\"]}]}",
             err);
}

// With `either`, of a sign nobody said.
static fc_status_t put_integer(fc_sink_t *sink, const fc_dtype_info_t *info,
                               bool either, fc_error_t *err) {
  bool is_unsigned = info->class_ == FC_DTYPE_CLASS_UINT;
  uint64_t low = UINT64_MAX >> (65 - info->bits);
  uint64_t max = is_unsigned || either ? UINT64_MAX >> (64 - info->bits) : low;
  FC_TRY(put(sink, "{\"type\":\"integer\",\"minimum\":", err));
  FC_TRY(fc_json_write_i64(sink, is_unsigned ? 0 : -(int64_t)low - 1, err));
  FC_TRY(put_count(sink, ",\"maximum\":", max, err));
  return put(sink, "}", err);
}

static fc_status_t put_element(fc_sink_t *sink, fc_dtype_t dtype, bool either,
                               fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  switch (info->class_) {
    case FC_DTYPE_CLASS_BOOL:
      return put(sink, "{\"enum\":[false,true,0,1]}", err);
    case FC_DTYPE_CLASS_FLOAT:
      return put_float(sink, dtype, err);
    case FC_DTYPE_CLASS_COMPLEX: {
      fc_dtype_t part = dtype == FC_DTYPE_C64 ? FC_DTYPE_F32 : FC_DTYPE_F64;
      FC_TRY(put(sink, "{\"type\":\"array\",\"prefixItems\":[", err));
      FC_TRY(put_float(sink, part, err));
      FC_TRY(put(sink, ",", err));
      FC_TRY(put_float(sink, part, err));
      return put(sink, "],\"items\":false,\"minItems\":2}", err);
    }
    case FC_DTYPE_CLASS_NONE:
      return put(sink, "{}", err);
    default:
      return put_integer(sink, info,
                         either && info->class_ == FC_DTYPE_CLASS_INT, err);
  }
}

// The arrays around an element, up to where it stands.
static fc_status_t put_arrays(const fc_signature_t *signature,
                              const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  const int64_t *dims = fc_signature_dims(signature, type);
  for (int32_t i = 0; i < type->rank; i++) {
    FC_TRY(put(sink, "{\"type\":\"array\",", err));
    if (dims[i] >= 0) {
      FC_TRY(put_count(sink, "\"minItems\":", (uint64_t)dims[i], err));
      FC_TRY(put_count(sink, ",\"maxItems\":", (uint64_t)dims[i], err));
      FC_TRY(put(sink, ",", err));
    }
    FC_TRY(put(sink, "\"items\":", err));
  }
  return FC_OK;
}

static fc_status_t put_braces(fc_sink_t *sink, int32_t count, fc_error_t *err) {
  for (int32_t i = 0; i < count; i++) FC_TRY(put(sink, "}", err));
  return FC_OK;
}

static fc_status_t put_tensor(const fc_signature_t *signature,
                              const fc_type_t *type, fc_sink_t *sink,
                              fc_error_t *err) {
  fc_dtype_t dtype = (fc_dtype_t)type->dtype;
  bool either = signature->source == FC_SOURCE_INFERRED;
  if (dtype == FC_DTYPE_NONE) {
    return put(sink, "{\"type\":\"object\",\"required\":[\"dtype\",\"shape\"]}",
               err);
  }
  if (type->rank < 0) {
    FC_TRY(put(sink, "{\"anyOf\":[{\"type\":\"array\"},", err));
    FC_TRY(put_element(sink, dtype, either, err));
    return put(sink, "]}", err);
  }
  FC_TRY(put_arrays(signature, type, sink, err));
  FC_TRY(put_element(sink, dtype, either, err));
  return put_braces(sink, type->rank, err);
}

// A value that says what it is.
static const char kUnknown[] =
    "{\"anyOf\":[{\"type\":\"null\"},"
    "{\"type\":\"object\",\"properties\":{\"dtype\":{\"type\":\"string\"},"
    "\"shape\":{\"type\":\"array\",\"items\":{\"type\":\"integer\","
    "\"minimum\":0}},\"data\":{},\"b64\":{\"type\":\"string\","
    "\"contentEncoding\":\"base64\"}},\"required\":[\"dtype\"],"
    "\"additionalProperties\":false},"
    "{\"type\":\"object\",\"properties\":{\"list\":{\"type\":\"array\"}},"
    "\"required\":[\"list\"],\"additionalProperties\":false},"
    "{\"type\":\"object\",\"properties\":{\"bytes\":{}},"
    "\"required\":[\"bytes\"],\"additionalProperties\":false}]}";

static const char kBytes[] =
    "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"properties\":{"
    "\"b64\":{\"type\":\"string\",\"contentEncoding\":\"base64\"}},"
    "\"required\":[\"b64\"],\"additionalProperties\":false}]}";

static fc_status_t put_open(const fc_signature_t *signature,
                            const fc_type_t *type, fc_sink_t *sink,
                            fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return put_element(sink, (fc_dtype_t)type->dtype, false, err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return put_tensor(signature, type, sink, err);
    case FC_TYPE_BYTES:
      return put(sink, kBytes, err);
    case FC_TYPE_LIST:
      return put(sink, "{\"type\":\"array\",\"items\":", err);
    case FC_TYPE_TUPLE:
      // An empty prefixItems is not allowed.
      return put(sink,
                 type->child_count ? "{\"type\":\"array\",\"prefixItems\":["
                                   : "{\"type\":\"array\"",
                 err);
    case FC_TYPE_DICT:
      return put(sink, "{\"type\":\"object\",\"properties\":{", err);
    case FC_TYPE_REFARRAY:
      return put_arrays(signature, type, sink, err);
    case FC_TYPE_UNKNOWN:
      return put(sink, kUnknown, err);
    default:
      return put(sink, "{\"type\":\"null\"}", err);
  }
}

static fc_status_t put_required(const fc_signature_t *signature,
                                const fc_type_t *dict, fc_sink_t *sink,
                                fc_error_t *err) {
  FC_TRY(put(sink, "},\"required\":[", err));
  for (uint32_t i = dict->child; i != FC_NODE_NONE;) {
    const fc_type_t *child = fc_signature_node(signature, i);
    if (i != dict->child) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_string(sink, fc_signature_text(signature, child->key),
                                err));
    i = child->next;
  }
  return put(sink, "],\"additionalProperties\":false}", err);
}

static fc_status_t put_close(const fc_signature_t *signature,
                             const fc_type_t *type, fc_sink_t *sink,
                             fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_DICT:
      return put_required(signature, type, sink, err);
    case FC_TYPE_TUPLE:
      FC_TRY(put(sink, type->child_count ? "]" : "", err));
      FC_TRY(put_count(
          sink, ",\"items\":false,\"minItems\":", type->child_count, err));
      return put(sink, "}", err);
    case FC_TYPE_REFARRAY:
      return put_braces(sink, type->rank, err);
    default:
      return put(sink, "}", err);
  }
}

static fc_status_t put_value(const fc_signature_t *signature, uint32_t node,
                             fc_sink_t *sink, fc_error_t *err) {
  fc_walk_t walk;
  fc_walk_init(&walk, signature->nodes, node);
  while (fc_walk_next(&walk)) {
    if (walk.leave) {
      FC_TRY(put_close(signature, walk.type, sink, err));
      continue;
    }
    if (walk.index) FC_TRY(put(sink, ",", err));
    if (walk.parent && walk.parent->kind == FC_TYPE_DICT) {
      FC_TRY(fc_json_write_string(
          sink, fc_signature_text(signature, walk.type->key), err));
      FC_TRY(put(sink, ":", err));
    }
    FC_TRY(put_open(signature, walk.type, sink, err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Arguments

// How the arguments a client sends may be given.
typedef struct sent_t {
  uint32_t count;
  uint32_t positional;  // the first ones must be given by place
  bool places;          // any may be
} sent_t;

static sent_t count_sent(const fc_signature_t *signature) {
  const fc_type_t *root = fc_signature_root(signature);
  sent_t sent = {.places = !root || root->kind != FC_TYPE_DICT};
  fc_argument_t at = {0};
  while (fc_argument_next(signature, &at)) {
    if (!fc_param_is_sent(&at.param)) continue;
    sent.count++;
    bool named = at.param.keyword && (root || at.param.name.size);
    if (!named) sent.positional = sent.count;
  }
  return sent;
}

// The arguments given by place, `count` of them: "args", or the bare array.
static fc_status_t put_places(const fc_signature_t *signature, uint32_t count,
                              fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put(sink, "{\"type\":\"array\"", err));
  fc_argument_t at = {0};
  for (uint32_t i = 0; i < count && fc_argument_next(signature, &at);) {
    if (!fc_param_is_sent(&at.param)) continue;
    FC_TRY(put(sink, i++ ? "," : ",\"prefixItems\":[", err));
    FC_TRY(put_value(signature, at.param.type, sink, err));
  }
  FC_TRY(put_count(sink,
                   count ? "],\"items\":false,\"minItems\":"
                         : ",\"items\":false,\"minItems\":",
                   count, err));
  return put(sink, "}", err);
}

// "kwargs": the arguments from the one at `first` on.
static fc_status_t put_names(const fc_signature_t *signature, uint32_t first,
                             fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(put(sink, "{\"type\":\"object\",\"properties\":{", err));
  for (int pass = 0; pass < 2; pass++) {
    if (pass) FC_TRY(put(sink, "},\"required\":[", err));
    fc_argument_t at = {0};
    bool any = false;
    for (uint32_t i = 0; fc_argument_next(signature, &at);) {
      if (!fc_param_is_sent(&at.param) || i++ < first) continue;
      if (any) FC_TRY(put(sink, ",", err));
      any = true;
      FC_TRY(fc_json_write_string(
          sink, fc_signature_text(signature, at.param.name), err));
      if (pass) continue;
      FC_TRY(put(sink, ":", err));
      FC_TRY(put_value(signature, at.param.type, sink, err));
    }
  }
  return put(sink, "],\"additionalProperties\":false}", err);
}

// The object with the first `places` arguments in "args", the others in
// "kwargs". Empty containers may be left out.
static fc_status_t put_object(const fc_signature_t *signature,
                              const sent_t *sent, uint32_t places,
                              fc_sink_t *sink, fc_error_t *err) {
  static const char kOptions[] =
      ",\"options\":{\"type\":\"object\",\"properties\":{"
      "\"int64\":{\"const\":\"string\"},\"results\":{\"const\":\"typed\"}},"
      "\"additionalProperties\":false}},\"required\":[";
  FC_TRY(put(sink, "{\"type\":\"object\",\"properties\":{\"args\":", err));
  FC_TRY(put_places(signature, places, sink, err));
  FC_TRY(put(sink, ",\"kwargs\":", err));
  FC_TRY(put_names(signature, places, sink, err));
  FC_TRY(put(sink, kOptions, err));
  bool names = places < sent->count;
  if (places) FC_TRY(put(sink, "\"args\"", err));
  if (places && names) FC_TRY(put(sink, ",", err));
  if (names) FC_TRY(put(sink, "\"kwargs\"", err));
  return put(sink, "],\"additionalProperties\":false}", err);
}

fc_status_t fc_signature_print_schema(const fc_signature_t *signature,
                                      fc_sink_t *sink, fc_error_t *err) {
  sent_t sent = count_sent(signature);
  FC_TRY(put(sink,
             "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
             "\"title\":",
             err));
  FC_TRY(fc_json_write_string(
      sink, fc_signature_text(signature, signature->name), err));
  FC_TRY(put(sink, ",\"anyOf\":[", err));
  if (sent.places) {
    FC_TRY(put_places(signature, sent.count, sink, err));
    FC_TRY(put(sink, ",", err));
  }
  // From all by place to as many by name as can be.
  uint32_t least = sent.places ? sent.positional : 0;
  uint32_t places = sent.places ? sent.count : 0;
  for (;;) {
    FC_TRY(put_object(signature, &sent, places, sink, err));
    if (places == least) break;
    places = sent.count > MIX_MAX ? least : places - 1;
    FC_TRY(put(sink, ",", err));
  }
  return put(sink, "]}", err);
}
