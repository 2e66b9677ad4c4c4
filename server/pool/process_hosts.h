// SPDX-License-Identifier: Apache-2.0
//
// Shared by the parts of the process host:
//   process_host.c     the processes of one generation, and their timer
//   process_hosts.c    the processes of all generations, in each turn of the loop
//   process_child.c    one process, from its start until it is closed
//   process_nursery.c  the work of the nursery's thread for it
//   process_give.c, process_take.c  giving calls to it, and taking them back
//   process_files.c    bodies and answers in files
//   process_carry.c    the state that a turn of a call leaves for the next one
//   process_time.c     deadlines, calls taken back, processes that use too much memory
//                      or are no longer needed
//   process_stops.c    system calls that its jail has refused
//   process_end.c      the end of a process, for its calls and for the module
#ifndef FARCALL_SERVER_POOL_PROCESS_HOSTS_H_
#define FARCALL_SERVER_POOL_PROCESS_HOSTS_H_

#include "config/limits.h"
#include "pool/blame.h"
#include "pool/health.h"
#include "pool/process_child.h"
#include "pool/process_host.h"

// The control group of a host. The nursery makes it with the first process, and removes
// it after the last has ended. The loop reads the reasons when it is told about the first
// process.
typedef struct fc_host_group_t {
  fc_group_limits_t limits;
  fc_group_lacks_t lacks;
  fc_error_t error;  // why the group could not be made
  fc_order_t removal;
  int procs;  // cgroup.procs; -1: there is no group
  bool wanted;
  bool made;  // the group was made, or could not be made
  bool failed;
  bool told;  // used by the loop: what the group lacks was logged
} fc_host_group_t;

#define FC_CRASH_TEXT 256

// Why processes of a host have ended. Times are of fc_clock_ns' clock; 0: never.
typedef struct fc_last_ends_t {
  uint64_t crashed_ns;
  uint64_t memory_ns;
  uint64_t budget_ns;
  char crash[FC_CRASH_TEXT];  // the function, and how it crashed
} fc_last_ends_t;

struct fc_process_host_t {
  fc_host_t base;
  const fc_process_options_t *options;
  fc_process_host_t *next_busy;
  bool busy;  // in the list `busy`: its processes may have calls
  // Held, because a generation that fails releases its module.
  fc_module_t *module;
  fc_str_t name;
  uint32_t workers;  // the most calls that run at once
  uint32_t most;     // the most processes
  uint32_t tiles;    // threads for one call
  uint64_t heap;     // fc_hosting_t.heap
  bool fresh;        // a process makes one call and ends
  uint8_t sandbox;   // fc_sandbox_t
  fc_host_group_t group;
  fc_output_rate_t rate;  // of the output of its processes; used by the nursery
  uint64_t load_ns;  // from start to serving, if few load (fc_child_load_ns)
  uint64_t took_ns;  // from start to serving, of the newest process that serves
  uint64_t spent_ns;     // when a process was last found to be spent; 0: never
  fc_child_t *children;  // oldest first
  uint32_t living;
  uint32_t starting;
  uint32_t missing;  // processes that have ended and are not replaced yet
  bool loaded;       // a process has come to serve
  bool failed;       // the first process could not serve
  bool closing;
  bool retired;   // freed once `open` is 0
  uint32_t open;  // children, and the timer, until libuv has released them
  uv_timer_t timer;
  uint64_t calls;  // finished calls that came to CALL, and crashes
  fc_health_t health;
  fc_blame_t blame;
  fc_last_ends_t last;
  uint64_t alone_ns;  // no batches are formed before then; 0: no such time
  uint64_t crashes;
  uint64_t restarts;
  uint64_t quarantines;
  uint64_t cpu_ns;  // processor time of the processes that have ended
  // System calls that the jail refused, as its processes report (fc_jail_stops_t), and
  // their number.
  uint64_t stopped[FC_JAIL_CALL_NUMBERS / 64];
  uint32_t stops;
  bool stops_told;    // the log has said that further calls are not listed
  char parameters[];  // the value of --parameters, or of the module's own key
};

typedef struct fc_process_hosts_t {
  fc_hosts_t base;
  // Hosts whose processes may have calls. So modules that nobody calls cost nothing in a
  // turn.
  fc_process_host_t *busy;
  // The bytes that all hosts together may still copy in this turn; small bodies and
  // answers are copied anyway. fc_process_hosts_collect sets it to FC_LIMIT_COPY.
  uint64_t copy_left;
  // The same for bodies of batches, with FC_LIMIT_COPY_BATCH.
  uint64_t batch_left;
  uint32_t starting;     // processes of all hosts that do not serve yet
  fc_nursery_t nursery;  // started with the first host
  // Children that have ended, and are not buried yet or are the home of sessions that
  // were not told yet.
  fc_child_t *closed;
  _Atomic bool calls;  // do processes have calls? Stored once a turn
  // Used by the nursery
  fc_vigil_t weighing;
  fc_child_t *cradles;  // the cradles of processes that have not ended
  uint64_t weighed_ns;  // when all of them were measured last
  // Shared memory of the whole machine at that time, or less since, bytes.
  uint64_t shared;
  fc_order_t freeing;  // frees the files of blocks that were released
  bool is_freeing;     // used by the loop: the order `freeing` is on its way
} fc_process_hosts_t;

static inline fc_process_hosts_t *fc_process_hosts_of(
    const fc_process_host_t *host) {
  return (fc_process_hosts_t *)host->base.hosts;
}

// Subtracts up to `size` bytes from the bytes that may still be copied in this turn, and
// returns how many; 0: none.
static inline uint64_t fc_process_hosts_copy(fc_process_hosts_t *all,
                                             uint64_t size) {
  if (size > all->copy_left) size = all->copy_left;
  all->copy_left -= size;
  return size;
}

// Is the size so small that it is copied in any turn?
static inline bool fc_process_is_small(uint64_t size) {
  return size <= FC_LIMIT_COPY_SMALL;
}

// process_host.c

// Starts one more process, if the host may have one now.
void fc_process_host_start(fc_process_host_t *host);
// Starts one process if the host has none and may have one now. With `fresh`, after the
// module was loaded once, also starts one if fewer than `workers` are unused, so that
// calls find one ready.
void fc_process_host_fill(fc_process_host_t *host);
// Adds `change`, 1 or -1, to the number of processes that do not serve yet.
void fc_process_host_count_starting(fc_process_host_t *host, int change);
// Handles that a process could not be made.
void fc_process_host_lacks(fc_process_host_t *host, const fc_error_t *error);
// Sets the host's timer to the next time at which it has work.
void fc_process_host_arm(fc_process_host_t *host);
// The first process did not begin to serve, so the module cannot be loaded. Does nothing
// if a process has served, or if this was reported before.
void fc_process_host_fail(fc_process_host_t *host, const fc_error_t *error);
fc_str_t fc_process_host_function(const fc_process_host_t *host,
                                  uint32_t function);
fc_status_t fc_process_host_admit(const fc_host_t *host, uint32_t *out_room,
                                  uint32_t *out_retry_s, fc_error_t *err);
// Logs what the control group lacks, after the nursery has made it.
void fc_process_host_tell_lacks(fc_process_host_t *host);
// Call it when a child was freed or the timer closed: subtracts 1 from `open`. At 0 a
// retired host is freed, after its control group was removed.
void fc_process_host_let_go(fc_process_host_t *host);

// Called when the nursery has removed the control group.
void fc_process_host_on_left(fc_order_t *removal);

// process_give.c

fc_offer_t fc_process_host_offer(fc_host_t *host, fc_job_t *job,
                                 fc_ahead_t ahead, fc_error_t *err);
// False if the body is above FC_LIMIT_BATCH_BODY, or shortly after a batch ended its
// process.
bool fc_process_host_may_join(const fc_host_t *host, const fc_job_t *job);
bool fc_process_host_join(fc_host_t *host, const fc_job_t *first,
                          fc_job_t *job);
void fc_process_host_drop(fc_host_t *host, fc_job_t *job);
// Lists it as one whose processes have calls, or are to be notified.
void fc_process_host_list(fc_process_host_t *host);
fc_str_t fc_process_host_body(const fc_process_host_t *host,
                              const fc_job_t *job);

// process_hosts.c

void fc_process_hosts_collect(fc_hosts_t *hosts, bool awake);
void fc_process_hosts_notify(fc_hosts_t *hosts);
bool fc_process_hosts_sleep(fc_hosts_t *hosts);
void fc_process_hosts_wake(fc_hosts_t *hosts);

// process_time.c

static inline uint64_t fc_earlier(uint64_t a_ns, uint64_t b_ns) {
  return !a_ns || (b_ns && b_ns < a_ns) ? b_ns : a_ns;
}

// Does a process start in the place of one that was ended? Before the next process is
// ended because of clients' requests, that one must serve: clients cannot end processes
// faster than they are replaced.
bool fc_process_host_is_replacing(const fc_process_host_t *host);
void fc_process_hosts_expire(fc_hosts_t *hosts, uint64_t now_ns);
void fc_process_hosts_look(fc_hosts_t *hosts, uint64_t now_ns);

// process_end.c

// Fails the waiting calls: no process can run them before the quarantine ends.
void fc_process_host_refuse(fc_process_host_t *host);

// process_nursery.c

// Sets up the nursery's work for all processes: measuring and freeing shared files.
// Call it before the nursery gets any order (fc_order_t).
void fc_cradles_init(fc_process_hosts_t *all);
// Orders the freeing of files that blocks have released, if there are any.
void fc_cradles_free_files(fc_process_hosts_t *all);
// Orders the removal of the control group of a host without processes.
void fc_cradle_remove_group(fc_process_host_t *host);
// Removes the control group at once. The nursery must have stopped, or be the caller.
void fc_cradle_leave_group(fc_process_host_t *host);

#endif  // FARCALL_SERVER_POOL_PROCESS_HOSTS_H_
