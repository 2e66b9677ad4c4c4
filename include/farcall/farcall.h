// SPDX-License-Identifier: Apache-2.0
//
// All of libfarcall: load a module, look at its functions, call them.
#ifndef FARCALL_FARCALL_H_
#define FARCALL_FARCALL_H_

#include "farcall/base.h"
#include "farcall/type.h"
#include "farcall/value.h"
#include "farcall/backend.h"
#include "farcall/codec.h"
#include "farcall/module.h"
#include "farcall/abi.h"
#include "farcall/call.h"
#include "farcall/version.h"

#endif  // FARCALL_FARCALL_H_
