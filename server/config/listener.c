// SPDX-License-Identifier: Apache-2.0
#include "config/listener.h"

const fc_option_t fc_listener_keys[FC_LISTENER_KEYS] = {
#define FC_LISTENER_KEY(field, key, kind, value, form, inherited, help) \
  {key,                                                                 \
   0,                                                                   \
   FC_OPTION_KIND_##kind,                                               \
   value,                                                               \
   form,                                                                \
   help,                                                                \
   offsetof(fc_listener_policy_t, field)},
#include "config/listener.def"
#undef FC_LISTENER_KEY
};

const fc_option_t *fc_listener_key_inherits(size_t key) {
  enum { FC_OPTION_NONE = FC_OPTIONS };
  static const unsigned kInherited[] = {
#define FC_LISTENER_KEY(field, name, kind, value, form, inherited, help) \
  FC_OPTION_##inherited,
#include "config/listener.def"
#undef FC_LISTENER_KEY
  };
  return kInherited[key] == FC_OPTION_NONE ? NULL
                                           : &fc_options[kInherited[key]];
}

void fc_listener_policy_init(fc_listener_policy_t *policy) {
  *policy = (fc_listener_policy_t){0};
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    fc_status_t status =
        fc_option_set(policy, &fc_listener_keys[i], fc_listener_keys[i].value,
                      "default", NULL);
    FC_ASSERT(status == FC_OK);
  }
}

bool fc_listener_key_is_of_file(size_t key) {
  return key == FC_LISTENER_KEY_socket_mode ||
         key == FC_LISTENER_KEY_socket_owner;
}

size_t fc_listeners_of_file(const fc_server_options_t *options) {
  const fc_origin_from_t listen = options->origins[FC_OPTION_listen].from;
  return listen > FC_ORIGIN_FILE ? 0 : options->file.listener_count;
}

// Gives every key that the file does not the value of its option.
static void inherit(const fc_server_options_t *options,
                    fc_listener_policy_t *policy) {
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    const fc_option_t *option = fc_listener_key_inherits(i);
    if (!option || policy->origins[i].from != FC_ORIGIN_DEFAULT) continue;
    fc_option_copy(policy, &fc_listener_keys[i], options, option);
    policy->origins[i] = options->origins[option - fc_options];
  }
}

void fc_listener_of_all(const fc_server_options_t *options,
                        fc_listener_policy_t *out_policy) {
  fc_listener_policy_init(out_policy);
  inherit(options, out_policy);
  out_policy->origins[FC_LISTENER_KEY_address] =
      options->origins[FC_OPTION_listen];
}

bool fc_listener_at(const fc_server_options_t *options, uint32_t index,
                    fc_str_t *out_address, fc_listener_policy_t *out_policy) {
  const size_t of_file = fc_listeners_of_file(options);
  if (of_file == 0) {
    fc_listener_of_all(options, out_policy);
    return fc_texts_at(&options->listen, index, out_address);
  }
  if (index >= of_file) return false;
  *out_policy = options->file.listeners[index];
  *out_address = fc_str(out_policy->address);
  inherit(options, out_policy);
  return true;
}

bool fc_listener_is_passed(fc_str_t address, fc_str_t *out_name) {
  if (!fc_str_equal(fc_str_take(&address, ':'), FC_STR("systemd")))
    return false;
  *out_name = address;
  return true;
}

void fc_listener_of_passed(const fc_server_options_t *options, fc_str_t name,
                           fc_listener_policy_t *out_policy) {
  const fc_config_file_t *file = &options->file;
  const fc_listener_policy_t *found = NULL;
  fc_str_t named;
  bool exact = false;
  fc_listener_of_all(options, out_policy);
  for (size_t i = 0; i < file->listener_count && !exact; i++) {
    const fc_listener_policy_t *said = &file->listeners[i];
    if (!fc_listener_is_passed(fc_str(said->address), &named)) continue;
    exact = named.size && fc_str_equal(named, name);
    if (exact || !named.size) found = said;
  }
  if (!found) return;
  *out_policy = *found;
  inherit(options, out_policy);
}
