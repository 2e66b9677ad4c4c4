// SPDX-License-Identifier: Apache-2.0
//
// One worker process, as its host sees it: its calls, the files lent to it, and the
// nursery's work for it. Loop thread, except fc_cradle_t.
#ifndef FARCALL_SERVER_POOL_PROCESS_CHILD_H_
#define FARCALL_SERVER_POOL_PROCESS_CHILD_H_

#include <uv.h>

#include "control/nursery.h"
#include "obs/log.h"
#include "pool/host.h"
#include "pool/job.h"
#include "pool/output.h"
#include "pool/process.h"
#include "pool/ring.h"

typedef struct fc_process_host_t fc_process_host_t;
typedef struct fc_child_t fc_child_t;

// Why a process was ended.
typedef enum fc_cause_t {
  FC_CAUSE_NONE,
  FC_CAUSE_DEADLINE,
  FC_CAUSE_BATCH,  // its batch takes too long
  // Nobody waits for its call, and other calls wait for a worker.
  FC_CAUSE_DROPPED,
  // It wrote something to the shared memory that no honest worker writes.
  FC_CAUSE_LIE,
  FC_CAUSE_GREED,  // it took more of that memory than its calls need
  FC_CAUSE_NOISE,  // it wakes the loop although no call has ended
  FC_CAUSE_SHUT,   // it cannot be sent files, and a call of a session waits
  FC_CAUSE_LOAD,   // it did not begin to serve in time, or could not
  FC_CAUSE_RETIRED,  // its generation is retired, or quarantined while it had no calls
  // It had no call for long, and the module has another process.
  FC_CAUSE_SPARE,
  FC_CAUSE_USED,  // it has made its one call (--fresh=call)
  // A call found no memory: memory may be lost for later calls, too.
  FC_CAUSE_MEMORY,
  FC_CAUSE_TIME,  // ended by the kernel: it had used up --worker-cpu-time
  FC_CAUSE_COUNT
} fc_cause_t;

typedef struct fc_cause_row_t {
  bool crash;            // it counts as a crash of the module
  fc_log_level_t level;  // of what is logged
  const char *text;
  const char *how;  // the text for the log; NULL: what the kernel reports
} fc_cause_row_t;

extern const fc_cause_row_t fc_causes[FC_CAUSE_COUNT];

// A call in a slot of the ring.
typedef struct fc_held_t {
  fc_job_t *job;           // NULL: nobody waits for the call any more
  fc_owner_count_t count;  // of a call that nobody waits for
  fc_ring_call_t sent;
  uint32_t function;
  uint64_t limit_ns;  // fc_job_t.limit_ns
  // When the batch is given up; 0: never, or the call is in none.
  uint64_t batch_ns;
  // When its client was answered because of its deadline, or left; 0: the client waits.
  uint64_t left_ns;
  bool late;          // its deadline has passed
  fc_owner_t caller;  // of a call that nobody waits for
  uint32_t tray;      // for the answer; FC_RING_TRAYS: none, or not any more
  // The block of a body in a file, if the call has outlived its job; else FC_BLOCK_NONE.
  uint32_t body;
  uint32_t body_offset;
  // Of the call's session; NULL: none, or the job has taken it.
  fc_claim_t *claim;
  bool taken;  // the desk was read
} fc_held_t;

// The newest call of a child, while its body is copied into the ring.
typedef struct fc_giving_t {
  bool active;
  uint64_t copied;
} fc_giving_t;

// The oldest call of a child, when it is DONE: its answer is copied out of the ring, and
// the memory of the answer there is given back.
typedef struct fc_taking_t {
  bool active;
  bool good;         // the outcome has an answer, and there are blocks for it
  bool honest;       // an honest worker can have written the outcome
  uint64_t size;     // bytes of the answer in the ring
  uint64_t in_file;  // bytes after those, in `lent`
  uint32_t lent;     // the block of the file that was lent for the answer
  uint64_t in_body;  // bytes after those, in the file of the body
  uint32_t body_at;
  // The state that a turn has left: bytes in the area for bodies, from `carry_at` on.
  uint64_t carry;
  uint32_t carry_at;
  uint64_t carried;  // how many of these bytes were copied
  // The destination: the block of the job's body if it is large enough, else another one
  // (`is_new`).
  uint32_t carry_block;
  bool is_new;
  uint64_t copied;
  // Bytes of the answer's area that the worker may have written.
  uint64_t answer_used;
  fc_block_sink_t sink;
  fc_outcome_t outcome;
} fc_taking_t;

// A tray: the place where the process has a file for answers mapped. The file stays
// mapped there after its answer was taken, so that it can be lent to the process again
// without being sent again.
typedef struct fc_tray_t {
  uint64_t serial;  // of the file; 0: none was sent yet
  uint32_t block;   // of the file while it is lent; else FC_BLOCK_NONE
  bool given;       // given to a call that the process has
} fc_tray_t;

// A shelf: the place where the process has a file of bodies mapped. The file stays mapped
// after the call has ended, so that the next body in it need not be sent again.
typedef struct fc_shelved_t {
  uint64_t serial;  // of the file; 0: none, or the process may have lost it
  uint32_t calls;   // calls of the process whose body lies there
} fc_shelved_t;

// How many bytes of the areas of a slot were filled.
typedef struct fc_filled_t {
  uint64_t body;
  uint64_t answer;
} fc_filled_t;

// The cradle: the nursery's data of a child. The nursery makes the process, receives
// its output and its end, and removes it (an order is an fc_order_t here). The nursery
// owns this struct from the order `birth` until the reply about the end, and from the
// order `burial` until that is done; otherwise the loop owns it.
typedef struct fc_cradle_t {
  fc_order_t birth;  // reply: there is a process, or `error` says why not
  // The nursery replies unasked: `output` has lines for the log.
  fc_order_t said;
  fc_order_t end;    // the nursery replies unasked: the process has ended
  fc_order_t heavy;  // the nursery replies unasked: it takes much shared memory
  fc_order_t scrub;  // empties the areas of a slot (`scrubbed`)
  fc_order_t burial;  // empties the ring and closes the files
  // In the nursery's list of processes that it measures.
  struct fc_child_t *next;
  fc_vigil_t exit;
  fc_vigil_t print;
  fc_process_start_t start;
  fc_process_t process;
  fc_process_end_t how;  // how the process ended
  fc_output_t output;
  bool ended;
  bool telling;  // the loop has the lines of `output` now
  // The loop was told that the process is heavy, and has not answered.
  bool weighed;
  bool failed;
  fc_error_t error;
  uint32_t scrubbed;  // the slot that the order `scrub` empties
  // How far the area of the body is emptied; the answer's follows.
  uint64_t body_at;
  uint64_t answer_at;
  bool scrubbing;  // used by the loop: the order `scrub` is on its way
} fc_cradle_t;

struct fc_child_t {
  fc_process_host_t *host;
  fc_home_t home;  // of the references that it keeps
  fc_child_t *next;
  fc_process_t process;  // all files are -1 until the process exists
  fc_process_end_t end;
  fc_ring_t ring;
  fc_cradle_t cradle;
  uv_poll_t bell_poll;
  bool serving;
  bool ended;     // as `end` says; answers that it left may still be copied
  bool buried;    // the nursery has no work with it any more
  bool notified;  // false: it was given calls that it was not notified of
  bool asleep;    // the loop waits for the eventfd of the process
  // A call found no memory: the process gets no more calls and is ended.
  bool spent;
  bool unreachable;  // it has closed the socket for files, or does not read it
  // Counts checks since a call of a session found it unreachable, from 1; 0: none did.
  uint8_t shut;
  uint64_t audience;  // of the files that only this process gets (block.h)
  fc_tray_t trays[FC_RING_TRAYS];
  // The descriptors of the trays' lent files, plus 1; 0: none. The nursery measures these
  // files. A descriptor whose file was taken back may belong to another file by then. So
  // the loop measures again before it acts, which takes a microsecond for each file.
  _Atomic int lent[FC_RING_TRAYS];
  uint32_t next_tray;
  fc_shelved_t shelves[FC_RING_SHELVES];
  uint64_t slab;  // serial of the slab that was sent to the process; 0: none
  // A copy of the newest call of a session, with the operator's deadline.
  fc_invocation_t claimed;
  uint32_t next_shelf;
  fc_cause_t cause;
  uint64_t started_ns;
  uint64_t calls;  // calls that the process has finished
  // Time of the last check at which the process had calls, or had finished some since the
  // previous check.
  uint64_t quiet_ns;
  uint64_t quiet_calls;  // `calls` at that check
  uint64_t bells;        // how often the process woke the loop
  uint32_t first;        // the oldest slot in use
  uint32_t count;        // slots in use
  // The newest slots, which are a batch that calls may still join.
  uint32_t open;
  uint64_t batch_ns;  // how long the batch may go on without an answer
  // Calls of a batch are made again because the process has ended.
  bool batch_failed;
  // The number of slots before these that calls have left and that are not free yet. The
  // nursery empties them one after another. Meanwhile a slot's entry does not change.
  uint32_t left;
  fc_filled_t filled[FC_RING_SLOTS];
  fc_held_t held[FC_RING_SLOTS];
  fc_giving_t giving;
  fc_taking_t taking;
};

// process_child.c

// Orders one more process. Until it exists, or if it cannot be made, it counts as
// starting.
fc_status_t fc_child_start(fc_process_host_t *host, fc_error_t *err);
void fc_child_kill(fc_child_t *child, fc_cause_t cause);
// Call it when the process has ended: removes its child from the list of its host. The
// child is freed when the nursery has buried it, and no session is left in its home
// (fc_child_let_go).
void fc_child_close(fc_child_t *child);
void fc_child_let_go(fc_child_t *child);
// Frees the child at once. The nursery must have buried it, have failed to make it, or
// have stopped; if it has stopped, the process is killed and waited for.
void fc_child_free(fc_child_t *child);
// Returns how long the process may take to load its module (process_host.c). If more than
// FC_LIMIT_LOAD_TOGETHER processes load now, the time grows with their number, because
// they share the processors.
uint64_t fc_child_load_ns(const fc_child_t *child);
// Checks whether the process has loaded its module, and begins to serve or kills it.
void fc_child_read_phase(fc_child_t *child);

// process_give.c

// Copies more of the body of the newest call.
void fc_child_give_on(fc_child_t *child);
// If the process has room, passes claims whose calls wait for this process.
void fc_child_pass_waiting(fc_child_t *child);
// Closes the newest batch, if there is one: the process may begin it.
void fc_child_close_batch(fc_child_t *child);
// Puts a call of a failed batch back into the queue, to be made outside a batch.
void fc_child_make_alone(fc_child_t *child, fc_job_t *job);

// process_take.c

// Removes the oldest call from a child, whether the call has ended or not.
fc_held_t fc_child_pop(fc_child_t *child);
// Delivers the calls that the child has finished, as far as one turn allows.
void fc_child_collect(fc_child_t *child);
// Frees slots that calls have left, the oldest first, until one must be emptied, which is
// then ordered.
void fc_child_free_slots(fc_child_t *child);
// Returns the state of a call that the child has. While the body is still being copied
// the state is READY: the child has not begun the call.
uint32_t fc_child_state(const fc_child_t *child, uint32_t index);
// Ends the copies in progress, and releases the files that the child has.
void fc_child_drop_copies(fc_child_t *child);

// process_files.c

// Lends the process a file for the answer of a call, in case the answer is large. Returns
// its tray. FC_RING_TRAYS: there is no file, and the answer will be copied.
uint32_t fc_child_lend(fc_child_t *child);
// Call it when the call that had the tray, if any, has ended. FC_RING_TRAYS is allowed.
void fc_child_leave_tray(fc_child_t *child, uint32_t tray);
// Takes back the files that are lent for no call.
void fc_child_reclaim(fc_child_t *child);
// Takes all files back, because the process has ended.
void fc_child_drop_files(fc_child_t *child);
// Sends the process the body of a call that is about to be published. False: the body is
// not above FC_LIMIT_SHARED, is in no file, or cannot be sent.
bool fc_child_send_body(fc_child_t *child, fc_held_t *held);
// Call it when the call leaves its slot. If the call failed, the process may have lost
// the file of its body; the file is then sent again with the next body in it.
void fc_child_leave_shelf(fc_child_t *child, const fc_held_t *held,
                          bool failed);
// Notes that nobody waits for the call any more. The process may still read a body in a
// file, which is kept until the call leaves its slot; so is the job's count. Returns the
// job, NULL if there was none.
fc_job_t *fc_child_forget(fc_held_t *held, uint64_t now_ns);
// Call it after fc_child_forget: if nobody waits for any call of the batch, stops the
// batch.
void fc_child_note_left(fc_child_t *child, const fc_held_t *held);
// Gives the body of a call that the child has. False: the call was taken back, and its
// body in a file went with it.
bool fc_child_body(const fc_child_t *child, uint32_t index, fc_str_t *out_body);
// Returns the bytes of shared memory that the process uses and that are counted nowhere
// else: in its ring, and in files for answers.
uint64_t fc_child_taken(const fc_child_t *child);

// process_claim.c

// Does the process lack the slab of the call, and can the slab not be sent to it? Then
// the process gets no more calls, and is ended. `claim` NULL: no slab is needed.
bool fc_child_is_shut(fc_child_t *child, const fc_claim_t *claim);
// Before a call of a session is given: sends the process the slab, if it does not have
// it. FULL: not now, or never if the process is unreachable. REFUSED:
// FC_CODE_OUT_OF_MEMORY.
fc_offer_t fc_child_send_slab(fc_child_t *child, const fc_claim_t *claim,
                              fc_error_t *err) FC_MUST_CHECK;
// Fills in the desk of a session's call, in the ring, before the process gets the call.
// child->claimed becomes the call if it has the operator's deadline.
void fc_child_lay(fc_child_t *child, fc_held_t *held, uint32_t index);
// Takes the desk of the oldest call, which is DONE. False: the worker lied, as the
// outcome's error says, and the session is lost.
bool fc_child_take_desk(fc_child_t *child, fc_held_t *held,
                        fc_outcome_t *outcome);
// Call it when the call leaves its slot. If it was `begun` and its desk was not taken,
// the session is lost.
void fc_child_leave_claim(fc_child_t *child, const fc_held_t *held, bool begun);
// Makes the process a home (home.h) that has no references.
void fc_child_make_home(fc_child_t *child);
// Returns the process that keeps the references of the claim's session.
fc_child_t *fc_child_of_home(const fc_claim_t *claim);
// Call it when the process will not make the call, which keeps its claim.
void fc_child_return_claim(fc_held_t *held);
// Call it when nobody waits for the call any more. True: the call runs on, because it
// belongs to a session and has begun. False: the process must not begin it.
bool fc_child_runs_on(fc_child_t *child, const fc_held_t *held, uint32_t index);

// process_carry.c

// Finds room for the state that a turn has left: taking->carry_block. The job keeps the
// old body until everything is copied.
bool fc_child_open_carry(fc_child_t *child, fc_job_t *job, fc_error_t *err);
// Returns how much of the body's area may be filled when a call leaves its slot. A turn
// may have left state there.
uint64_t fc_child_used_of_body(const fc_child_t *child, const fc_held_t *held);
// Tells the job of a call in parts how many steps were done.
void fc_child_note_steps(fc_child_t *child, uint32_t index);

// process_time.c

// The nursery has found that the process uses much memory: ends it if it uses more than
// its calls may.
void fc_child_weigh(fc_child_t *child);
// Call it when the call has left its process. If nobody waited for it while it ran,
// charges its caller for the time, and for the time of a new process if this one was
// `killed` for it.
void fc_child_charge(const fc_child_t *child, const fc_held_t *held,
                     bool killed);

// process_stops.c

// Logs the system calls that the jail has refused, as the child reports them, each once
// for its module.
void fc_child_read_stops(fc_child_t *child);

// process_end.c

// Handles the end of the process, as child->end describes it.
void fc_child_on_end(fc_child_t *child);
// Delivers the calls that the process had finished, as far as one turn allows. Closes the
// child when all are delivered.
void fc_child_settle(fc_child_t *child);

// process_nursery.c

// Orders the process that child->cradle.start describes.
void fc_cradle_order(fc_child_t *child);
// Orders the nursery to empty the areas of a slot that its call has left.
void fc_cradle_scrub(fc_child_t *child, uint32_t slot);
// Orders the burial of a process that has ended: its ring is emptied and its files are
// closed.
void fc_cradle_bury(fc_child_t *child);
// Handle the replies to these orders (process_child.c). In between, the lines that the
// process has printed are logged.
void fc_child_on_born(fc_order_t *birth);
void fc_child_on_said(fc_order_t *said);
void fc_child_on_heavy(fc_order_t *heavy);
void fc_child_on_gone(fc_order_t *end);
void fc_child_on_scrubbed(fc_order_t *scrub);
void fc_child_on_buried(fc_order_t *burial);

#endif  // FARCALL_SERVER_POOL_PROCESS_CHILD_H_
