// SPDX-License-Identifier: Apache-2.0
//
// What servers say to be wrong (docs/http.md, "Conditions"), for the verbs that show it.
#ifndef FARCALL_CLI_CONDITIONS_H_
#define FARCALL_CLI_CONDITIONS_H_

#include <stdio.h>
#include <yyjson.h>

#include "farcall/base.h"

// A member that is text; "" if it is none.
const char *fc_text_of(yyjson_val *object, const char *key);
// Prints a line for each condition of an array.
void fc_conditions_show(FILE *stream, yyjson_val *conditions);

#endif  // FARCALL_CLI_CONDITIONS_H_
