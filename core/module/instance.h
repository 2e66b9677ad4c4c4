// SPDX-License-Identifier: Apache-2.0
//
// The struct of fc_instance_t (farcall/call.h), for code that makes its calls. An
// instance has one frame, because the instance of a backend makes one call at a time.
#ifndef FARCALL_MODULE_INSTANCE_H_
#define FARCALL_MODULE_INSTANCE_H_

#include <stdatomic.h>

#include "farcall/call.h"

struct fc_instance_t {
  fc_allocator_t allocator;
  const fc_tiles_t *tiles;
  uint32_t references;  // the embedder's and one for each call
  fc_module_t *module;  // retained
  void *handle;         // of the backend
  fc_frame_t *frame;
  fc_call_t *open;       // the call whose results may be read, or NULL
  _Atomic(bool) in_use;  // a thread runs a call (set by atomic exchange)
};

void fc_instance_forget(fc_instance_t *instance);  // gives back one reference

#endif  // FARCALL_MODULE_INSTANCE_H_
