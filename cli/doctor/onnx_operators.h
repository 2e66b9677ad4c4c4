// SPDX-License-Identifier: Apache-2.0
//
// Checks the nodes of an ONNX model for operators that compilers do not lower.
#ifndef FARCALL_CLI_DOCTOR_ONNX_OPERATORS_H_
#define FARCALL_CLI_DOCTOR_ONNX_OPERATORS_H_

#include "base/name_table.h"
#include "doctor/checkup.h"

#define FC_ONNX_OPSET_LIFTED 17  // `farcall compile` lifts older models to it

typedef struct fc_onnx_node_t {
  fc_str_t name, type, domain;
  size_t index;  // in its graph, from 1
} fc_onnx_node_t;

bool fc_onnx_is_own_domain(fc_str_t domain);
// Returns a text such as "node 'attend' (3 of its graph)".
const char *fc_onnx_place(fc_checkup_t *checkup, const fc_onnx_node_t *node);
void fc_onnx_add(fc_checkup_t *checkup, fc_severity_t level,
                 const fc_onnx_node_t *node, const char *message,
                 const char *way_out);
// Returns the key of a function that the model itself defines: "domain name".
const char *fc_onnx_function_key(fc_checkup_t *checkup, fc_str_t domain,
                                 fc_str_t name);
// Adds findings about a node's operator. `functions` has the keys of the model's own
// functions.
void fc_onnx_check_operator(fc_checkup_t *checkup, int64_t opset,
                            const fc_name_table_t *functions,
                            const fc_onnx_node_t *node);

#endif  // FARCALL_CLI_DOCTOR_ONNX_OPERATORS_H_
