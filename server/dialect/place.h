// SPDX-License-Identifier: Apache-2.0
//
// ROUTE, second half: finds the module and function for the names in a path. Loop thread;
// no allocation.
#ifndef FARCALL_SERVER_DIALECT_PLACE_H_
#define FARCALL_SERVER_DIALECT_PLACE_H_

#include "dialect/route.h"

// Finds what the request asks for. Also on failure, *out_place is set as far as the path
// was understood. FC_CODE_NOT_FOUND, _METHOD_NOT_ALLOWED, _MODULE_NOT_FOUND,
// _VERSION_NOT_FOUND, _FUNCTION_NOT_FOUND, _MODULE_UNAVAILABLE, _HTTP_SYNTAX
// (percent-encoding), _UNKNOWN_FIELD (a query parameter). _NOT_READY: the module is being
// loaded, or the name is unknown and `ready` is false, so that it may still be loaded.
fc_status_t fc_place_find(const fc_routes_t *routes,
                          const fc_request_t *request,
                          const fc_generations_t *generations, bool ready,
                          fc_place_t *out_place, fc_error_t *err);

// Finds the function of `module` if clients can call exactly one: then the module's name
// also names a model. False: they can call none, or several. `module` is, or was, the
// generation's.
bool fc_place_only_function(const fc_generation_t *generation,
                            const fc_module_t *module, uint32_t *out_function);

#endif  // FARCALL_SERVER_DIALECT_PLACE_H_
