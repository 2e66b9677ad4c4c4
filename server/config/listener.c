// SPDX-License-Identifier: Apache-2.0
#include "config/listener.h"

const fc_option_t fc_listener_keys[FC_LISTENER_KEYS] = {
#define FC_LISTENER_KEY(field, key, kind, value, form, inherited, of, help) \
  FC_OPTION_ROW(fc_listener_policy_t, field, key, 0, kind, value, form,     \
                inherited, START, help),
#include "config/listener.def"
#undef FC_LISTENER_KEY
};

void fc_listener_policy_init(fc_listener_policy_t *policy) {
  *policy = (fc_listener_policy_t){0};
  fc_option_set_defaults(policy, fc_listener_keys, FC_LISTENER_KEYS);
}

enum { OF_ALL, OF_FILE, OF_TLS };

static const uint8_t kOf[FC_LISTENER_KEYS] = {
#define FC_LISTENER_KEY(field, key, kind, value, form, inherited, of, help) \
  OF_##of,
#include "config/listener.def"
#undef FC_LISTENER_KEY
};

bool fc_listener_key_is_of_file(size_t key) { return kOf[key] == OF_FILE; }
bool fc_listener_key_is_of_tls(size_t key) { return kOf[key] == OF_TLS; }

bool fc_listener_has_tls(fc_str_t address, const fc_listener_policy_t *policy) {
  return *policy->tls_cert && !fc_str_starts(address, FC_STR("http://"));
}

bool fc_listener_is_guarded(fc_str_t address,
                            const fc_listener_policy_t *policy) {
  return policy->allow_insecure_bind || *policy->token_file ||
         (*policy->client_ca && fc_listener_has_tls(address, policy));
}

fc_status_t fc_listener_priorities(const fc_listener_policy_t *policy,
                                   fc_priorities_t *out_range,
                                   fc_error_t *err) {
  if (fc_priorities_parse(fc_str(policy->priority), out_range)) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, fc_str(policy->priority));
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "--priority: '%s' is no LOW..HIGH from %d to %d", shown,
                 FC_PRIORITY_MIN, FC_PRIORITY_MAX);
}

size_t fc_listeners_of_file(const fc_server_options_t *options) {
  const fc_origin_from_t listen = options->origins[FC_OPTION_listen].from;
  return listen > FC_ORIGIN_FILE ? 0 : options->file.listener_count;
}

// Gives each key that the listener's member does not have the value of the option that
// the key inherits, if there is such an option.
static void inherit(const fc_server_options_t *options,
                    fc_listener_policy_t *policy) {
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    const fc_option_t *option = fc_option_inherited(&fc_listener_keys[i]);
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
