// SPDX-License-Identifier: Apache-2.0
//
// Sessions. Each has named values (core/state/store.h), an order in which its calls are
// made (pool/claim.h), a budget and an end. A session belongs to one generation of a
// module, which stays as long as the session; the values lie in that generation's slab.
// A session that was made with a token or by a known user may be used only by that
// client; any other by everybody who knows its id. Loop thread.
//
// A lost session stays until its time is over, without values: its calls are told that
// it was lost. An ended session cannot be found any more.
#ifndef FARCALL_SERVER_STATE_SESSION_H_
#define FARCALL_SERVER_STATE_SESSION_H_

#include "pool/owner.h"
#include "state/slab.h"

#define FC_SESSION_ID_SIZE 32  // hex digits
#define FC_SESSION_DIGEST_SIZE 12
#define FC_SESSION_LOST_IN 64

typedef struct fc_session_t fc_session_t;

// How sessions end.
typedef enum fc_session_end_t {
#define FC_SESSION_END(name, text, how) FC_SESSION_END_##name,
#include "state/end.def"
#undef FC_SESSION_END
  FC_SESSION_END_COUNT
} fc_session_end_t;

typedef struct fc_session_limits_t {
  uint32_t sessions;        // of the server
  uint32_t owner_sessions;  // of one owner
  uint64_t memory;          // bytes of pages, of all sessions
  uint64_t owner_memory;    // of all sessions of one owner
  // Idle time after which a session ends, unless it has its own.
  uint64_t ttl_ns;
} fc_session_limits_t;

// A value of a session.
typedef struct fc_kept_t {
  fc_store_row_t row;
  fc_store_place_t *place;  // NULL: the value has no bytes
} fc_kept_t;

struct fc_session_t {
  fc_claim_t claim;
  struct fc_sessions_t *all;
  fc_session_t *next;  // the next session whose id has the same hash
  // Links the sessions that end with one connection. *bond is the pointer to this
  // session; `bond` NULL: it ends with no connection.
  fc_session_t **bond;
  fc_session_t *next_bound;
  uint32_t index;  // in all->places
  uint8_t id[FC_SESSION_ID_SIZE / 2];
  void *module;  // holds the generation; released by all->let_go
  fc_slab_t *slab;
  fc_owner_t owner;
  bool owned;  // only the owner may use the session
  // A call writes into copies of the values, so a failed call leaves them unchanged.
  bool checkpoint;
  bool starts;  // a sequence whose first call was not made yet
  bool lost;
  // Its connection has ended: fc_sessions_look must end the session.
  bool left;
  bool ended;         // it cannot be found any more
  bool retired;       // nor can this one, but its requests go on; then it ends
  uint8_t end;        // fc_session_end_t of a lost or ended session
  uint32_t pins;      // requests that may still use the session
  uint32_t bytes_of;  // the owner's entry in all->bytes_owned
  fc_owner_count_t counted;
  uint64_t ttl_ns;
  uint64_t used_ns;  // when it was last used
  uint64_t made_ns;
  // When its generation was seen to be replaced; 0: it was not.
  uint64_t replaced_ns;
  uint64_t max_bytes;
  uint64_t bytes;  // of the pages of its values; a shared page counts in full
  uint64_t step;   // the number of calls that may have changed the session
  // The pages for new values. Nobody has written there, except the running call.
  uint64_t grant, grant_end;
  bool granted;  // a call has the grant, or ended without its desk being taken
  uint64_t budget;  // of the running call, bytes
  // The part of `budget` that copies of shared values may take.
  uint64_t copies;
  uint32_t laid;  // the number of values when the desk was laid
  fc_kept_t *values;
  uint32_t count, capacity;
  // Name of the function whose call lost the session.
  char lost_in[FC_SESSION_LOST_IN];
};

// All sessions of a server. A new struct is zeroed, except the members up to `context`.
typedef struct fc_sessions_t {
  fc_allocator_t allocator;
  fc_session_limits_t limits;
  const fc_claim_class_t *claims;  // fc_session_claims
  fc_nursery_t *nursery;           // NULL: memory is given back at once (tests)
  // Releases the hold on a generation. Called once for each session.
  void (*let_go)(void *context, void *module);
  // Was the generation replaced? Then its sessions end after drain_ns, or at once if
  // *out_gone: no other generation has its name. NULL: no generation is ever replaced.
  bool (*is_replaced)(void *context, const void *module, bool *out_gone);
  uint64_t drain_ns;
  void *context;

  fc_session_t **places;
  fc_session_t **buckets;  // by id; as many buckets as places
  uint32_t capacity;
  uint32_t count;
  uint32_t look_at;  // the place whose session is checked next for its time
  uint64_t bytes;
  uint64_t slab_serial;
  fc_slab_t *slabs;
  fc_owners_t counts_owned;
  fc_owners_t bytes_owned;
  bool keyed;       // `key` is set
  uint8_t key[32];  // for making the ids of sequences
  uint64_t made;
  uint64_t ends[FC_SESSION_END_COUNT];
} fc_sessions_t;

// The properties of a new session.
typedef struct fc_session_wish_t {
  uint64_t generation;  // serial of the session's generation
  uint32_t index;       // index of that generation
  // Where the values lie; NULL: in the generation's newest slab.
  fc_slab_t *slab;
  // Holds the generation; the session takes this over if it is made.
  void *module;
  fc_owner_t owner;
  bool owned;
  uint64_t ttl_ns;     // 0: that of the limits
  uint64_t max_bytes;  // 0: the owner's share
  bool checkpoint;
  // The first of the sessions that end with a connection. The new session is put before
  // it. NULL: the session ends with no connection.
  fc_session_t **bond;
} fc_session_wish_t;

// Returns the default limits, for `memory` bytes of values of all sessions.
fc_session_limits_t fc_session_limits(uint32_t sessions, uint64_t memory,
                                      uint64_t ttl_ns);
// Call it last: no call runs or waits, and the nursery, which uses the sessions' files,
// has stopped.
void fc_sessions_deinit(fc_sessions_t *all);

// FC_CODE_TOO_MANY_REQUESTS, _OVERLOADED: the owner or the server has its maximum of
// sessions.
fc_status_t fc_session_create(fc_sessions_t *all, const fc_session_wish_t *wish,
                              uint64_t now_ns, fc_session_t **out_session,
                              fc_error_t *err) FC_MUST_CHECK;
// Makes another session with the same values, which share their memory. `wish` says
// whose it is. No call may hold the claim of `from`. FC_CODE_SESSION_LOST;
// FC_CODE_TYPE_MISMATCH if a value is an opaque reference; and as fc_session_create.
fc_status_t fc_session_fork(const fc_session_t *from,
                            const fc_session_wish_t *wish, uint64_t now_ns,
                            fc_session_t **out_session,
                            fc_error_t *err) FC_MUST_CHECK;
// Finds the session of this id if `owner` may use it; it may be lost.
// FC_CODE_SESSION_NOT_FOUND.
fc_status_t fc_session_find(const fc_sessions_t *all, fc_str_t id,
                            const fc_owner_t *owner, uint64_t now_ns,
                            fc_session_t **out_session,
                            fc_error_t *err) FC_MUST_CHECK;
// Makes the id of the session for the sequence `name` of the owner's calls of a module.
// Others cannot compute the id. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_session_id_of(fc_sessions_t *all, const fc_owner_t *owner,
                             fc_str_t module, fc_str_t name,
                             char out[FC_SESSION_ID_SIZE],
                             fc_error_t *err) FC_MUST_CHECK;
// Gives a session that was just made another id: `id`, FC_SESSION_ID_SIZE digits. No
// other session that can be found may have this id.
void fc_session_name(fc_session_t *session, fc_str_t id);
// Each session gets the other's id. Neither may be checkpointed.
void fc_session_swap_ids(fc_session_t *session, fc_session_t *other);
// Is the session lost? Its values may still be there.
bool fc_session_is_lost(const fc_session_t *session);
// Fails with FC_CODE_SESSION_LOST and the reason if the session is lost.
fc_status_t fc_session_check(const fc_session_t *session,
                             fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_SESSION_BUSY: the session is at another step, or calls of it wait.
fc_status_t fc_session_check_step(const fc_session_t *session, uint64_t step,
                                  fc_error_t *err) FC_MUST_CHECK;
// A pinned session is not freed. fc_session_unpin also notes that the session was used.
void fc_session_pin(fc_session_t *session);
void fc_session_unpin(fc_session_t *session, uint64_t now_ns);
// Ends a session: it cannot be found any more. Waiting calls are refused when the
// running call has left its worker. The session may be freed.
void fc_session_end(fc_session_t *session, fc_session_end_t why);
// The session cannot be found any more. It ends when no request has it pinned, which may
// be at once.
void fc_session_retire(fc_session_t *session);
// Ends the sessions of a connection that has ended, up to FC_LIMIT_BOUND_ENDS;
// fc_sessions_look ends the others.
void fc_sessions_end_bound(fc_session_t **first);
// Checks `most` sessions. Ends those that were idle for too long, or whose generation
// was replaced.
void fc_sessions_look(fc_sessions_t *all, uint32_t most, uint64_t now_ns);

// Returns when the session ends because its generation was replaced, even if it is
// used; 0: the generation was not replaced.
uint64_t fc_session_drained_ns(fc_session_t *session, uint64_t now_ns);

// Moves the sessions of the generation `from` (their `module`), and its slabs, to the
// generation `to`, which has this serial and index. Calls that have begun stay in
// `from`, and so do sessions with opaque references. Returns the number of sessions that
// were moved: the caller moves as many holds.
uint32_t fc_sessions_pass(fc_sessions_t *all, const void *from, void *to,
                          uint64_t generation, uint32_t index);

// Measures the slabs. If workers have written more to a slab than was granted, all its
// sessions are lost. Then returns true, and *out_index is the index of the generation of
// one of them: the workers of all generations of this module must be ended.
bool fc_sessions_weigh(fc_sessions_t *all, uint32_t *out_index);

// For fc_session_reset and fc_session_remove: no call may hold the claim.
void fc_session_reset(fc_session_t *session);
// FC_CODE_REFERENCE_UNKNOWN: the session has no value of that name.
fc_status_t fc_session_remove(fc_session_t *session, fc_str_t name,
                              fc_error_t *err) FC_MUST_CHECK;
// Returns the value of this name; NULL: there is none.
fc_kept_t *fc_session_value(const fc_session_t *session, fc_str_t name);

void fc_session_print_id(const fc_session_t *session,
                         char out[FC_SESSION_ID_SIZE]);
// Prints the digest, which logs and traces show instead of the id: the id gives access.
void fc_session_print_digest(const fc_session_t *session,
                             char out[FC_SESSION_DIGEST_SIZE]);

// The functions by which calls change their sessions (desk.c).
extern const fc_claim_class_t fc_session_claims;

// Functions that the files of a session call among themselves.
//
// Sets the step of the session.
void fc_session_set_step(fc_session_t *session, uint64_t step);
// Drops all values.
void fc_session_drop_values(fc_session_t *session);
// Makes room for `count` values.
fc_status_t fc_session_make_room(fc_session_t *session, uint32_t count,
                                 fc_error_t *err) FC_MUST_CHECK;
// Returns how many more bytes the values may take if all limits were `more` bytes
// higher. *out_code is the error's code if that is too little.
uint64_t fc_session_left(const fc_session_t *session, uint64_t more,
                         fc_code_t *out_code);
// FC_CODE_TOO_MANY_REQUESTS, _OVERLOADED: the values may not take `size` more bytes.
fc_status_t fc_session_check_room(const fc_session_t *session, uint64_t size,
                                  fc_error_t *err) FC_MUST_CHECK;
// Adds a value of the same slab to the session, which must have room for it. The bytes
// are shared.
void fc_session_share(fc_session_t *session, fc_str_t name,
                      const fc_kept_t *from);
// Leaves the pages or the reference of a value that goes, or that another replaces.
void fc_session_leave(fc_session_t *session, const fc_kept_t *value);
// Adds `more` to the bytes that the values take, and subtracts `less`.
void fc_session_weigh(fc_session_t *session, uint64_t more, uint64_t less);
// The session will be lost because of a call of `function` that still runs. Until
// fc_session_lose its values, and the pages that the call was granted, stay.
void fc_session_condemn(fc_session_t *session, fc_str_t function,
                        fc_session_end_t why);
// The session is lost because of a call of `function`: drops its values.
void fc_session_lose(fc_session_t *session, fc_str_t function,
                     fc_session_end_t why);
// Frees the session if it has ended and nobody needs it any more.
void fc_session_settle(fc_session_t *session);

#endif  // FARCALL_SERVER_STATE_SESSION_H_
