// SPDX-License-Identifier: Apache-2.0
//
// Archives in the .safetensors format.
#include "parameters.h"
