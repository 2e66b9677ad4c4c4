// SPDX-License-Identifier: Apache-2.0
//
// Archives of the format .irpa.
#include "parameters.h"
