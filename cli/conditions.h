// SPDX-License-Identifier: Apache-2.0
//
// Shows the conditions that a server reports (docs/http.md, "Conditions").
#ifndef FARCALL_CLI_CONDITIONS_H_
#define FARCALL_CLI_CONDITIONS_H_

#include <stdio.h>
#include <yyjson.h>

#include "farcall/base.h"

// Returns the text of the member `key`; "" if the member is missing or not a text.
const char *fc_text_of(yyjson_val *object, const char *key);
// Prints one line for each entry of the server's JSON array "conditions" (warnings and
// failures).
void fc_conditions_show(FILE *stream, yyjson_val *conditions);

#endif  // FARCALL_CLI_CONDITIONS_H_
