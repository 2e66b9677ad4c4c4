// SPDX-License-Identifier: Apache-2.0
//
// Checks an ONNX model without running anything: operators, types, dims, weights. Field
// numbers are those of onnx.proto. The bytes may be hostile, so no size is trusted, and
// nested graphs are followed only to DEPTH_MAX.
#include "doctor/checkup.h"
#include "doctor/onnx_operators.h"
#include "doctor/onnx_outside.h"
#include "doctor/protobuf.h"

#define DEPTH_MAX 32
#define OPSET_NEWEST 28    // of ONNX 1.23
#define PARTS_MAX 1000000  // nodes, weights and values that are checked

// ---------------------------------------------------------------------------
// Types

// Indexed by TensorProto.DataType. Bits 0: a call cannot carry the type.
static const struct {
  const char *name;
  unsigned bits;
} kTypes[] = {
    {"UNDEFINED", 0},      {"FLOAT", 32},     {"UINT8", 8},
    {"INT8", 8},           {"UINT16", 16},    {"INT16", 16},
    {"INT32", 32},         {"INT64", 64},     {"STRING", 0},
    {"BOOL", 8},           {"FLOAT16", 16},   {"DOUBLE", 64},
    {"UINT32", 32},        {"UINT64", 64},    {"COMPLEX64", 64},
    {"COMPLEX128", 128},   {"BFLOAT16", 16},  {"FLOAT8E4M3FN", 8},
    {"FLOAT8E4M3FNUZ", 8}, {"FLOAT8E5M2", 8}, {"FLOAT8E5M2FNUZ", 8},
    {"UINT4", 0},          {"INT4", 0},       {"FLOAT4E2M1", 0},
    {"FLOAT8E8M0", 0},     {"UINT2", 0},      {"INT2", 0},
    {"FLOAT6E2M3", 0},     {"FLOAT6E3M2", 0},
};
enum {
  TYPE_STRING = 8,
  TYPE_FLOAT16 = 10,
  TYPE_DOUBLE = 11,
  TYPE_BFLOAT16 = 16
};

static const char *type_name(uint64_t type) {
  return type < FC_ARRAY_COUNT(kTypes) ? kTypes[type].name
                                       : "of no known number";
}

static unsigned type_bits(uint64_t type) {
  return type < FC_ARRAY_COUNT(kTypes) ? kTypes[type].bits : 0;
}

// ---------------------------------------------------------------------------
// A model that is being checked

typedef struct model_t {
  fc_checkup_t *checkup;
  int64_t opset;          // of ONNX's own domain; 0: not given
  bool has_estimators;    // operators of ai.onnx.ml, whose texts become numbers
  fc_name_table_t names;  // of weights, and of values made so far
  fc_name_table_t functions;  // defined by the model itself
  size_t node_count;
  size_t part_count;   // PARTS_MAX + 1: there were too many
  int64_t largest[2];  // bytes of the two largest values between operators
  fc_error_t err;
} model_t;

typedef struct value_t {
  fc_str_t name;
  uint32_t kind;  // field number in TypeProto: 1 is a tensor; 0: no type
  uint64_t type;
  bool has_shape;
  int64_t elements;  // open dims count as 1
  size_t open;       // dims without a size
  size_t unnamed;    // of these, dims without a name
} value_t;

static void add(model_t *model, fc_severity_t level, fc_subject_t subject,
                fc_str_t thing, const char *place, const char *message,
                const char *way_out) {
  fc_checkup_add(model->checkup, level, subject, thing, place, message,
                 way_out);
}

static void add_damage(model_t *model, const char *what) {
  add(model, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("ONNX"), what,
      "its bytes end, or make no sense, in the middle of a field",
      "the file was cut off or changed: copy or export it again");
}

// Must more of the model be read?
static bool is_open(const model_t *model) {
  return model->part_count <= PARTS_MAX && !fc_checkup_is_full(model->checkup);
}

// Counts a node, a weight, a value or a function. False: it is not read, because there
// are too many or the report is full.
static bool is_looked_at(model_t *model) {
  if (!is_open(model)) return false;
  if (++model->part_count <= PARTS_MAX) return true;
  add(model, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("graph"), "",
      fc_checkup_print(model->checkup,
                       "it has more than %d nodes, weights and values: the "
                       "rest was not looked at",
                       PARTS_MAX),
      "export the model without unrolling its loops");
  return false;
}

static void remember(model_t *model, fc_name_table_t *table, fc_str_t name) {
  if (!name.size) return;
  if (fc_name_table_put(table, name, 0, &model->err)) {
    model->checkup->out_of_memory = true;
  }
}

static bool is_there(const fc_name_table_t *table, fc_str_t name) {
  return fc_name_table_find(table, name) != FC_NAME_NONE;
}

// ---------------------------------------------------------------------------
// Types and dims

static void read_dim(fc_str_t bytes, value_t *value) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  int64_t size = -1;
  bool named = false;
  while (fc_message_next(&message, &field)) {
    if (field.number == 1) size = (int64_t)field.value;
    if (field.number == 2) named = field.bytes.size > 0;
  }
  if (size >= 0) {
    if (!fc_i64_mul(value->elements, size, &value->elements)) {
      value->elements = INT64_MAX;
    }
    return;
  }
  value->open++;
  if (!named) value->unnamed++;
}

static void read_tensor_type(fc_str_t bytes, value_t *value) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  while (fc_message_next(&message, &field)) {
    if (field.number == 1) value->type = field.value;
    if (field.number != 2) continue;
    fc_message_t shape = fc_message(field.bytes);
    value->has_shape = true;
    while (fc_message_next(&shape, &field)) {
      if (field.number == 1) read_dim(field.bytes, value);
    }
  }
}

static value_t read_value(model_t *model, fc_str_t bytes) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  value_t value = {.elements = 1};
  fc_str_t type = {0};
  while (fc_message_next(&message, &field)) {
    if (field.number == 1) value.name = field.bytes;
    if (field.number == 2) type = field.bytes;
  }
  bool damaged = message.damaged;
  message = fc_message(type);
  while (fc_message_next(&message, &field)) {
    if (field.number == 6) continue;  // a denotation
    value.kind = field.number;
    if (field.number == 1) read_tensor_type(field.bytes, &value);
  }
  damaged |= message.damaged;
  if (damaged) add_damage(model, fc_checkup_name(model->checkup, value.name));
  return value;
}

static const char *kind_name(uint32_t kind) {
  switch (kind) {
    case 4:
      return "a sequence";
    case 5:
      return "a map";
    case 8:
      return "a sparse tensor";
    case 9:
      return "optional";
    default:
      return "of a kind that is not known";
  }
}

// Checks the type of an argument or a result of the model.
static void check_type(model_t *model, const value_t *value, bool is_result) {
  const char *place = fc_checkup_print(
      model->checkup, "%s %s", is_result ? "result" : "argument",
      fc_checkup_name(model->checkup, value->name));
  if (value->kind == 0) {
    add(model, is_result ? FC_LEVEL_WARN : FC_LEVEL_UNFIT, FC_SUBJECT_TYPE,
        FC_STR("no type"), place, "the model does not say of which type it is",
        "run onnx.shape_inference.infer_shapes and save the result");
    return;
  }
  // Estimators return sequences and texts; compile/tools/farcall_ml.py makes tensors of
  // these.
  if (model->has_estimators && is_result &&
      (value->kind == 4 || value->type == TYPE_STRING)) {
    return;
  }
  if (value->kind != 1) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_TYPE, fc_str(kind_name(value->kind)),
        place, "functions take and return tensors only",
        "give its parts as tensors of their own");
    return;
  }
  if (value->type == TYPE_STRING) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_TYPE, FC_STR("STRING"), place,
        "compilers have no type for text",
        "encode text as numbers before the call");
  } else if (!type_bits(value->type)) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_TYPE, fc_str(type_name(value->type)),
        place, "no call can carry elements of this type",
        "cast it inside the model, and give INT8 or FLOAT");
  }
  if (value->type == TYPE_DOUBLE) {
    add(model, FC_LEVEL_NOTE, FC_SUBJECT_PRECISION, FC_STR("DOUBLE"), place,
        "it stays f64 here; `iree-compile` by itself makes f32 of it",
        "with iree-compile: --iree-input-demote-f64-to-f32=false");
  }
  if (value->type == TYPE_FLOAT16 || value->type == TYPE_BFLOAT16) {
    add(model, FC_LEVEL_NOTE, FC_SUBJECT_PRECISION,
        fc_str(type_name(value->type)), place,
        "processors without such arithmetic compute it in f32 and round; "
        "bytecode (--cpu=vmvx) has none of it",
        "");
  }
}

static void check_dims(model_t *model, const value_t *value) {
  const char *place =
      fc_checkup_print(model->checkup, "argument %s",
                       fc_checkup_name(model->checkup, value->name));
  if (value->kind == 1 && !value->has_shape) {
    add(model, FC_LEVEL_WARN, FC_SUBJECT_DIM, FC_STR("no shape"), place,
        "not even its rank is known, and IREE refuses most operators of such "
        "tensors",
        "give the shape when the model is exported");
  } else if (value->unnamed) {
    add(model, FC_LEVEL_WARN, FC_SUBJECT_DIM, FC_STR("dim without a name"),
        place,
        "nothing checks whether its size agrees with that of another dim",
        "name it (torch by dynamic_axes, others by dim_param in the file), or "
        "give it a size (--batch)");
  } else if (value->open) {
    add(model, FC_LEVEL_NOTE, FC_SUBJECT_DIM, FC_STR("named dim"), place,
        "callers choose its size; dims of one name must agree",
        "sizes that are known make faster code: --batch=1,8");
  }
}

// ---------------------------------------------------------------------------
// Weights

static void multiply_dims(fc_pb_field_t field, uint64_t *elements) {
  fc_numbers_t numbers = {.field = field};
  uint64_t dim;
  while (fc_numbers_next(&numbers, &dim)) {
    if (__builtin_mul_overflow(*elements, dim, elements))
      *elements = UINT64_MAX;
  }
}

// A constant of the model.
typedef struct constant_t {
  fc_str_t name;
  uint64_t elements;
  uint64_t type;
  uint64_t raw;  // bytes in the file, if `has_raw`
  bool has_raw;
  bool is_outside;  // the bytes are in another file
  fc_onnx_outside_t outside;
} constant_t;

static constant_t read_constant(fc_message_t *message) {
  constant_t constant = {.elements = 1};
  fc_pb_field_t field;
  while (fc_message_next(message, &field)) {
    switch (field.number) {
      case 1:
        multiply_dims(field, &constant.elements);
        break;
      case 2:
        constant.type = field.value;
        break;
      case 8:
        constant.name = field.bytes;
        break;
      case 9:
        constant.has_raw = true;
        constant.raw = field.bytes.size;
        break;
      case 13:
        fc_onnx_read_outside(field.bytes, &constant.outside);
        break;
      case 14:
        constant.is_outside = field.value == 1;
        break;
      default:
        break;
    }
  }
  return constant;
}

// Counts the bytes of a constant, and checks that they exist.
static void check_constant(model_t *model, fc_str_t bytes, bool is_weight) {
  if (!is_looked_at(model)) return;
  fc_message_t message = fc_message(bytes);
  const constant_t it = read_constant(&message);
  const char *name = fc_checkup_name(model->checkup, it.name);
  if (message.damaged) {
    add_damage(model, name);
    return;
  }
  if (is_weight) remember(model, &model->names, it.name);
  uint64_t size = 0;
  if (__builtin_mul_overflow(it.elements, type_bits(it.type), &size))
    size = UINT64_MAX;
  size = size / 8;
  if (size < INT64_MAX - (uint64_t)model->checkup->footprint.weights) {
    model->checkup->footprint.weights += (int64_t)size;
  }
  if (it.is_outside) {
    fc_onnx_check_outside(model->checkup, it.name, &it.outside);
  } else if (it.has_raw && type_bits(it.type) && it.raw != size) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_WEIGHTS, fc_str(type_name(it.type)),
        fc_checkup_print(model->checkup, "weight %s", name),
        fc_checkup_print(model->checkup,
                         "its shape wants %llu bytes, the file has %llu",
                         (unsigned long long)size, (unsigned long long)it.raw),
        "the file was changed: export the model again");
  }
}

// ---------------------------------------------------------------------------
// Graphs

// NOLINTBEGIN(misc-no-recursion): check_graph stops at DEPTH_MAX.
static void check_graph(model_t *model, fc_str_t bytes, unsigned depth);

static void check_attribute(model_t *model, fc_str_t bytes, unsigned depth) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  while (is_open(model) && fc_message_next(&message, &field)) {
    if (field.number == 5) check_constant(model, field.bytes, false);
    if (field.number == 6 || field.number == 11) {
      check_graph(model, field.bytes, depth + 1);
    }
  }
}

static void check_inputs(model_t *model, const fc_onnx_node_t *node,
                         fc_str_t bytes) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  while (is_open(model) && fc_message_next(&message, &field)) {
    if (field.number != 1 || !field.bytes.size) continue;
    if (is_there(&model->names, field.bytes)) continue;
    fc_onnx_add(
        model->checkup, FC_LEVEL_UNFIT, node,
        fc_checkup_print(model->checkup,
                         "its operand %s is made by nothing before it",
                         fc_checkup_name(model->checkup, field.bytes)),
        "export the model again; nodes must stand in the order of their use");
  }
}

static void check_node(model_t *model, fc_str_t bytes, size_t index,
                       unsigned depth) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  fc_onnx_node_t node = {.index = index};
  if (!is_looked_at(model)) return;
  while (fc_message_next(&message, &field)) {
    if (field.number == 3) node.name = field.bytes;
    if (field.number == 4) node.type = field.bytes;
    if (field.number == 7) node.domain = field.bytes;
  }
  if (message.damaged) {
    add_damage(model, fc_onnx_place(model->checkup, &node));
    return;
  }
  model->node_count++;
  fc_onnx_check_operator(model->checkup, model->opset, &model->functions,
                         &node);
  check_inputs(model, &node, bytes);
  message = fc_message(bytes);
  while (fc_message_next(&message, &field)) {
    if (field.number == 5) check_attribute(model, field.bytes, depth);
    if (field.number == 2) remember(model, &model->names, field.bytes);
  }
}

// Returns the bytes of a value, at most INT64_MAX / 4.
static int64_t bytes_of(const value_t *value) {
  int64_t bits;
  if (!fc_i64_mul(value->elements, (int64_t)type_bits(value->type), &bits)) {
    return INT64_MAX / 4;
  }
  return bits / 8 < INT64_MAX / 4 ? bits / 8 : INT64_MAX / 4;
}

static void note_between(model_t *model, const value_t *value) {
  fc_footprint_t *footprint = &model->checkup->footprint;
  if (!value->has_shape) return;
  footprint->sized_count++;
  const int64_t size = bytes_of(value);
  if (size > model->largest[0]) {
    model->largest[1] = model->largest[0];
    model->largest[0] = size;
  } else if (size > model->largest[1]) {
    model->largest[1] = size;
  }
}

static void check_argument(model_t *model, fc_str_t bytes, bool is_result,
                           unsigned depth) {
  if (!is_looked_at(model)) return;
  const value_t value = read_value(model, bytes);
  // Old models list their weights as arguments too.
  const bool is_weight = !is_result && is_there(&model->names, value.name);
  if (!is_result) remember(model, &model->names, value.name);
  if (depth || is_weight) return;
  check_type(model, &value, is_result);
  if (!is_result) check_dims(model, &value);
  int64_t *arguments = &model->checkup->footprint.arguments;
  if (__builtin_add_overflow(*arguments, bytes_of(&value), arguments)) {
    *arguments = INT64_MAX;
  }
  if (is_result && !is_there(&model->names, value.name)) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_NAME, value.name,
        "the graph's results", "no node makes this result",
        "export the model again");
  }
}

static void check_graph(model_t *model, fc_str_t bytes, unsigned depth) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  size_t index = 0;
  if (depth > DEPTH_MAX) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("graph"), "",
        "graphs are nested deeper than 32",
        "write it without so many branches");
    return;
  }
  while (is_open(model) && fc_message_next(&message, &field)) {
    if (field.number == 5) check_constant(model, field.bytes, true);
    if (field.number == 15) {
      add(model, FC_LEVEL_UNFIT, FC_SUBJECT_WEIGHTS, FC_STR("sparse weight"),
          "", "IREE's importer takes dense weights only",
          "save the weights as dense tensors");
    }
  }
  if (message.damaged) add_damage(model, "the graph");
  message = fc_message(bytes);
  while (is_open(model) && fc_message_next(&message, &field)) {
    if (field.number == 11) check_argument(model, field.bytes, false, depth);
  }
  message = fc_message(bytes);
  while (is_open(model) && fc_message_next(&message, &field)) {
    if (field.number == 1) check_node(model, field.bytes, ++index, depth);
  }
  message = fc_message(bytes);
  while (is_open(model) && fc_message_next(&message, &field)) {
    if (field.number == 12) check_argument(model, field.bytes, true, depth);
    if (field.number != 13 || !is_looked_at(model)) continue;
    const value_t value = read_value(model, field.bytes);
    note_between(model, &value);
  }
}

// NOLINTEND(misc-no-recursion)

// ---------------------------------------------------------------------------
// The model

// Notes a function that the model itself defines.
static void read_function(model_t *model, fc_str_t bytes) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  fc_str_t name = {0}, domain = {0};
  while (fc_message_next(&message, &field)) {
    if (field.number == 1) name = field.bytes;
    if (field.number == 10) domain = field.bytes;
  }
  remember(model, &model->functions,
           fc_str(fc_onnx_function_key(model->checkup, domain, name)));
}

static void read_opset(model_t *model, fc_str_t bytes) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  fc_str_t domain = {0};
  int64_t version = 0;
  while (fc_message_next(&message, &field)) {
    if (field.number == 1) domain = field.bytes;
    if (field.number == 2) version = (int64_t)field.value;
  }
  if (fc_onnx_is_own_domain(domain)) model->opset = version;
  model->has_estimators |= fc_str_equal(domain, FC_STR("ai.onnx.ml"));
}

static void check_opset(model_t *model) {
  const char *version =
      fc_checkup_print(model->checkup, "opset %lld", (long long)model->opset);
  if (model->opset > OPSET_NEWEST) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, fc_str(version), "",
        "it is newer than any that ONNX 1.23 knows (28)",
        "export with opset 21");
  } else if (model->opset <= 0 && !model->has_estimators) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("no opset"), "",
        "the model does not say which version of ONNX's operators it has",
        "export the model again");
  } else if (model->opset < FC_ONNX_OPSET_LIFTED) {
    add(model, FC_LEVEL_NOTE, FC_SUBJECT_OPERATOR, fc_str(version), "",
        "operators are lifted to opset 17, which IREE knows best", "");
  }
}

static void check_model(model_t *model, fc_str_t bytes) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  fc_str_t graph = {0};
  bool trains = false;
  while (fc_message_next(&message, &field)) {
    if (field.number == 7) graph = field.bytes;
    if (field.number == 8) read_opset(model, field.bytes);
    if (field.number == 20) trains = true;
    if (field.number == 25 && is_looked_at(model)) {
      read_function(model, field.bytes);
    }
  }
  if (message.damaged) {
    add_damage(model, fc_checkup_print(model->checkup, "byte %zu of the file",
                                       message.at));
    return;
  }
  check_opset(model);
  if (trains) {
    add(model, FC_LEVEL_WARN, FC_SUBJECT_FILE, FC_STR("training_info"), "",
        "what it says of training is left out", "");
  }
  model->checkup->footprint = (fc_footprint_t){0};
  check_graph(model, graph, 0);
  fc_footprint_t *footprint = &model->checkup->footprint;
  footprint->value_count = model->node_count;
  if (footprint->sized_count > footprint->value_count) {
    footprint->value_count = footprint->sized_count;
  }
  footprint->largest = model->largest[0] + model->largest[1];
  if (!footprint->sized_count) footprint->largest = -1;
  if (!model->node_count && is_open(model)) {
    add(model, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("graph"), "",
        "it has no nodes: nothing to call", "export the model again");
  }
}

void fc_doctor_onnx(fc_checkup_t *checkup, fc_str_t bytes) {
  const fc_allocator_t allocator = fc_allocator_system();
  model_t model = {.checkup = checkup,
                   .names = {.allocator = allocator},
                   .functions = {.allocator = allocator}};
  fc_error_reset(&model.err);
  check_model(&model, bytes);
  fc_name_table_deinit(&model.names);
  fc_name_table_deinit(&model.functions);
}
