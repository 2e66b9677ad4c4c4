// SPDX-License-Identifier: Apache-2.0
//
// Models that answer what they were sent, of each type (the sidecar says which: a
// descriptor is the same for all) and of one and two dims.
#include "memref.h"

void CIFACE(vector)(r1_t *out, const r1_t *in) { *out = *in; }
void CIFACE(matrix)(r2_t *out, const r2_t *in) { *out = *in; }
