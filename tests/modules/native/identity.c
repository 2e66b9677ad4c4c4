// SPDX-License-Identifier: Apache-2.0
//
// Models that return what they are sent, for each type and for one and two dims. (The
// sidecar has the types: the descriptor is the same for all.)
#include "memref.h"

void CIFACE(vector)(r1_t *out, const r1_t *in) { *out = *in; }
void CIFACE(matrix)(r2_t *out, const r2_t *in) { *out = *in; }
