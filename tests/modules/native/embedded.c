// SPDX-License-Identifier: Apache-2.0
//
// Contains its metadata; there is no sidecar beside it.
#include "memref.h"

EXPORT const char __farcall_abi[] =
    "{\"farcall\":1,\"abi\":\"mlir-memref\",\"functions\":[{\"name\":\"twice\","
    "\"symbol\":\"_mlir_ciface_twice\",\"cc\":\"ciface\","
    "\"args\":[{\"type\":\"i32\"}],\"results\":[{\"type\":\"i32\"}]}]}";

EXPORT int32_t _mlir_ciface_twice(int32_t a) { return 2 * a; }
