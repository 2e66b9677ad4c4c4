// SPDX-License-Identifier: Apache-2.0
//
// Sessions: each has named values (core/state/store.h), an order in which its calls are
// made (pool/claim.h), a budget and an end. A session belongs to one generation of a
// module, which stays as long as the session; its values lie in that generation's slab.
// Whoever knows the id of a session may use it, and if it was made with a token or by a
// known user, only they. The loop's thread.
//
// A session that was lost stays until its time is over, without values, and says so; one
// that has ended is not found any more.
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
  uint64_t ttl_ns;  // idle time after which a session ends, if it says nothing
} fc_session_limits_t;

// A value of a session.
typedef struct fc_kept_t {
  fc_store_row_t row;
  fc_store_place_t *place;  // NULL: it has no bytes
} fc_kept_t;

struct fc_session_t {
  fc_claim_t claim;
  struct fc_sessions_t *all;
  fc_session_t *next;  // whose id has the same hash
  // Of those that end with the same connection: what points to this one, NULL if it ends
  // with none, and the one behind it.
  fc_session_t **bond;
  fc_session_t *next_bound;
  uint32_t index;  // of all->places
  uint8_t id[FC_SESSION_ID_SIZE / 2];
  void *module;  // what keeps the generation; given back by all->let_go
  fc_slab_t *slab;
  fc_owner_t owner;
  bool owned;  // only its owner may name it
  // A call writes into copies: one that fails leaves all as it was.
  bool checkpoint;
  bool starts;  // a sequence whose first call is not made yet
  bool lost;
  bool
      left;  // the connection that it ends with has gone: fc_sessions_look ends it
  bool ended;         // it is found no more
  uint8_t end;        // fc_session_end_t, of one that was lost or has ended
  uint32_t pins;      // by requests that may still use it
  uint32_t bytes_of;  // its owner's entry in all->bytes_owned
  fc_owner_count_t counted;
  uint64_t ttl_ns;
  uint64_t used_ns;  // when it was last used
  uint64_t made_ns;
  uint64_t
      replaced_ns;  // when its generation was seen to be replaced; 0: it was not
  uint64_t max_bytes;
  uint64_t bytes;  // of the pages of its values; shared ones count in full
  uint64_t step;   // calls that may have changed it
  // Where new values may lie: nobody has written there, but for a call that runs.
  uint64_t grant, grant_end;
  bool granted;  // a call has the grant, or went without its desk being taken
  uint64_t budget;  // of the call that runs
  uint64_t copies;  // of these, bytes that copies of shared values may take
  uint32_t laid;    // values that it began with
  fc_kept_t *values;
  uint32_t count, capacity;
  char lost_in[FC_SESSION_LOST_IN];  // name of the function whose call lost it
};

// All sessions of a server. Zeroed but for the members of the first part.
typedef struct fc_sessions_t {
  fc_allocator_t allocator;
  fc_session_limits_t limits;
  const fc_claim_class_t *claims;  // fc_session_claims
  fc_nursery_t *nursery;  // NULL: memory goes back at once, as tests want it
  // Gives back what keeps a generation. Called once for each session.
  void (*let_go)(void *context, void *module);
  // Was the generation replaced? Its sessions end after drain_ns, or at once if no other
  // has its name: it is *out_gone. NULL: none ever is.
  bool (*is_replaced)(void *context, const void *module, bool *out_gone);
  uint64_t drain_ns;
  void *context;

  fc_session_t **places;
  fc_session_t **buckets;  // by id; as many as places
  uint32_t capacity;
  uint32_t count;
  uint32_t look_at;  // the place that is looked at next for its time
  uint64_t bytes;
  uint64_t slab_serial;
  fc_slab_t *slabs;
  fc_owners_t counts_owned;
  fc_owners_t bytes_owned;
  bool keyed;       // `key` is there
  uint8_t key[32];  // ids of sequences are made from it
  uint64_t made;
  uint64_t ends[FC_SESSION_END_COUNT];
} fc_sessions_t;

// What a session is made with.
typedef struct fc_session_wish_t {
  uint64_t generation;  // serial of its generation
  uint32_t index;       // and its index
  fc_slab_t *slab;      // where its values are to lie; NULL: of the generation
  void *module;  // keeps the generation; the session has it if it is made
  fc_owner_t owner;
  bool owned;
  uint64_t ttl_ns;     // 0: as the limits say
  uint64_t max_bytes;  // 0: the owner's share
  bool checkpoint;
  // The first of the sessions that end with a connection, which this one becomes; NULL:
  // it ends with none.
  fc_session_t **bond;
} fc_session_wish_t;

// The default for `memory` bytes that sessions may have.
fc_session_limits_t fc_session_limits(uint32_t sessions, uint64_t memory,
                                      uint64_t ttl_ns);
// No call may run or wait any more, and the nursery must have stopped.
void fc_sessions_deinit(fc_sessions_t *all);

// FC_CODE_TOO_MANY_REQUESTS, _OVERLOADED: the owner or the server has as many as it may.
fc_status_t fc_session_create(fc_sessions_t *all, const fc_session_wish_t *wish,
                              uint64_t now_ns, fc_session_t **out_session,
                              fc_error_t *err) FC_MUST_CHECK;
// Another one, of `owner`, with the same values, which lie where they lay. No call may
// hold the claim of `from`. FC_CODE_SESSION_LOST, and as fc_session_create.
fc_status_t fc_session_fork(const fc_session_t *from,
                            const fc_session_wish_t *wish, uint64_t now_ns,
                            fc_session_t **out_session,
                            fc_error_t *err) FC_MUST_CHECK;
// Finds the session of this id that `owner` may name; it may be lost.
// FC_CODE_SESSION_NOT_FOUND.
fc_status_t fc_session_find(const fc_sessions_t *all, fc_str_t id,
                            const fc_owner_t *owner, uint64_t now_ns,
                            fc_session_t **out_session,
                            fc_error_t *err) FC_MUST_CHECK;
// The id of the session that is the sequence `name` of the owner's calls of a module. Who
// does not know the id cannot find it out. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_session_id_of(fc_sessions_t *all, const fc_owner_t *owner,
                             fc_str_t module, fc_str_t name,
                             char out[FC_SESSION_ID_SIZE],
                             fc_error_t *err) FC_MUST_CHECK;
// Gives a session that was just made this id, FC_SESSION_ID_SIZE digits, in place of its
// own. No other that has not ended may have it.
void fc_session_name(fc_session_t *session, fc_str_t id);
// Each has the other's id from now on. Neither is checkpointed.
void fc_session_swap_ids(fc_session_t *session, fc_session_t *other);
// FC_CODE_SESSION_LOST: its calls are refused, and why.
fc_status_t fc_session_check(const fc_session_t *session,
                             fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_SESSION_BUSY: the next call is not of this step, or others wait.
fc_status_t fc_session_check_step(const fc_session_t *session, uint64_t step,
                                  fc_error_t *err) FC_MUST_CHECK;
// While it is pinned it is not freed. A request that was answered has used it.
void fc_session_pin(fc_session_t *session);
void fc_session_unpin(fc_session_t *session, uint64_t now_ns);
// Ends it: it is found no more, and what waits is refused once the call that runs has left
// its worker. It may be freed.
void fc_session_end(fc_session_t *session, fc_session_end_t why);
// Their connection has ended: ends all of them.
void fc_sessions_end_bound(fc_session_t **first);
// Ends sessions that were idle for too long, or whose generation was replaced. Looks at
// `most` of them.
void fc_sessions_look(fc_sessions_t *all, uint32_t most, uint64_t now_ns);

// When it ends whether or not it is used, because its generation was replaced; 0: it was
// not.
uint64_t fc_session_drained_ns(fc_session_t *session, uint64_t now_ns);

// Sessions of `from`, what their `module` points at, are of `to` from now on, and so are
// their slabs, as the generation at `index` with this number. Returns how many: the caller
// moves its holds. Calls that were begun stay where they are.
uint32_t fc_sessions_pass(fc_sessions_t *all, const void *from, void *to,
                          uint64_t generation, uint32_t index);

// Weighs the slabs. Where workers have written more than they were granted, all sessions are
// lost: then true, and *out_index is the index of the generation, whose workers must be
// ended.
bool fc_sessions_weigh(fc_sessions_t *all, uint32_t *out_index);

// No call may hold its claim for these.
void fc_session_reset(fc_session_t *session);
// FC_CODE_REFERENCE_UNKNOWN.
fc_status_t fc_session_remove(fc_session_t *session, fc_str_t name,
                              fc_error_t *err) FC_MUST_CHECK;
// NULL: it has none of that name.
fc_kept_t *fc_session_value(const fc_session_t *session, fc_str_t name);

void fc_session_print_id(const fc_session_t *session,
                         char out[FC_SESSION_ID_SIZE]);
// What logs and traces show instead of the id, which is a right.
void fc_session_print_digest(const fc_session_t *session,
                             char out[FC_SESSION_DIGEST_SIZE]);

// What calls do to their sessions (desk.c).
extern const fc_claim_class_t fc_session_claims;

// Between the files of a session
// It is at `step` from now on.
void fc_session_set_step(fc_session_t *session, uint64_t step);
// Lets all values go.
void fc_session_drop_values(fc_session_t *session);
// Makes room for so many values.
fc_status_t fc_session_make_room(fc_session_t *session, uint32_t count,
                                 fc_error_t *err) FC_MUST_CHECK;
// Bytes that its values may take yet, if all limits were `more` bytes higher, and the code
// of the error when that is too little.
uint64_t fc_session_left(const fc_session_t *session, uint64_t more,
                         fc_code_t *out_code);
// FC_CODE_TOO_MANY_REQUESTS, _OVERLOADED: values may not take so many bytes more.
fc_status_t fc_session_check_room(const fc_session_t *session, uint64_t size,
                                  fc_error_t *err) FC_MUST_CHECK;
// Puts a value of the same slab on the session, which has room for it: its bytes stay
// where they are.
void fc_session_share(fc_session_t *session, fc_str_t name,
                      const fc_kept_t *from);
// Counts bytes that its values take more or less.
void fc_session_weigh(fc_session_t *session, uint64_t more, uint64_t less);
// Its values will be lost, because of a call of `function`: they, and what that call was
// granted, stay until fc_session_lose, for it still runs.
void fc_session_condemn(fc_session_t *session, fc_str_t function,
                        fc_session_end_t why);
// Its values are gone, because of a call of `function`.
void fc_session_lose(fc_session_t *session, fc_str_t function,
                     fc_session_end_t why);
// Frees it if it has ended and nobody needs it any more.
void fc_session_settle(fc_session_t *session);

#endif  // FARCALL_SERVER_STATE_SESSION_H_
