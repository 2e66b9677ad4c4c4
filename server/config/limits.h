// SPDX-License-Identifier: Apache-2.0
//
// Bounds of the server that are not options (options.def has those). Sizes are in
// bytes, times in milliseconds, unless a name or comment says another unit.
// docs/http.md has those that clients notice. "414 above" means that anything larger is
// answered with status 414.
#ifndef FARCALL_SERVER_CONFIG_LIMITS_H_
#define FARCALL_SERVER_CONFIG_LIMITS_H_

// The head of a request
#define FC_LIMIT_LEADING_CRLFS 2
#define FC_LIMIT_METHOD 32          // characters of a method
#define FC_LIMIT_TARGET (8u << 10)  // bytes; 414 above
// Bytes of all field lines together; 431 above.
#define FC_LIMIT_HEADERS (32u << 10)
#define FC_LIMIT_FIELDS 100  // field lines; 431 above

// Chunked bodies
#define FC_LIMIT_CHUNK_DIGITS 16
#define FC_LIMIT_CHUNK_EXTENSIONS 256  // bytes of all extensions of one message
// Chunks of a body; one more is allowed for each FC_LIMIT_CHUNK_BYTES of it.
#define FC_LIMIT_CHUNKS 1024
#define FC_LIMIT_CHUNK_BYTES 64
#define FC_LIMIT_TRAILERS (4u << 10)

// A connection
#define FC_LIMIT_READ (64u << 10)  // bytes of one read, but for large bodies
// While a call runs and so many bytes of further requests are kept, no more are read.
#define FC_LIMIT_PIPELINED (16u << 10)
// A body that the answer does not need is read and dropped, and the connection goes on,
// if it is announced with at most so many bytes and the client does not wait for
// 100 Continue. Any other such body ends the connection.
#define FC_LIMIT_DISCARD (64u << 10)
#define FC_LIMIT_LINGER_MS 1000
// Least bytes a second of a body after --body-timeout, and of an answer after
// --write-timeout.
#define FC_LIMIT_RATE 1024
#define FC_LIMIT_REQUEST_ID 128
// Descriptors that connections do not get, and how many of these are for files of
// large bodies and answers that the loop has mapped.
#define FC_LIMIT_RESERVED_FILES 128
#define FC_LIMIT_SHARED_FILES 64
#define FC_LIMIT_MODULE_FILES 2  // descriptors kept besides for each module
#define FC_LIMIT_WORKER_FILES 7  // and for each process that a module may have
#define FC_LIMIT_PASSED 64       // sockets taken from a service manager
#define FC_LIMIT_TURNED_AWAY 32  // connections being told 503 at one time
// The most TLS handshakes that are not over, or half of --connections and one if that is
// less. One more takes the place of an old one.
#define FC_LIMIT_HANDSHAKES 1000

// Wrong tokens of one client within FC_LIMIT_GUESSES_MS before the answers to the next
// ones are slowed, and how long such an answer waits.
#define FC_LIMIT_GUESSES 10
#define FC_LIMIT_GUESSES_MS 60000
#define FC_LIMIT_GUESS_WAIT_MS 1000

// How many bytes of a body are searched for the name of its model. HTTP/2's first window
// has as many. HTTP/2's first window lets no more come.
#define FC_LIMIT_PEEK ((64u << 10) - 1)
#define FC_LIMIT_ASKING (64u << 10)  // body of a POST that is no call
// Bytes of a list of gRPC's: the longest answer that clients of gRPC take by default.
#define FC_LIMIT_LIST (4u << 20)
// A longer document of the Open Inference Protocol is not searched for a sequence's id.
#define FC_LIMIT_SEQUENCE (256u << 10)

// Large bodies and answers are moved in parts, so that a turn of the loop stays well
// below 2 ms. With each read of a body, the kernel tells the client that there is room
// again.
#define FC_LIMIT_READ_BODY (256u << 10)  // bytes of one read of a body
#define FC_LIMIT_READ_TURN (512u << 10)  // bytes read from one client in a turn
#define FC_LIMIT_WRITE (256u << 10)      // bytes given to a stream at a time
#define FC_LIMIT_RELEASE (1u << 20)  // bytes given back to the system in a turn
// Time that a turn spends on requests which clients have sent ahead of their turn
// (pipelined): after it, one request of each client is served, and the rest wait.
#define FC_LIMIT_AHEAD_TURN_NS 500000u
// Bytes of a document about all modules that are written in a turn, and how many
// modules and functions are looked at for it in a turn.
#define FC_LIMIT_PART (64u << 10)
#define FC_LIMIT_PART_LOOKS 1000
// How many documents are written in parts at one time; 503 beyond.
#define FC_LIMIT_DRAFTS 32
// How long a turn of a call that answers in parts runs, unless it has one step
// (pool/turn.h).
#define FC_LIMIT_TURN_NS 1000000u
// How many turns have one step each after one that took twice its time: so many quick
// ones cost about as much as the slow step did.
#define FC_LIMIT_TURN_SINGLES 32
// The most time that a caller owes others for turns of its calls: so its next one comes.
#define FC_LIMIT_TURNS_OWED_NS (64 * FC_LIMIT_TURN_NS)
// How many modules have lines of their own in /metrics, and how many bytes the names in
// such a line, of a module or of a function, may have. The numbers of all others are
// summed.
#define FC_LIMIT_METRIC_MODULES 1000
#define FC_LIMIT_LABEL 400

// A response: room kept in front of the body, so that one write sends both.
#define FC_LIMIT_HEAD 1536

// The lane: which calls run on the loop itself with --lane=auto. Code takes many times
// as long under the thread sanitizer, so a call may take longer there.
#ifdef __SANITIZE_THREAD__
#define FC_LIMIT_INLINE_SLOWNESS 20u
#else
#define FC_LIMIT_INLINE_SLOWNESS 1u
#endif
// What a call of a function in the lane may take on average: this chooses among those
// whose time is bounded (fc_bound_t).
#define FC_LIMIT_INLINE_COST_NS (20000u * FC_LIMIT_INLINE_SLOWNESS)
// The budget of an attempt on the loop. A function of which one call takes longer leaves
// the lane until it has proved itself again (fc_cost_doubt).
#define FC_LIMIT_INLINE_WORST_NS (1000000u * FC_LIMIT_INLINE_SLOWNESS)
// What all calls on the loop may take in one turn.
#define FC_LIMIT_INLINE_TURN_NS 200000u
// Attempts that were given up take at most 1 / this of the loop's time.
#define FC_LIMIT_INLINE_LOST_SHARE 20u
// The body of a call on the loop has fewer bytes, and so have its results.
#define FC_LIMIT_INLINE_BODY (16u << 10)
// Calls measured on workers before one runs on the loop.
#define FC_LIMIT_INLINE_SAMPLES 16

#define FC_LIMIT_RETRY_AFTER 1  // least value of Retry-After, seconds

// How long before its end, in seconds, a certificate is warned of.
#define FC_LIMIT_CERTIFICATE_S (14 * 24 * 3600)

#define FC_LIMIT_LOST_THREADS 2  // how many lost threads are replaced

// Time to load a module: for a worker process a base, and more for each MiB of the
// file; for the first instance of a thread the base alone.
#define FC_LIMIT_LOAD_MS 10000
#define FC_LIMIT_LOAD_MIB_MS 200
// If more worker processes load at once, each has more time in proportion, because
// they share the processors.
#define FC_LIMIT_LOAD_TOGETHER 16

// A larger file that has no sidecar and runs in threads is served before it is hashed,
// unless --trust needs its hash. Hashing this many bytes takes some 15 ms.
#define FC_LIMIT_HASH_AT_ONCE (16u << 20)

// How long the proofs of a generation's rows may take together (module/prove.h).
#define FC_LIMIT_PROVE_MS 5000u
// How long all other calls together may take that a generation answers before it serves
// (modules/trial.h), and bytes of one answer that is compared.
#define FC_LIMIT_TRIAL_MS 60000u
#define FC_LIMIT_TRIAL_ANSWER (4u << 20)

// When a generation that may go back does so (modules/rollback.h): after
// FC_LIMIT_PROVING_CRASHES crashes in its first FC_LIMIT_PROVING_CALLS calls, or when it
// is quarantined in these calls or in its first FC_LIMIT_PROVING_MS.
#define FC_LIMIT_PROVING_CALLS 100u
#define FC_LIMIT_PROVING_MS 60000u
#define FC_LIMIT_PROVING_CRASHES 3u

// With --load=demand, signatures of modules that are not loaded stay in memory, and with
// them the modules' files: of FC_LIMIT_DESCRIBED modules at most, whose files together
// have FC_LIMIT_DESCRIBED_BYTES at most. But the module whose signatures were read last
// keeps them, however large its file is.
#define FC_LIMIT_DESCRIBED 32
#define FC_LIMIT_DESCRIBED_BYTES (32u << 20)
// Files and generations that an act on all modules looks at in one turn, and for how many
// looks one counts that is begun, entered or let go: 500 looks take some 0.5 ms.
#define FC_LIMIT_DECIDES 500
#define FC_LIMIT_DECIDE_CHANGE 10
#define FC_LIMIT_UNLOADS 32  // modules unloaded in one turn
#define FC_LIMIT_WAKES 32    // waiting requests that go on in one turn
// Sessions that end at once when their connection is closed; fc_sessions_look ends the rest.
#define FC_LIMIT_BOUND_ENDS 32
// How many modules are measured every FC_LIMIT_LOOK_MS, with --module-memory.
#define FC_LIMIT_WEIGHED 16
// Bytes that a module is estimated to take beside its file, until one was
// loaded and measured.
#define FC_LIMIT_MODULE_OVERHEAD (1u << 20)

// Crashes of worker processes
#define FC_LIMIT_HEALTHY_MS 60000  // crashes longer ago are forgotten
#define FC_LIMIT_WORKERS 1024      // the most that --workers may ask for
#define FC_LIMIT_GROUP_CPU \
  100000u  // the most that --group-cpu may ask for, percent
// A process whose call found no memory is replaced if the one before has served for so
// many times as long as a process takes to load.
#define FC_LIMIT_SPENT_SHARE 10u
// Threads of a worker process, its own and those of --tiles included, where they can be
// bounded (jail/threads.h).
#define FC_LIMIT_WORKER_THREADS 64
#define FC_LIMIT_STEPS 1000000000000  // the most that --max-steps may allow
#define FC_LIMIT_CRASHES 64           // the most that --crash-limit may allow
// % of a module's calls that may crash without a quarantine, and of how many calls at
// least the share is taken.
#define FC_LIMIT_SHARE 20
#define FC_LIMIT_SHARE_CALLS 20
// How many calls are remembered of one module because they crashed it.
#define FC_LIMIT_BLAMED 64
// Stopped system calls that the log lists of one module.
#define FC_LIMIT_STOPS 16
// Wait before the start that follows the second crash in a row; each further
// crash doubles it, up to FC_LIMIT_BACKOFF_MAX_MS.
#define FC_LIMIT_BACKOFF_MS 100
#define FC_LIMIT_BACKOFF_MAX_MS 10000
// How many times the length of a quarantine is doubled at most.
#define FC_LIMIT_QUARANTINES 5
// A call that had not begun when its process crashed is queued again, so many times;
// at the next crash it fails.
#define FC_LIMIT_ATTEMPTS 2

// Supervision of worker processes

// Time after its deadline in which a call may end by itself.
#define FC_LIMIT_KILL_GRACE_MS 2
// Time that a call waits behind another in a process before it goes back to the queue.
#define FC_LIMIT_AHEAD_MS 2
// How long a module's calls are made one by one after a batch of them has ended its
// process.
#define FC_LIMIT_ALONE_MS 1000
// A batch that takes so many times what it was seen to, and so long at least, is given up:
// its calls are made one by one.
#define FC_LIMIT_BATCH_TIMES 16
#define FC_LIMIT_BATCH_MS 1000
// How often processes with calls, and the memory of modules, are looked at.
#define FC_LIMIT_LOOK_MS 100
// How often the nursery looks whether shared memory was taken, while processes have calls;
// else every FC_LIMIT_LOOK_MS.
#define FC_LIMIT_WEIGH_MS 20
// How often processes are looked at while none has calls, and all are weighed at least.
#define FC_LIMIT_IDLE_LOOK_MS 1000
// A process is killed once it has woken the loop more often than it has finished calls,
// by more than so many times and FC_RING_SLOTS.
#define FC_LIMIT_BELLS 1000
// Bytes of bodies and answers that the loop copies to and from all processes in one
// turn; larger ones take several turns. Each page of fresh memory costs the loop 1 to
// 3 us, and the process too.
#define FC_LIMIT_COPY (256u << 10)
// A body of more bytes is handed to a process in a file and not copied. A
// smaller one is copied through the ring, which costs less than the fresh pages
// of a file (bench/handoff, docs/decisions/worker-processes.md).
#define FC_LIMIT_SHARED (512u << 10)
// A result of at least so many bytes that lies in the body of its call is sent from
// there. A smaller one is copied, so that one write sends all of the answer's memory.
#define FC_LIMIT_KEPT_RESULT (64u << 10)
// How many files of bodies and answers are kept to be used again, and for how long.
#define FC_LIMIT_KEPT_FILES 32
#define FC_LIMIT_KEPT_MS 10000
// Memory that the file of an answer may take beyond the answer, because the
// kernel may give it huge pages.
#define FC_LIMIT_FILE_SPARE (4u << 20)
// A body or answer of at most so many bytes is copied at once, whatever is left
// of FC_LIMIT_COPY.
#define FC_LIMIT_COPY_SMALL (16u << 10)
// After this time without calls a process ends, unless it is its module's oldest, or
// processes have one call each (--fresh=call).
#define FC_LIMIT_SPARE_MS 10000
// If a process does not begin its oldest call for so long, its calls go back to the
// queue.
#define FC_LIMIT_DEAF_MS 1000
// How long a worker looks for calls before it sleeps, where there are several CPUs.
#define FC_LIMIT_SPIN_NS 20000

#endif  // FARCALL_SERVER_CONFIG_LIMITS_H_
