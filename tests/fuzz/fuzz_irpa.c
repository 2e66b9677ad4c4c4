// SPDX-License-Identifier: Apache-2.0
//
// Archives in the .irpa format.
#include "parameters.h"
