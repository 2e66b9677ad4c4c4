// SPDX-License-Identifier: Apache-2.0
//
// Shares and removes values of a session while no call of it runs.
#include "state/session.h"

fc_kept_t *fc_session_value(const fc_session_t *session, fc_str_t name) {
  for (uint32_t i = 0; i < session->count; i++) {
    if (fc_str_equal(fc_store_name(&session->values[i].row), name)) {
      return &session->values[i];
    }
  }
  return NULL;
}

void fc_session_weigh(fc_session_t *session, uint64_t more, uint64_t less) {
  fc_sessions_t *all = session->all;
  if (more) {
    const uint32_t entry =
        fc_owners_charge(&all->bytes_owned, &session->owner, more);
    FC_ASSERT(entry == session->bytes_of);
  }
  if (less) fc_owners_release(&all->bytes_owned, session->bytes_of, less);
  session->bytes += more - less;
  all->bytes += more - less;
}

void fc_session_leave(fc_session_t *session, const fc_kept_t *value) {
  fc_slab_leave(session->slab, value->place);
  if (value->row.kind == FC_VALUE_OPAQUE) {
    fc_home_drop(&session->claim, value->row.reference);
  }
}

static void let_go(fc_session_t *session, const fc_kept_t *value) {
  fc_session_weigh(session, 0, fc_store_pages(value->row.size));
  fc_session_leave(session, value);
}

void fc_session_drop_values(fc_session_t *session) {
  while (session->count) let_go(session, &session->values[--session->count]);
}

void fc_session_reset(fc_session_t *session) {
  FC_ASSERT(!session->claim.held);
  fc_session_drop_values(session);
}

static fc_status_t find(const fc_session_t *session, fc_str_t name,
                        fc_kept_t **out_value, fc_error_t *err) {
  *out_value = fc_session_value(session, name);
  if (*out_value) return FC_OK;
  return fc_fail(err, FC_CODE_REFERENCE_UNKNOWN,
                 "the session has no value '%.*s'",
                 (int)(name.size < 64 ? name.size : 64), name.data);
}

fc_status_t fc_session_remove(fc_session_t *session, fc_str_t name,
                              fc_error_t *err) {
  fc_kept_t *value;
  FC_ASSERT(!session->claim.held);
  FC_TRY(find(session, name, &value, err));
  let_go(session, value);
  const size_t behind =
      (size_t)(&session->values[--session->count] - value) * sizeof *value;
  memmove(value, value + 1, behind);
  return FC_OK;
}

fc_status_t fc_session_make_room(fc_session_t *session, uint32_t count,
                                 fc_error_t *err) {
  if (count <= session->capacity) return FC_OK;
  uint32_t capacity = session->capacity ? 2 * session->capacity : 1;
  if (capacity < count) capacity = count;
  fc_kept_t *values =
      fc_realloc(session->all->allocator, session->values,
                 session->capacity * sizeof *values, capacity * sizeof *values);
  if (!values) return fc_fail_memory(err);
  session->values = values;
  session->capacity = capacity;
  return FC_OK;
}

static uint64_t rest(uint64_t limit, uint64_t more, uint64_t used) {
  return used < limit + more ? limit + more - used : 0;
}

uint64_t fc_session_left(const fc_session_t *session, uint64_t more,
                         fc_code_t *out_code) {
  const fc_sessions_t *all = session->all;
  // Without the byte that counts for each living session (count_for_owner).
  const uint64_t owned = fc_owners_held(&all->bytes_owned, &session->owner) -
                         fc_owners_held(&all->counts_owned, &session->owner);
  const uint64_t own = rest(session->max_bytes, more, session->bytes);
  const uint64_t owners = rest(all->limits.owner_memory, more, owned);
  const uint64_t servers = rest(all->limits.memory, more, all->bytes);
  const uint64_t left = own < owners ? own : owners;
  *out_code = servers < left ? FC_CODE_OVERLOADED : FC_CODE_TOO_MANY_REQUESTS;
  return servers < left ? servers : left;
}

fc_status_t fc_session_check_room(const fc_session_t *session, uint64_t size,
                                  fc_error_t *err) {
  fc_code_t code;
  const uint64_t left = fc_session_left(session, 0, &code);
  if (size <= left) return FC_OK;
  return fc_fail(err, code,
                 "the values take %llu bytes more, %llu are left for values "
                 "that stay",
                 (unsigned long long)size, (unsigned long long)left);
}

void fc_session_share(fc_session_t *session, fc_str_t name,
                      const fc_kept_t *from) {
  fc_kept_t *to = fc_session_value(session, name);
  const fc_kept_t shared = *from;
  if (shared.place) shared.place->counts++;
  fc_session_weigh(session, fc_store_pages(shared.row.size), 0);
  if (to) let_go(session, to);
  else to = &session->values[session->count++];
  *to = shared;
  memset(to->row.name, 0, sizeof to->row.name);
  memcpy(to->row.name, name.data, name.size);
  to->row.name_size = (uint8_t)name.size;
}
