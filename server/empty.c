// SPDX-License-Identifier: Apache-2.0
#include "empty.h"

#include "listen/endpoints.h"

// Has the server a Unix socket that the user asked for? Its clients may load modules
// (--admin=socket, the default), so the user may want to start without modules.
static bool has_unix_socket(const fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoints.count; i++) {
    const fc_endpoint_t *endpoint = &loop->endpoints.rows[i];
    if (fc_address_is_unix(&endpoint->address) && !endpoint->own) return true;
  }
  return false;
}

static bool may_come_later(const fc_loop_t *loop) {
  const fc_server_options_t *options = loop->options;
  const bool admin =
      options->origins[FC_OPTION_admin].from != FC_ORIGIN_DEFAULT;
  return options->allow_empty || options->watch || options->watch_interval ||
         options->load == FC_LOAD_ON_DEMAND ||
         (admin && options->admin != FC_ADMIN_OFF) || has_unix_socket(loop);
}

// A PATH that does not exist, or that is no module, has failed with FC_CODE_MODULE_PATH.
static bool is_module(const fc_generation_t *generation) {
  return fc_generation_state(generation) != FC_GENERATION_FAILED ||
         generation->error.code != FC_CODE_MODULE_PATH;
}

bool fc_loop_is_for_nothing(const fc_loop_t *loop) {
  const fc_generations_t *generations = &loop->modules.generations;
  if (!loop->options->path_count || may_come_later(loop)) return false;
  for (uint32_t i = 0; i < generations->count; i++) {
    const fc_generation_t *generation = generations->places[i];
    if (generation && is_module(generation)) return false;
  }
  return true;
}
