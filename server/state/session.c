// SPDX-License-Identifier: Apache-2.0
//
// Sessions, their ids, their beginning and their end. desk.c handles the effects of
// calls.
#include "state/session.h"

#include <errno.h>
#include <sys/random.h>

#include "base/hex.h"
#include "base/sha256.h"
#include "config/limits.h"

#define PLACES_AT_FIRST 16
// One owner may have an eighth of the sessions and of their memory.
#define OWNERS_SHARE 8

static const struct {
  const char *text;
  const char *how;
} kEnds[FC_SESSION_END_COUNT] = {
#define FC_SESSION_END(name, text, how) [FC_SESSION_END_##name] = {text, how},
#include "state/end.def"
#undef FC_SESSION_END
};

fc_session_limits_t fc_session_limits(uint32_t sessions, uint64_t memory,
                                      uint64_t ttl_ns) {
  const uint32_t share = sessions / OWNERS_SHARE;
  return (fc_session_limits_t){.sessions = sessions,
                               .owner_sessions = share ? share : 1,
                               .memory = memory,
                               .owner_memory = memory / OWNERS_SHARE,
                               .ttl_ns = ttl_ns};
}

// ---------------------------------------------------------------------------
// Ids

static fc_status_t fill_random(uint8_t *out, size_t size, fc_error_t *err) {
  ssize_t got;
  do got = getrandom(out, size, 0);
  while (got < 0 && errno == EINTR);
  if (got == (ssize_t)size) return FC_OK;
  return fc_fail(err, FC_CODE_INTERNAL, "the system has no random bytes");
}

static uint32_t hash(const fc_sessions_t *all, const uint8_t *id) {
  uint32_t word;
  memcpy(&word, id, sizeof word);
  return word & (all->capacity - 1);
}

static bool read_id(fc_str_t text, uint8_t out[FC_SESSION_ID_SIZE / 2]) {
  if (text.size != FC_SESSION_ID_SIZE) return false;
  for (size_t i = 0; i < text.size; i += 2) {
    const int high = fc_hex_value(text.data[i]);
    const int low = fc_hex_value(text.data[i + 1]);
    if (high < 0 || low < 0) return false;
    out[i / 2] = (uint8_t)(high << 4 | low);
  }
  return true;
}

void fc_session_print_id(const fc_session_t *session,
                         char out[FC_SESSION_ID_SIZE]) {
  for (size_t i = 0; i < sizeof session->id; i++) {
    fc_hex_put(out + 2 * i, session->id[i]);
  }
}

void fc_session_print_digest(const fc_session_t *session,
                             char out[FC_SESSION_DIGEST_SIZE]) {
  char digest[65];
  fc_sha256_hex(session->id, sizeof session->id, digest);
  memcpy(out, digest, FC_SESSION_DIGEST_SIZE);
}

static bool is_over(const fc_session_t *session, uint64_t now_ns) {
  return !session->pins && fc_claim_is_idle(&session->claim) &&
         now_ns > session->used_ns + session->ttl_ns;
}

fc_status_t fc_session_find(const fc_sessions_t *all, fc_str_t id,
                            const fc_owner_t *owner, uint64_t now_ns,
                            fc_session_t **out_session, fc_error_t *err) {
  uint8_t wanted[FC_SESSION_ID_SIZE / 2];
  fc_session_t *session = NULL;
  if (all->count && read_id(id, wanted)) {
    session = all->buckets[hash(all, wanted)];
    // A session that is over may still be listed when another session has its id.
    while (session && (session->ended || session->retired || session->left ||
                       is_over(session, now_ns) ||
                       memcmp(session->id, wanted, sizeof wanted) != 0)) {
      session = session->next;
    }
  }
  if (!session ||
      (session->owned && memcmp(&session->owner, owner, sizeof *owner) != 0)) {
    return fc_fail(
        err, FC_CODE_SESSION_NOT_FOUND,
        "there is no such session: it has ended, or another client's "
        "token made it");
  }
  *out_session = session;
  return FC_OK;
}

bool fc_session_is_lost(const fc_session_t *session) {
  return session->lost || fc_home_has_ended(&session->claim);
}

fc_status_t fc_session_check(const fc_session_t *session, fc_error_t *err) {
  if (session->ended) {
    return fc_fail(err, FC_CODE_SESSION_NOT_FOUND, "the session has ended: %s",
                   kEnds[session->end].text);
  }
  if (!fc_session_is_lost(session)) return FC_OK;
  const bool known = session->lost_in[0];
  const uint8_t end = session->lost ? session->end : FC_SESSION_END_WORKER;
  return fc_fail(err, FC_CODE_SESSION_LOST,
                 "the session is lost: its call%s%s%s at step %llu %s",
                 known ? " of '" : "", session->lost_in, known ? "'" : "",
                 (unsigned long long)session->step, kEnds[end].how);
}

fc_status_t fc_session_check_step(const fc_session_t *session, uint64_t step,
                                  fc_error_t *err) {
  const bool idle = fc_claim_is_idle(&session->claim);
  if (idle && step == session->step) return FC_OK;
  return fc_fail(err, FC_CODE_SESSION_BUSY,
                 "the call is for step %llu, the session is at step %llu%s",
                 (unsigned long long)step, (unsigned long long)session->step,
                 idle ? "" : ", and other calls of it are not answered yet");
}

// ---------------------------------------------------------------------------
// The table

static void link_id(fc_session_t *session) {
  fc_session_t **bucket =
      &session->all->buckets[hash(session->all, session->id)];
  session->next = *bucket;
  *bucket = session;
}

static void unlink_id(fc_session_t *session) {
  fc_session_t **at = &session->all->buckets[hash(session->all, session->id)];
  while (*at != session) at = &(*at)->next;
  *at = session->next;
}

static void relink(fc_sessions_t *all) {
  for (uint32_t i = 0; i < all->capacity; i++) {
    if (all->places[i]) link_id(all->places[i]);
  }
}

static fc_status_t grow(fc_sessions_t *all, fc_error_t *err) {
  const uint32_t capacity = all->capacity ? 2 * all->capacity : PLACES_AT_FIRST;
  fc_session_t **places =
      fc_alloc_array(all->allocator, capacity, sizeof *places);
  fc_session_t **buckets =
      fc_alloc_array(all->allocator, capacity, sizeof *buckets);
  if (!places || !buckets) {
    fc_free(all->allocator, (void *)places);
    fc_free(all->allocator, (void *)buckets);
    return fc_fail_memory(err);
  }
  if (all->places) {
    memcpy((void *)places, (void *)all->places, all->capacity * sizeof *places);
  }
  fc_free(all->allocator, (void *)all->places);
  fc_free(all->allocator, (void *)all->buckets);
  all->places = places;
  all->buckets = buckets;
  all->capacity = capacity;
  relink(all);
  return FC_OK;
}

static void enter(fc_sessions_t *all, fc_session_t *session) {
  uint32_t index = all->count;  // most likely free
  while (all->places[index]) index = (index + 1) & (all->capacity - 1);
  all->places[index] = session;
  session->index = index;
  link_id(session);
  all->count++;
  all->made++;
}

static void leave(fc_session_t *session) {
  fc_sessions_t *all = session->all;
  unlink_id(session);
  all->places[session->index] = NULL;
  all->count--;
}

void fc_session_name(fc_session_t *session, fc_str_t id) {
  unlink_id(session);
  const bool good = read_id(id, session->id);
  FC_ASSERT(good);
  link_id(session);
}

void fc_session_swap_ids(fc_session_t *session, fc_session_t *other) {
  uint8_t id[sizeof session->id];
  unlink_id(session);
  unlink_id(other);
  memcpy(id, session->id, sizeof id);
  memcpy(session->id, other->id, sizeof id);
  memcpy(other->id, id, sizeof id);
  link_id(session);
  link_id(other);
}

fc_status_t fc_session_id_of(fc_sessions_t *all, const fc_owner_t *owner,
                             fc_str_t module, fc_str_t name,
                             char out[FC_SESSION_ID_SIZE], fc_error_t *err) {
  char digest[65];
  fc_sha256_t hash;
  if (!all->keyed) FC_TRY(fill_random(all->key, sizeof all->key, err));
  all->keyed = true;
  fc_sha256_init(&hash);
  fc_sha256_update(&hash, all->key, sizeof all->key);
  fc_sha256_update(&hash, owner->bytes, sizeof owner->bytes);
  fc_sha256_update(&hash, &module.size, sizeof module.size);
  fc_sha256_update(&hash, module.data, module.size);
  fc_sha256_update(&hash, name.data, name.size);
  fc_sha256_finish(&hash, digest);
  memcpy(out, digest, FC_SESSION_ID_SIZE);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Making sessions

static fc_status_t check_count(const fc_sessions_t *all,
                               const fc_owner_t *owner, fc_error_t *err) {
  const fc_session_limits_t *limits = &all->limits;
  const uint64_t owned = fc_owners_held(&all->counts_owned, owner);
  if (owned >= limits->owner_sessions) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "the client has %llu sessions, and may have %u",
                   (unsigned long long)owned, limits->owner_sessions);
  }
  if (all->count < limits->sessions) return FC_OK;
  return fc_fail(err, FC_CODE_OVERLOADED,
                 "there are %u sessions, as many as there may be (--sessions)",
                 all->count);
}

// Counts the session for its owner, and one byte for as long as the session lives. So the
// owner has an entry, and values can be counted later without allocating one.
static fc_status_t count_for_owner(fc_session_t *session, fc_error_t *err) {
  fc_sessions_t *all = session->all;
  all->counts_owned.allocator = all->bytes_owned.allocator = all->allocator;
  if (!fc_owners_count(&all->counts_owned, &session->owner,
                       &session->counted)) {
    return fc_fail_memory(err);
  }
  session->bytes_of = fc_owners_charge(&all->bytes_owned, &session->owner, 1);
  if (session->bytes_of != FC_OWNER_NONE) return FC_OK;
  fc_owners_uncount(&all->counts_owned, &session->counted);
  return fc_fail_memory(err);
}

static fc_status_t set_up(fc_session_t *session, const fc_session_wish_t *wish,
                          fc_error_t *err) {
  fc_sessions_t *all = session->all;
  FC_TRY(fill_random(session->id, sizeof session->id, err));
  if (all->count >= all->capacity) FC_TRY(grow(all, err));
  FC_TRY(count_for_owner(session, err));
  if (wish->slab) {
    session->slab = fc_slab_hold(wish->slab);
    return FC_OK;
  }
  const fc_status_t status =
      fc_slab_find(&all->slabs, wish->generation, all->allocator,
                   all->slab_serial + 1, all->nursery, &session->slab, err);
  if (status == FC_OK) {
    if (session->slab->claim.serial > all->slab_serial) all->slab_serial++;
    return FC_OK;
  }
  fc_owners_release(&all->bytes_owned, session->bytes_of, 1);
  fc_owners_uncount(&all->counts_owned, &session->counted);
  return status;
}

void fc_session_set_step(fc_session_t *session, uint64_t step) {
  session->step = step;
  if (!session->checkpoint) return;
  memcpy(&session->claim.salt, session->id, sizeof session->claim.salt);
  session->claim.salt = (session->claim.salt + (step << 32)) | 1;
}

static void bind(fc_session_t *session, fc_session_t **first) {
  if (!first) return;
  session->bond = first;
  session->next_bound = *first;
  if (*first) (*first)->bond = &session->next_bound;
  *first = session;
}

static void unbind(fc_session_t *session) {
  fc_session_t *next = session->next_bound;
  if (!session->bond) return;
  *session->bond = next;
  if (next) next->bond = session->bond;
  session->bond = NULL;
}

fc_status_t fc_session_create(fc_sessions_t *all, const fc_session_wish_t *wish,
                              uint64_t now_ns, fc_session_t **out_session,
                              fc_error_t *err) {
  FC_TRY(check_count(all, &wish->owner, err));
  fc_session_t *session = fc_alloc(all->allocator, sizeof *session);
  if (!session) return fc_fail_memory(err);
  const uint64_t share = all->limits.owner_memory;
  *session = (fc_session_t){
      .claim = {.class_ = all->claims,
                .bond = {.generation = wish->index,
                         .refusal = wish->checkpoint
                                        ? FC_STORE_REFUSES_CHECKPOINT
                                        : FC_STORE_REFUSES_NONE}},
      .all = all,
      .owner = wish->owner,
      .owned = wish->owned,
      .ttl_ns = wish->ttl_ns ? wish->ttl_ns : all->limits.ttl_ns,
      .used_ns = now_ns,
      .made_ns = now_ns,
      .max_bytes =
          wish->max_bytes && wish->max_bytes < share ? wish->max_bytes : share,
      .checkpoint = wish->checkpoint};
  const fc_status_t status = set_up(session, wish, err);
  if (status != FC_OK) {
    fc_free(all->allocator, session);
    return status;
  }
  session->module = wish->module;
  session->claim.slab = &session->slab->claim;
  session->claim.bond.owner = &session->owner;
  fc_session_set_step(session, 0);
  enter(all, session);
  bind(session, wish->bond);
  *out_session = session;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Ending sessions

static void free_session(fc_session_t *session) {
  fc_sessions_t *all = session->all;
  unbind(session);
  fc_session_drop_values(session);
  fc_owners_release(&all->bytes_owned, session->bytes_of, 1);
  fc_owners_uncount(&all->counts_owned, &session->counted);
  fc_slab_return(session->slab, session->grant, session->grant_end);
  fc_slab_release(session->slab);
  leave(session);
  if (all->let_go) all->let_go(all->context, session->module);
  fc_free(all->allocator, session->values);
  fc_free(all->allocator, session);
}

void fc_session_settle(fc_session_t *session) {
  if (!session->ended || session->pins) return;
  if (fc_claim_is_idle(&session->claim)) free_session(session);
}

void fc_session_pin(fc_session_t *session) { session->pins++; }

void fc_session_unpin(fc_session_t *session, uint64_t now_ns) {
  session->pins--;
  session->used_ns = now_ns;
  if (session->retired && !session->ended) fc_session_retire(session);
  else fc_session_settle(session);
}

void fc_session_end(fc_session_t *session, fc_session_end_t why) {
  if (session->ended) return;
  session->ended = true;
  unbind(session);
  if (!session->lost) {
    session->end = (uint8_t)why;
    session->all->ends[why]++;
  }
  // A running call of the session may still write to the values.
  if (!session->claim.held) fc_session_drop_values(session);
  fc_session_settle(session);
}

void fc_session_retire(fc_session_t *session) {
  session->retired = true;
  if (!session->pins) fc_session_end(session, FC_SESSION_END_DELETED);
}

void fc_sessions_end_bound(fc_session_t **first) {
  for (int left = FC_LIMIT_BOUND_ENDS; *first && left; left--) {
    fc_session_end(*first, FC_SESSION_END_CONNECTION);
  }
  while (*first) {
    (*first)->left = true;
    unbind(*first);
  }
}

void fc_session_condemn(fc_session_t *session, fc_str_t function,
                        fc_session_end_t why) {
  if (!session->lost && !session->ended) {
    session->all->ends[why]++;
    session->end = (uint8_t)why;
    fc_escape(session->lost_in, sizeof session->lost_in,
              sizeof session->lost_in - 1, function);
  }
  session->lost = true;
}

void fc_session_lose(fc_session_t *session, fc_str_t function,
                     fc_session_end_t why) {
  fc_session_condemn(session, function, why);
  fc_session_drop_values(session);
}

// A reference cannot be copied: what it refers to is its worker's.
static fc_status_t check_copies(const fc_session_t *session, fc_error_t *err) {
  for (uint32_t i = 0; i < session->count; i++) {
    const fc_store_row_t *row = &session->values[i].row;
    if (row->kind != FC_VALUE_OPAQUE) continue;
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "value '%s' is an opaque reference (%s): a session that has "
                   "one cannot be forked",
                   row->name, row->type);
  }
  return FC_OK;
}

fc_status_t fc_session_fork(const fc_session_t *from,
                            const fc_session_wish_t *wish, uint64_t now_ns,
                            fc_session_t **out_session, fc_error_t *err) {
  FC_ASSERT(!from->claim.held);
  FC_TRY(fc_session_check(from, err));
  FC_TRY(check_copies(from, err));
  fc_session_t *session;
  fc_session_wish_t beside = *wish;
  beside.slab = from->slab;
  FC_TRY(fc_session_create(from->all, &beside, now_ns, &session, err));
  fc_status_t status = fc_session_check_room(session, from->bytes, err);
  if (status == FC_OK) status = fc_session_make_room(session, from->count, err);
  if (status != FC_OK) {
    session->module = NULL;
    fc_session_end(session, FC_SESSION_END_DELETED);
    return status;
  }
  fc_session_set_step(session, from->step);
  session->replaced_ns = from->replaced_ns;
  for (uint32_t i = 0; i < from->count; i++) {
    fc_session_share(session, fc_store_name(&from->values[i].row),
                     &from->values[i]);
  }
  *out_session = session;
  return FC_OK;
}

uint64_t fc_session_drained_ns(fc_session_t *session, uint64_t now_ns) {
  const fc_sessions_t *all = session->all;
  bool gone = false;
  if (!all->is_replaced ||
      !all->is_replaced(all->context, session->module, &gone)) {
    return 0;
  }
  if (gone) return now_ns;
  if (!session->replaced_ns) session->replaced_ns = now_ns;
  return session->replaced_ns + all->drain_ns;
}

static bool is_drained(fc_session_t *session, uint64_t now_ns) {
  const uint64_t drained_ns = fc_session_drained_ns(session, now_ns);
  return drained_ns && now_ns >= drained_ns;
}

void fc_sessions_look(fc_sessions_t *all, uint32_t most, uint64_t now_ns) {
  if (most > all->capacity) most = all->capacity;
  while (all->count && most--) {
    fc_session_t *session = all->places[all->look_at];
    all->look_at = (all->look_at + 1) & (all->capacity - 1);
    if (!session || session->ended) continue;
    if (session->left) {
      fc_session_end(session, FC_SESSION_END_CONNECTION);
    } else if (is_over(session, now_ns)) {
      fc_session_end(session, FC_SESSION_END_IDLE);
    } else if (is_drained(session, now_ns)) {
      fc_session_end(session, FC_SESSION_END_DRAINED);
    }
  }
}

// Has it references, or may the call that runs leave some?
static bool is_bound(const fc_session_t *session) {
  return session->claim.bond.home || session->claim.bond.grant.count;
}

uint32_t fc_sessions_pass(fc_sessions_t *all, const void *from, void *to,
                          uint64_t generation, uint32_t index) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < all->capacity; i++) {
    fc_session_t *session = all->places[i];
    if (!session || session->module != from || is_bound(session)) continue;
    session->module = to;
    session->claim.bond.generation = index;
    session->slab->generation = generation;
    count++;
  }
  return count;
}

// Returns one of the sessions of the slab, which are lost now; NULL: it has none.
static const fc_session_t *lose_all(fc_sessions_t *all, const fc_slab_t *slab) {
  const fc_session_t *found = NULL;
  for (uint32_t i = 0; i < all->capacity; i++) {
    fc_session_t *session = all->places[i];
    if (!session || session->slab != slab) continue;
    fc_session_lose(session, FC_STR(""), FC_SESSION_END_GREED);
    found = session;
  }
  return found;
}

// Sessions of several generations may share the slab (fc_sessions_pass), and any of these
// generations is there as long as its session is.
bool fc_sessions_weigh(fc_sessions_t *all, uint32_t *out_index) {
  for (fc_slab_t *slab = all->slabs; slab; slab = slab->next) {
    if (!fc_slab_is_greedy(slab)) continue;
    const fc_session_t *session = lose_all(all, slab);
    fc_slab_spoil(slab);
    if (!session) continue;
    *out_index = session->claim.bond.generation;
    return true;
  }
  return false;
}

void fc_sessions_deinit(fc_sessions_t *all) {
  fc_slabs_stop(all->slabs);
  for (uint32_t i = 0; i < all->capacity; i++) {
    if (all->places[i]) free_session(all->places[i]);
  }
  fc_slabs_deinit(&all->slabs);
  fc_owners_deinit(&all->counts_owned);
  fc_owners_deinit(&all->bytes_owned);
  fc_free(all->allocator, (void *)all->places);
  fc_free(all->allocator, (void *)all->buckets);
}
