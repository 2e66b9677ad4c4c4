// SPDX-License-Identifier: Apache-2.0
//
// Checks which operators compilers lower, with the rows of operators.def.
#include "doctor/onnx_operators.h"

// ---------------------------------------------------------------------------
// Tables

typedef struct known_t {
  fc_str_t domain;
  fc_str_t name;
  int64_t since;
} known_t;

typedef struct advice_t {
  fc_str_t name;
  const char *way_out;
} advice_t;

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

static const known_t kKnown[] = {
#define FC_OPERATOR_KNOWN(domain, name, since) \
  {TEXT(domain), TEXT(name), since},
#include "doctor/operators.def"
};
static const advice_t kOften[] = {
#define FC_OPERATOR_OFTEN(name, way_out) {TEXT(name), way_out},
#include "doctor/operators.def"
};
static const advice_t kNever[] = {
#define FC_OPERATOR_NEVER(name, way_out) {TEXT(name), way_out},
#include "doctor/operators.def"
};

const char *fc_onnx_function_key(fc_checkup_t *checkup, fc_str_t domain,
                                 fc_str_t name) {
  return fc_checkup_print(checkup, "%.*s %.*s", FC_STR_ARG(domain),
                          FC_STR_ARG(name));
}

bool fc_onnx_is_own_domain(fc_str_t domain) {
  return !domain.size || fc_str_equal(domain, FC_STR("ai.onnx"));
}

const char *fc_onnx_place(fc_checkup_t *checkup, const fc_onnx_node_t *node) {
  const char *name =
      node->name.size ? fc_checkup_name(checkup, node->name) : "without a name";
  return fc_checkup_print(checkup, "node %s (%zu of its graph)", name,
                          node->index);
}

void fc_onnx_add(fc_checkup_t *checkup, fc_severity_t level,
                 const fc_onnx_node_t *node, const char *message,
                 const char *way_out) {
  fc_checkup_add(checkup, level, FC_SUBJECT_OPERATOR, node->type,
                 fc_onnx_place(checkup, node), message, way_out);
}

// ---------------------------------------------------------------------------
// Operators

static const known_t *find_known(const fc_onnx_node_t *node) {
  const fc_str_t domain =
      fc_onnx_is_own_domain(node->domain) ? FC_STR("") : node->domain;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKnown); i++) {
    if (fc_str_equal(kKnown[i].name, node->type) &&
        fc_str_equal(kKnown[i].domain, domain)) {
      return &kKnown[i];
    }
  }
  return NULL;
}

static const char *find_advice(const advice_t *rows, size_t count,
                               fc_str_t name) {
  for (size_t i = 0; i < count; i++) {
    if (fc_str_equal(rows[i].name, name)) return rows[i].way_out;
  }
  return NULL;
}

static bool is_own_function(fc_checkup_t *checkup,
                            const fc_name_table_t *functions,
                            const fc_onnx_node_t *node) {
  if (!functions->count) return false;
  const fc_str_t key =
      fc_str(fc_onnx_function_key(checkup, node->domain, node->type));
  return fc_name_table_find(functions, key) != FC_NAME_NONE;
}

static void add_foreign(fc_checkup_t *checkup, const fc_onnx_node_t *node) {
  const char *way_out =
      "write it by operators of ONNX's own domain; a function of the model "
      "(onnx.helper.make_function) may say how";
  if (fc_str_equal(node->domain, FC_STR("ai.onnx.ml"))) {
    way_out =
        "leave it out of the exported pipeline, and do it before the call";
  } else if (fc_str_equal(node->domain, FC_STR("com.microsoft"))) {
    way_out = "onnxruntime made it: save the model before its optimizations "
              "(ORT_DISABLE_ALL)";
  } else if (fc_str_starts(node->domain, FC_STR("ai.onnx.preview.training"))) {
    way_out = "it trains: export the model for inference";
  }
  fc_onnx_add(checkup, FC_LEVEL_UNFIT, node,
              fc_checkup_print(
                  checkup, "no compiler here has this operator of domain %s",
                  fc_checkup_name(checkup, node->domain)),
              way_out);
}

static void add_unknown(fc_checkup_t *checkup, const fc_onnx_node_t *node) {
  const char *way_out = find_advice(kNever, FC_ARRAY_COUNT(kNever), node->type);
  fc_nearest_t search = fc_nearest_begin(node->type);
  for (size_t i = 0; !way_out && i < FC_ARRAY_COUNT(kKnown); i++) {
    if (!kKnown[i].domain.size && fc_nearest_offer(&search, kKnown[i].name)) {
      way_out =
          fc_checkup_print(checkup, "did you mean %s?", kKnown[i].name.data);
    }
  }
  fc_onnx_add(checkup, FC_LEVEL_UNFIT, node,
              "IREE's importer does not have this operator",
              way_out ? way_out : "write it by operators that ONNX has");
}

static void check_opset(fc_checkup_t *checkup, int64_t opset,
                        const fc_onnx_node_t *node, int64_t since) {
  if (since <= opset || since <= FC_ONNX_OPSET_LIFTED) return;
  fc_onnx_add(
      checkup, FC_LEVEL_UNFIT, node,
      fc_checkup_print(checkup,
                       "IREE's importer has it from opset %lld on, this "
                       "model is of opset %lld",
                       (long long)since, (long long)opset),
      fc_checkup_print(checkup, "export with opset %lld", (long long)since));
}

void fc_onnx_check_operator(fc_checkup_t *checkup, int64_t opset,
                            const fc_name_table_t *functions,
                            const fc_onnx_node_t *node) {
  if (!node->type.size) {
    fc_onnx_add(checkup, FC_LEVEL_UNFIT, node, "a node names no operator",
                "export the model again");
    return;
  }
  if (is_own_function(checkup, functions, node)) return;
  const known_t *known = find_known(node);
  if (!known) {
    (fc_onnx_is_own_domain(node->domain) ? add_unknown : add_foreign)(checkup,
                                                                      node);
    return;
  }
  if (!fc_onnx_is_own_domain(node->domain)) return;
  check_opset(checkup, opset, node, known->since);
  const char *often = find_advice(kOften, FC_ARRAY_COUNT(kOften), node->type);
  if (often) {
    fc_onnx_add(checkup, FC_LEVEL_WARN, node,
                "IREE compiles some of its forms only", often);
  }
  if (fc_str_starts(node->type, FC_STR("Random"))) {
    fc_onnx_add(checkup, FC_LEVEL_WARN, node,
                "each call answers something else", "send the random numbers");
  }
}
