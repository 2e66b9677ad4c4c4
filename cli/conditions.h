// SPDX-License-Identifier: Apache-2.0
//
// Shows the conditions that a server reports (docs/http.md, "Conditions").
#ifndef FARCALL_CLI_CONDITIONS_H_
#define FARCALL_CLI_CONDITIONS_H_

#include <stdio.h>
#include <yyjson.h>

#include "farcall/base.h"

// Returns the text of a member; "" if the member is no text.
const char *fc_text_of(yyjson_val *object, const char *key);
// Prints a line for each condition of an array.
void fc_conditions_show(FILE *stream, yyjson_val *conditions);

#endif  // FARCALL_CLI_CONDITIONS_H_
