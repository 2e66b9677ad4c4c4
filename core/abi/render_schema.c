// SPDX-License-Identifier: Apache-2.0
//
// Writes a call of a function, and its answer, as JSON Schema 2020-12. The document
// describes the call. "$defs" has the answer, and the schema of each argument, so that
// it is written only once although an argument can be sent in several ways. For OpenAPI
// all of these stand beside each other, among the components of a larger document.
#include "abi/print.h"
#include "abi/render.h"
#include "abi/walk.h"
#include "base/float_format.h"
#include "base/width.h"
#include "json/writer.h"

typedef struct writer_t {
  const fc_signature_t *signature;
  fc_sink_t *sink;
  fc_error_t *err;
  bool answer;      // what is written is about a result
  fc_str_t prefix;  // of the components' names; empty: they are in "$defs"
} writer_t;

// Writes text in the form that fc_json_print reads, in which ' stands for ".
FC_PRINTF(2, 3)
static fc_status_t put(const writer_t *w, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const fc_status_t status = fc_json_vprint(w->sink, w->err, format, args);
  va_end(args);
  return status;
}

static fc_status_t put_text(const writer_t *w, fc_str_t text) {
  return fc_json_write_string(w->sink, text, w->err);
}

static fc_status_t put_count(const writer_t *w, const char *before,
                             uint64_t count) {
  return put(w, "%s%lu", before, count);
}

// Writes the least and the greatest number of elements of an array. After prefixItems
// this says that there are no further elements. "items":false would say the same, but
// not all generators of clients read it.
static fc_status_t put_length(const writer_t *w, uint64_t least,
                              uint64_t most) {
  return put(w, ",'minItems':%lu,'maxItems':%lu", least, most);
}

// ---------------------------------------------------------------------------
// Elements

static fc_status_t put_bounds(const writer_t *w,
                              const fc_float_format_t *format) {
  const bool positive = fc_float_is_positive(format);
  if (!*format->limit) return FC_OK;
  FC_TRY(put(w, positive             ? ",'exclusiveMinimum':0"
                : format->limit_fits ? ",'minimum':-"
                                     : ",'exclusiveMinimum':-"));
  if (!positive) FC_TRY(put(w, "%s", format->limit));
  FC_TRY(put(w, format->limit_fits ? ",'maximum':" : ",'exclusiveMaximum':"));
  return put(w, "%s", format->limit);
}

static fc_status_t put_float(const writer_t *w, fc_dtype_t dtype) {
  const fc_float_format_t *format = &fc_float_formats[dtype];
  FC_TRY(put(w, "{'anyOf':[{'type':'number'"));
  FC_TRY(put_bounds(w, format));
  FC_TRY(put(w, "}"));
  if (format->nan) FC_TRY(put(w, ",{'enum':['NaN'"));
  if (format->infinity) FC_TRY(put(w, ",'Infinity','-Infinity'"));
  return put(w, format->nan ? "]}]}" : "]}");
}

// Writes the range of an integer type. With `either` it is the range of signed and
// unsigned numbers together: for a signature that leaves the sign open, or for a value
// that may state another sign. Integers of more than 53 bits may come as a string.
static fc_status_t put_integer(const writer_t *w, const fc_dtype_info_t *info,
                               bool either) {
  const uint64_t low = fc_width_most(info, true);
  const uint64_t max =
      either ? fc_width_cut(info, UINT64_MAX) : fc_width_most(info, false);
  if (fc_width_is_great(info)) FC_TRY(put(w, "{'anyOf':["));
  return put(w, "{'type':'integer','minimum':%ld,'maximum':%lu%s",
             (int64_t)(0 - low), max,
             fc_width_is_great(info) ? "},{\"type\":\"string\",\"pattern\":"
                                       "\"^-?(0|[1-9][0-9]*)$\"}]}"
                                     : "}");
}

static fc_status_t put_element(const writer_t *w, fc_dtype_t dtype,
                               bool either) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  switch (info->class_) {
    case FC_DTYPE_CLASS_BOOL:
      return put(w, "{'enum':[false,true,0,1]}");
    case FC_DTYPE_CLASS_FLOAT:
      return put_float(w, dtype);
    case FC_DTYPE_CLASS_COMPLEX: {
      FC_TRY(put(w, "{'type':'array','prefixItems':["));
      FC_TRY(put_float(w, info->part));
      FC_TRY(put(w, ","));
      FC_TRY(put_float(w, info->part));
      return put(w, "],'minItems':2,'maxItems':2}");
    }
    case FC_DTYPE_CLASS_NONE:
      return put(w, "{}");
    default:
      return put_integer(w, info, either && info->class_ == FC_DTYPE_CLASS_INT);
  }
}

// ---------------------------------------------------------------------------
// Tensors

// Returns the size of a dim in row `row` of the signature's sizes.
static int64_t size_in(const writer_t *w, int64_t dim, uint32_t row) {
  const fc_signature_t *s = w->signature;
  return s->sizes[row * (size_t)s->dim_name_count + fc_dim_name(dim)];
}

// Finds the least and the largest size that a dim may have. False if the dim may have
// any size or, where rows are batched, any size but 0.
static bool find_bounds(const writer_t *w, int64_t dim, int64_t *out_least,
                        int64_t *out_most) {
  *out_least = *out_most = dim;
  if (dim >= 0) return true;
  if (!fc_dim_is_sized(w->signature, dim)) return false;
  if (fc_signature_batches(w->signature)) return false;
  *out_least = *out_most = size_in(w, dim, 0);
  for (uint32_t i = 1; i < w->signature->size_count; i++) {
    const int64_t size = size_in(w, dim, i);
    if (size < *out_least) *out_least = size;
    if (size > *out_most) *out_most = size;
  }
  return true;
}

// Opens the arrays around an element; put_braces closes them.
static fc_status_t put_arrays(const writer_t *w, const fc_type_t *type) {
  const int64_t *dims = fc_signature_dims(w->signature, type);
  for (int32_t i = 0; i < type->rank; i++) {
    int64_t least, most;
    FC_TRY(put(w, "{'type':'array'"));
    if (find_bounds(w, dims[i], &least, &most)) {
      FC_TRY(put_length(w, (uint64_t)least, (uint64_t)most));
    } else if (fc_dim_is_sized(w->signature, dims[i])) {
      FC_TRY(put(w, ",'minItems':1"));
    }
    FC_TRY(put(w, ",'items':"));
  }
  return FC_OK;
}

static fc_status_t put_braces(const writer_t *w, int32_t count) {
  for (int32_t i = 0; i < count; i++) FC_TRY(put(w, "}"));
  return FC_OK;
}

static fc_status_t put_nested(const writer_t *w, const fc_type_t *type,
                              bool either) {
  fc_dtype_t dtype = (fc_dtype_t)type->dtype;
  if (type->rank < 0) {
    FC_TRY(put(w, "{'anyOf':[{'type':'array'},"));
    FC_TRY(put_element(w, dtype, either));
    return put(w, "]}");
  }
  FC_TRY(put_arrays(w, type));
  FC_TRY(put_element(w, dtype, either));
  return put_braces(w, type->rank);
}

// Writes the names by which an element type is read. In an answer it writes only the
// name that answers have.
static fc_status_t put_names(const writer_t *w, fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  FC_TRY(put_text(w, fc_str(info->text)));
  if (w->answer) return FC_OK;
  if (info->oip[0]) {
    FC_TRY(put(w, ",'%s'", info->oip));
  }
  for (const char *word = info->aliases; *word;) {
    const size_t size = strcspn(word, " ");
    FC_TRY(put(w, ","));
    FC_TRY(put_text(w, fc_str_make(word, size)));
    word += size + (word[size] == ' ');
  }
  return FC_OK;
}

// Writes the names of all element types that are accepted for `dtype`: a signless integer
// accepts the signed and unsigned type of its width, index accepts i64 and si64. For an
// answer it writes only the name of `dtype`.
static fc_status_t put_dtype(const writer_t *w, fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (dtype == FC_DTYPE_NONE) return put(w, "{'type':'string'}");
  FC_TRY(put(w, "{'enum':["));
  FC_TRY(put_names(w, dtype));
  for (unsigned i = 1; i < FC_DTYPE_COUNT && !w->answer; i++) {
    const fc_dtype_info_t *other = fc_dtype_info((fc_dtype_t)i);
    const bool sign = other->class_ == FC_DTYPE_CLASS_SINT ||
                      other->class_ == FC_DTYPE_CLASS_UINT;
    const bool fits = (info->class_ == FC_DTYPE_CLASS_INT && sign &&
                       other->bits == info->bits) ||
                      (info->class_ == FC_DTYPE_CLASS_INDEX &&
                       (i == FC_DTYPE_I64 || i == FC_DTYPE_SI64));
    if (!fits) continue;
    FC_TRY(put(w, ","));
    // NumPy and OIP have one name for the signed type and the signless type; it is
    // already written.
    if (other->class_ == FC_DTYPE_CLASS_UINT) {
      FC_TRY(put_names(w, (fc_dtype_t)i));
    } else {
      FC_TRY(put_text(w, fc_str(other->text)));
    }
  }
  return put(w, "]}");
}

// Writes the sizes of a dim, each once.
static fc_status_t put_sizes(const writer_t *w, int64_t dim) {
  for (uint32_t i = 0; i < w->signature->size_count; i++) {
    const int64_t size = size_in(w, dim, i);
    uint32_t k = 0;
    while (k < i && size_in(w, dim, k) != size) k++;
    if (k == i) FC_TRY(put_count(w, i ? "," : "{\"enum\":[", (uint64_t)size));
  }
  return put(w, "]}");
}

static fc_status_t put_dim(const writer_t *w, int64_t dim) {
  if (fc_dim_is_sized(w->signature, dim)) {
    return fc_signature_batches(w->signature)
               ? put(w, "{'type':'integer','minimum':1}")
               : put_sizes(w, dim);
  }
  if (dim < 0) return put(w, "{'type':'integer','minimum':0}");
  return put(w, "{'const':%lu}", (uint64_t)dim);
}

static fc_status_t put_shape(const writer_t *w, const fc_type_t *type) {
  FC_TRY(put(w, "{'type':'array'"));
  if (type->rank < 0) {
    FC_TRY(put(w, ",'items':"));
    FC_TRY(put_dim(w, FC_DIM_DYNAMIC));
    return put(w, ",'maxItems':%d}", FC_RANK_MAX);
  }
  const int64_t *dims = fc_signature_dims(w->signature, type);
  for (int32_t i = 0; i < type->rank; i++) {
    FC_TRY(put(w, i ? "," : ",'prefixItems':["));
    FC_TRY(put_dim(w, dims[i]));
  }
  FC_TRY(put(w, type->rank ? "]" : ""));
  FC_TRY(put_length(w, (uint64_t)type->rank, (uint64_t)type->rank));
  return put(w, "}");
}

// Writes "data", flat or nested. The dtype that a client states may have
// another sign than the declared one.
static fc_status_t put_data(const writer_t *w, const fc_type_t *type) {
  const fc_dtype_t dtype = (fc_dtype_t)type->dtype;
  if (dtype == FC_DTYPE_NONE) return put(w, "{}");
  FC_TRY(put(w, "{'anyOf':[{'type':'array','items':"));
  FC_TRY(put_element(w, dtype, true));
  FC_TRY(put(w, "},"));
  FC_TRY(put_nested(w, type, true));
  return put(w, "]}");
}

static const char kB64[] =
    "{\"type\":\"string\",\"contentEncoding\":\"base64\"}";

static fc_status_t put_typed(const writer_t *w, const fc_type_t *type) {
  const bool typed = type->dtype != FC_DTYPE_NONE;
  FC_TRY(put(w, "{'type':'object','properties':{'dtype':"));
  FC_TRY(put_dtype(w, (fc_dtype_t)type->dtype));
  FC_TRY(put(w, ",'shape':"));
  FC_TRY(put_shape(w, type));
  FC_TRY(put(w, ",'data':"));
  FC_TRY(put_data(w, type));
  return put(w,
             ",'b64':%s},'required':[%s'shape'],'oneOf':[{'required':['data']},"
             "{'required':['b64']}],'additionalProperties':false}",
             kB64, typed ? "" : "\"dtype\",");
}

static fc_status_t put_tensor(const writer_t *w, const fc_type_t *type) {
  // A result without a declared element type is written as it comes, nested or typed.
  if (type->dtype == FC_DTYPE_NONE) {
    return w->answer ? put(w, "{}") : put_typed(w, type);
  }
  FC_TRY(put(w, "{'anyOf':["));
  FC_TRY(put_nested(w, type, w->signature->source == FC_SOURCE_INFERRED));
  FC_TRY(put(w, ","));
  FC_TRY(put_typed(w, type));
  return put(w, "]}");
}

// ---------------------------------------------------------------------------
// Values

// A value whose type is not declared: the value itself says its type.
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

static fc_status_t put_bytes(const writer_t *w, const fc_type_t *type) {
  FC_TRY(put(w, "{'anyOf':[{'type':'string'},"));
  if (type->flavor == FC_FLAVOR_I8 && !w->answer) {
    FC_TRY(put(w, "{'type':'array','items':{'type':'integer','minimum':-128,"
                  "'maximum':255}},"));
  }
  return put(w,
             "{'type':'object','properties':{'b64':%s},'required':['b64'],"
             "'additionalProperties':false}]}",
             kB64);
}

static fc_status_t put_open(const writer_t *w, const fc_type_t *type) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
      return put_element(w, (fc_dtype_t)type->dtype, false);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return put_tensor(w, type);
    case FC_TYPE_BYTES:
      return put_bytes(w, type);
    case FC_TYPE_LIST:
      return put(w, "{'type':'array','items':");
    case FC_TYPE_TUPLE:
      // An empty prefixItems is not allowed.
      return put(w, type->child_count ? "{'type':'array','prefixItems':["
                                      : "{'type':'array'");
    case FC_TYPE_DICT:
      return put(w, "{'type':'object','properties':{");
    case FC_TYPE_REFARRAY:
      return put_arrays(w, type);
    case FC_TYPE_UNKNOWN:
      // A result without a declared type is written as it comes.
      return put(w, w->answer ? "{}" : kUnknown);
    case FC_TYPE_OPAQUE:
      return put(w, "{'type':'null'}");
    default:
      return put(w, w->answer ? "{}" : "{'type':'null'}");
  }
}

static fc_status_t put_child_names(const writer_t *w, const fc_type_t *dict) {
  for (uint32_t i = dict->child; i != FC_NODE_NONE;) {
    const fc_type_t *child = fc_signature_node(w->signature, i);
    if (i != dict->child) FC_TRY(put(w, ","));
    FC_TRY(put_text(w, fc_signature_text(w->signature, child->key)));
    i = child->next;
  }
  return FC_OK;
}

static fc_status_t put_required(const writer_t *w, const fc_type_t *dict) {
  FC_TRY(put(w, "},'required':["));
  FC_TRY(put_child_names(w, dict));
  return put(w, "],'additionalProperties':false}");
}

static fc_status_t put_close(const writer_t *w, const fc_type_t *type) {
  switch (type->kind) {
    case FC_TYPE_DICT:
      return put_required(w, type);
    case FC_TYPE_TUPLE:
      FC_TRY(put(w, type->child_count ? "]" : ""));
      FC_TRY(put_length(w, type->child_count, type->child_count));
      return put(w, "}");
    case FC_TYPE_REFARRAY:
      return put_braces(w, type->rank);
    default:
      return put(w, "}");
  }
}

// True when a value of a session may be used as this argument or part, or when this
// result may be kept in the session.
static bool may_be_stored(const writer_t *w, const fc_walk_t *walk) {
  switch (walk->type->kind) {
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
    case FC_TYPE_SCALAR:
    case FC_TYPE_LIST:
    case FC_TYPE_OPAQUE:
      return !w->answer || !walk->parent;
    case FC_TYPE_BYTES:
      return w->answer ? !walk->parent : walk->type->flavor != FC_FLAVOR_UTF8;
    default:
      return walk->type->kind == FC_TYPE_UNKNOWN && !w->answer;
  }
}

static fc_status_t open_stored(const writer_t *w, const fc_walk_t *walk) {
  return put(w, may_be_stored(w, walk) ? "{'anyOf':[" : "");
}

static fc_status_t close_stored(const writer_t *w, const fc_walk_t *walk) {
  if (!may_be_stored(w, walk)) return FC_OK;
  return put(w, ",{'$ref':'#/%s/%s'}]}",
             w->prefix.size ? "components/schemas" : "$defs",
             w->answer ? "Kept" : "Reference");
}

static fc_status_t put_value(const writer_t *w, uint32_t node) {
  fc_walk_t walk;
  fc_walk_init(&walk, w->signature->nodes, node);
  while (fc_walk_next(&walk)) {
    if (walk.leave) {
      FC_TRY(put_close(w, walk.type));
      FC_TRY(close_stored(w, &walk));
      continue;
    }
    if (walk.index) FC_TRY(put(w, ","));
    if (walk.parent && walk.parent->kind == FC_TYPE_DICT) {
      FC_TRY(put_text(w, fc_signature_text(w->signature, walk.type->key)));
      FC_TRY(put(w, ":"));
    }
    FC_TRY(open_stored(w, &walk));
    FC_TRY(put_open(w, walk.type));
    if (!fc_type_kind_nests(walk.type->kind)) FC_TRY(close_stored(w, &walk));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The call

// Finds the next argument that a client sends; `*number` counts them from 0.
static bool next_sent(const writer_t *w, fc_argument_t *at, uint32_t *number) {
  const bool first = !at->started;
  while (fc_argument_next(w->signature, at)) {
    if (!fc_param_is_sent(&at->param)) continue;
    *number = first ? 0 : *number + 1;
    return true;
  }
  return false;
}

static uint32_t count_sent(const writer_t *w) {
  fc_argument_t at = {0};
  uint32_t count = 0;
  while (fc_argument_next(w->signature, &at)) {
    count += fc_param_is_sent(&at.param);
  }
  return count;
}

// True when the arguments are the keys of one dict, which may be sent as a
// whole.
static bool takes_dict(const writer_t *w) {
  const fc_type_t *root = fc_signature_root(w->signature);
  return root && root->kind == FC_TYPE_DICT;
}

static bool is_keyword(const writer_t *w, const fc_argument_t *at) {
  return at->param.keyword &&
         (fc_signature_root(w->signature) || at->param.name.size);
}

static fc_status_t put_reference_to(const writer_t *w, const char *name) {
  return put(w, "{'$ref':'#/%s/%.*s%s",
             w->prefix.size ? "components/schemas" : "$defs",
             FC_STR_ARG(w->prefix), name);
}

static fc_status_t put_reference(const writer_t *w, uint32_t number) {
  FC_TRY(put_reference_to(w, "argument"));
  return put(w, "%u'}", number);
}

// Returns the argument's type, if it is a dict that takes the keywords of a call; else
// NULL.
static const fc_type_t *find_rest(const writer_t *w, const fc_argument_t *at) {
  const fc_type_t *type = fc_signature_node(w->signature, at->param.type);
  const bool rest = type->flavor == FC_FLAVOR_KWARGS && type->child_count &&
                    !fc_signature_root(w->signature);
  return rest ? type : NULL;
}

static fc_status_t put_rest_properties(const writer_t *w, const fc_type_t *rest,
                                       bool any) {
  for (uint32_t i = rest->child; i != FC_NODE_NONE;) {
    const fc_type_t *child = fc_signature_node(w->signature, i);
    FC_TRY(put(w, any ? "," : ""));
    any = true;
    FC_TRY(put_text(w, fc_signature_text(w->signature, child->key)));
    FC_TRY(put(w, ":"));
    FC_TRY(put_value(w, i));
    i = child->next;
  }
  return FC_OK;
}

static fc_status_t put_keyword_properties(const writer_t *w) {
  fc_argument_t at = {0};
  uint32_t number = 0;
  for (bool any = false; next_sent(w, &at, &number);) {
    const fc_type_t *rest = find_rest(w, &at);
    if (rest) FC_TRY(put_rest_properties(w, rest, any));
    if (!is_keyword(w, &at)) continue;
    FC_TRY(put(w, any ? "," : ""));
    any = true;
    FC_TRY(put_text(w, fc_signature_text(w->signature, at.param.name)));
    FC_TRY(put(w, ":"));
    FC_TRY(put_reference(w, number));
  }
  return FC_OK;
}

// Writes the object of arguments by name, none of which is required.
static fc_status_t put_keywords(const writer_t *w) {
  FC_TRY(put(w, "{'type':'object','properties':{"));
  FC_TRY(put_keyword_properties(w));
  return put(w, "},'additionalProperties':false}");
}

static fc_status_t put_keyword_names(const writer_t *w) {
  fc_argument_t at = {0};
  uint32_t number = 0;
  FC_TRY(put(w, "'required':["));
  for (bool any = false; next_sent(w, &at, &number); any = true) {
    FC_TRY(put(w, any ? "," : ""));
    FC_TRY(put_text(w, fc_signature_text(w->signature, at.param.name)));
  }
  return put(w, "]");
}

// Writes the array of arguments, at least `least` of them. Where the arguments
// are the keys of one dict, the array holds that dict.
static fc_status_t put_places(const writer_t *w, uint32_t least) {
  fc_argument_t at = {0};
  uint32_t number = 0;
  bool any = takes_dict(w);
  FC_TRY(put(w, "{'type':'array'"));
  if (any) {
    FC_TRY(put(w, ",'prefixItems':["));
    FC_TRY(put_reference_to(w, "arguments\"}"));
  }
  while (!takes_dict(w) && next_sent(w, &at, &number)) {
    FC_TRY(put(w, any ? "," : ",'prefixItems':["));
    any = true;
    FC_TRY(put_reference(w, number));
  }
  // Some generators of clients need the type of an array's elements, even if it has none.
  FC_TRY(put(w, any ? "]" : ",'items':{}"));
  FC_TRY(put_length(w, least, takes_dict(w) ? 1 : count_sent(w)));
  return put(w, "}");
}

// Writes the rule that "args" has at least `count` elements.
static fc_status_t put_has_places(const writer_t *w, uint32_t count) {
  return put(w, "{'required':['args'],'properties':{'args':{'minItems':%u}}}",
             count);
}

// Writes the rule that each argument stands either in "args" or in "kwargs"; an
// argument without a name must stand in "args".
static fc_status_t put_each_once(const writer_t *w) {
  fc_argument_t at = {0};
  uint32_t number = 0;
  FC_TRY(put(w, ",'allOf':["));
  for (bool any = false; next_sent(w, &at, &number); any = true) {
    FC_TRY(put(w, any ? "," : ""));
    const fc_type_t *rest = find_rest(w, &at);
    if (!rest && !is_keyword(w, &at)) {
      FC_TRY(put_has_places(w, number + 1));
      continue;
    }
    FC_TRY(put(w, "{'oneOf':["));
    FC_TRY(put_has_places(w, number + 1));
    FC_TRY(
        put(w, ",{'required':['kwargs'],'properties':{'kwargs':{'required':["));
    if (rest) {
      FC_TRY(put_child_names(w, rest));
    } else {
      FC_TRY(put_text(w, fc_signature_text(w->signature, at.param.name)));
    }
    FC_TRY(put(w, "]}}}]}"));
  }
  return put(w, "]");
}

// Writes the rule that either all keys stand in "kwargs", or the whole dict in "args".
static fc_status_t put_dict_once(const writer_t *w) {
  FC_TRY(put(
      w, ",'oneOf':[{'required':['args'],'properties':{'args':{'minItems':1},"
         "'kwargs':{'maxProperties':0}}},{'required':['kwargs'],"
         "'properties':{'args':{'maxItems':0},'kwargs':{"));
  FC_TRY(put_keyword_names(w));
  return put(w, "}}}]");
}

static fc_status_t put_object(const writer_t *w, uint32_t count) {
  FC_TRY(put(w, "{'type':'object','properties':{'args':"));
  FC_TRY(put_places(w, 0));
  FC_TRY(put(w, ",'kwargs':"));
  FC_TRY(put_keywords(w));
  FC_TRY(put(w, ",'options':"));
  FC_TRY(fc_signature_print_options(w->sink, w->err));
  FC_TRY(put(w, "},'additionalProperties':false"));
  if (count) FC_TRY(takes_dict(w) ? put_dict_once(w) : put_each_once(w));
  return put(w, "}");
}

// ---------------------------------------------------------------------------
// Schemas that are the same for all functions

fc_status_t fc_signature_print_options(fc_sink_t *sink, fc_error_t *err) {
  return fc_json_print(
      sink, err,
      "{'type':'object','properties':{'int64':{'type':'string','enum':["
      "'string']},'results':{'type':'string','enum':['typed','b64']},"
      "'keep':{'type':'object','description':'results that stay in the "
      "session, and their names','additionalProperties':{'type':'string'},"
      "'propertyNames':{'pattern':'^(0|[1-9][0-9]*)$'}},"
      "'if_absent':{'type':'boolean'}},'additionalProperties':false}");
}

fc_status_t fc_signature_print_stored(fc_sink_t *sink, fc_error_t *err) {
  return fc_json_print(
      sink, err,
      "'Reference':{'type':'object','properties':{'ref':{'type':'string'}},"
      "'required':['ref'],'additionalProperties':false},"
      "'Kept':{'type':'object','properties':{'ref':{'type':'string'},"
      "'type':{'type':'object'}},'required':['ref','type'],"
      "'additionalProperties':false}");
}

// ---------------------------------------------------------------------------
// The document

// Writes a quote, the prefix and `rest`: they begin the name of a definition. `rest` may
// be only a part of the name; then the caller writes what is missing.
static fc_status_t put_name(const writer_t *w, const char *rest) {
  return put(w, "'%.*s%s", FC_STR_ARG(w->prefix), rest);
}

// Writes the definitions "argument0" and so on, each followed by a comma.
static fc_status_t put_each(const writer_t *w) {
  fc_argument_t at = {0};
  uint32_t number = 0;
  while (next_sent(w, &at, &number)) {
    FC_TRY(put_name(w, "argument"));
    FC_TRY(put(w, "%u':", number));
    FC_TRY(put_value(w, at.param.type));
    FC_TRY(put(w, ","));
  }
  return FC_OK;
}

static fc_status_t put_arguments(const writer_t *w) {
  FC_TRY(put_each(w));
  if (!takes_dict(w)) return FC_OK;
  FC_TRY(put(w, "'arguments':{'allOf':["));
  FC_TRY(put_keywords(w));
  FC_TRY(put(w, "],"));
  FC_TRY(put_keyword_names(w));
  return put(w, "},");
}

// Writes the answer: the results, then the final contents of arguments.
static fc_status_t put_answer(const writer_t *call) {
  writer_t answer = *call;
  answer.answer = true;
  const writer_t *w = &answer;
  const fc_signature_t *signature = w->signature;
  uint32_t count = 0;
  FC_TRY(put_name(w, "answer\":{\"type\":\"object\",\"properties\":{"
                     "\"results\":{\"type\":\"array\""));
  for (const fc_param_t *at = NULL; (at = fc_result_next(signature, at));) {
    FC_TRY(put(w, count++ ? "," : ",'prefixItems':["));
    FC_TRY(put_value(w, at->type));
  }
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_answered(param->role)) continue;
    FC_TRY(put(w, count++ ? "," : ",'prefixItems':["));
    FC_TRY(put_value(w, param->type));
  }
  FC_TRY(put(w, count ? "]" : ",'items':{}"));
  FC_TRY(put_length(w, count, count));
  return put(w, "},'profile':{'type':'object'}},'required':['results'],"
                "'additionalProperties':false}");
}

// Writes the call in each of its forms, without the braces around it.
static fc_status_t put_call(const writer_t *w) {
  const uint32_t count = count_sent(w);
  FC_TRY(put(w, "'title':"));
  FC_TRY(put_text(w, fc_signature_text(w->signature, w->signature->name)));
  FC_TRY(put(w, ",'anyOf':["));
  FC_TRY(put_places(w, takes_dict(w) && count ? 1 : count));
  FC_TRY(put(w, ","));
  FC_TRY(put_object(w, count));
  return put(w, "]");
}

fc_status_t fc_signature_print_schema(const fc_signature_t *signature,
                                      fc_sink_t *sink, fc_error_t *err) {
  const writer_t writer = {.signature = signature, .sink = sink, .err = err},
                 *w = &writer;
  FC_TRY(put(w, "{'$schema':'https://json-schema.org/draft/2020-12/schema',"));
  FC_TRY(put_call(w));
  FC_TRY(put(w, ",'$defs':{"));
  FC_TRY(put_arguments(w));
  FC_TRY(put_answer(w));
  FC_TRY(put(w, ","));
  FC_TRY(fc_signature_print_stored(sink, err));
  return put(w, "}}");
}

// ---------------------------------------------------------------------------
// Components. Each form of the call has a name, because generators of clients make a
// type of each named schema. One form that the decoder accepts is left out: some
// arguments by position, and the others by name. A schema of it would need rules that
// compare two members.

static bool is_all_keyword(const writer_t *w) {
  fc_argument_t at = {0};
  uint32_t number = 0;
  while (next_sent(w, &at, &number)) {
    if (!is_keyword(w, &at)) return false;
  }
  return true;
}

// Writes two objects: a call whose arguments are all in `member`, and the same call made
// many times.
static fc_status_t put_form(const writer_t *w, const char *name,
                            const char *member, const char *reference) {
  for (int repeats = 0; repeats < 2; repeats++) {
    FC_TRY(put_name(w, repeats ? "repeated." : ""));
    FC_TRY(put(w, "%s':{'type':'object','properties':{'%s':", name, member));
    FC_TRY(put_reference_to(w, reference));
    FC_TRY(put(w, "'},'options':{'$ref':'#/components/schemas/Options'}"));
    if (repeats) {
      FC_TRY(put(w, ",'repeat':{'$ref':'#/components/schemas/Repeat'}"));
    }
    FC_TRY(put(w, "}"));
    if (repeats) FC_TRY(put(w, ",'required':['repeat'"));
    if (count_sent(w)) {
      FC_TRY(put(w, repeats ? ",'%s'" : ",'required':['%s'", member));
    }
    if (repeats || count_sent(w)) FC_TRY(put(w, "]"));
    FC_TRY(put(w, ",'additionalProperties':false},"));
  }
  return FC_OK;
}

static fc_status_t put_named(const writer_t *w) {
  FC_TRY(put_form(w, "named", "kwargs", "arguments"));
  FC_TRY(put_name(w, "arguments\":{\"type\":\"object\",\"properties\":{"));
  FC_TRY(put_keyword_properties(w));
  FC_TRY(put(w, "},'additionalProperties':false,"));
  FC_TRY(put_keyword_names(w));
  return put(w, "},");
}

fc_status_t fc_signature_print_components(const fc_signature_t *signature,
                                          fc_str_t prefix, fc_sink_t *sink,
                                          fc_error_t *err) {
  const writer_t writer = {.signature = signature,
                           .sink = sink,
                           .err = err,
                           .prefix = prefix},
                 *w = &writer;
  const bool named = is_all_keyword(w);
  FC_TRY(put_name(w, "call\":{\"anyOf\":["));
  FC_TRY(put_reference_to(w, "places\"},"));
  FC_TRY(put_reference_to(w, "placed\"}"));
  if (named) FC_TRY(put(w, ","));
  if (named) FC_TRY(put_reference_to(w, "named\"}"));
  FC_TRY(put(w, "]},"));
  FC_TRY(put_name(w, "places\":"));
  FC_TRY(put_places(w, takes_dict(w) && count_sent(w) ? 1 : count_sent(w)));
  FC_TRY(put(w, ","));
  FC_TRY(put_name(w, "repeated\":{\"anyOf\":["));
  FC_TRY(put_reference_to(w, "repeated.placed\"}"));
  if (named) FC_TRY(put(w, ","));
  if (named) FC_TRY(put_reference_to(w, "repeated.named\"}"));
  FC_TRY(put(w, "]},"));
  FC_TRY(put_form(w, "placed", "args", "places"));
  if (named) FC_TRY(put_named(w));
  FC_TRY(put_each(w));
  return put_answer(w);
}
