// SPDX-License-Identifier: Apache-2.0
//
// Archives of the format .safetensors.
#include "parameters.h"
