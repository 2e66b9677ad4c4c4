// SPDX-License-Identifier: Apache-2.0
//
// Limits of the server that are not options (options.def has the options). Sizes are in
// bytes, times in milliseconds, unless a name or comment gives another unit. docs/http.md
// lists the limits that clients notice. "414 above" means that larger values are answered
// with status 414.
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
// Chunks of a body; one more is allowed for each FC_LIMIT_CHUNK_BYTES of the body.
#define FC_LIMIT_CHUNKS 1024
#define FC_LIMIT_CHUNK_BYTES 64
#define FC_LIMIT_TRAILERS (4u << 10)

// A connection
#define FC_LIMIT_READ (64u << 10)  // bytes of one read, except for large bodies
// While a call runs, no more bytes are read once this many bytes of later requests are
// kept.
#define FC_LIMIT_PIPELINED (16u << 10)
// If an answer does not need the request's body, the server reads and drops the body, and
// keeps the connection. It does so only if the announced body has at most this many bytes
// and the client does not wait for 100 Continue. Otherwise the connection is closed.
#define FC_LIMIT_DISCARD (64u << 10)
#define FC_LIMIT_LINGER_MS 1000
// Minimum rate in bytes a second: of a body once --body-timeout has passed, and of an
// answer once --write-timeout has passed.
#define FC_LIMIT_RATE 1024
#define FC_LIMIT_REQUEST_ID 128
// The first is the number of descriptors that connections do not get. The second is how
// many of them are for the mapped files of large bodies and answers.
#define FC_LIMIT_RESERVED_FILES 128
#define FC_LIMIT_SHARED_FILES 64
#define FC_LIMIT_MODULE_FILES 2  // further descriptors reserved for each module
#define FC_LIMIT_WORKER_FILES 7  // and for each process that a module may have
#define FC_LIMIT_PASSED 64       // sockets taken from a service manager
// Connections that are answered 503 at one time.
#define FC_LIMIT_TURNED_AWAY 32
// The most TLS handshakes that are in progress: this many, or half of --connections plus
// one if that is less. One more handshake takes the place of an old one.
#define FC_LIMIT_HANDSHAKES 1000

// If a client sends more than this many wrong tokens within FC_LIMIT_GUESSES_MS, the
// answers to the further ones are delayed by FC_LIMIT_GUESS_WAIT_MS.
#define FC_LIMIT_GUESSES 10
#define FC_LIMIT_GUESSES_MS 60000
#define FC_LIMIT_GUESS_WAIT_MS 1000

// How many bytes of a body are searched for the name of its model. The first
// flow-control window of HTTP/2 is as large, so a client can send no more before the
// model is known.
#define FC_LIMIT_PEEK ((64u << 10) - 1)
#define FC_LIMIT_ASKING (64u << 10)  // body of a POST that is no call
// Bytes of a list in gRPC: the longest answer that gRPC clients accept by default.
#define FC_LIMIT_LIST (4u << 20)
// A longer document of the Open Inference Protocol is not searched for a sequence id.
#define FC_LIMIT_SEQUENCE (256u << 10)

// Large bodies and answers are moved in parts, so that a turn of the loop stays well
// below 2 ms. Each read of a body also makes the kernel tell the client that there is
// room again.
#define FC_LIMIT_READ_BODY (256u << 10)  // bytes of one read of a body
#define FC_LIMIT_READ_TURN (512u << 10)  // bytes read from one client in a turn
// How long a turn reads from one client, if that is earlier: some bytes are slow to
// understand, for example HTTP/2's compressed heads.
#define FC_LIMIT_READ_TURN_NS 500000u
#define FC_LIMIT_WRITE (256u << 10)  // bytes given to a stream at a time
#define FC_LIMIT_RELEASE (1u << 20)  // bytes given back to the system in a turn
// How long a turn serves requests that clients have pipelined. After this time, one
// request of each client is served in the turn, and the others wait.
#define FC_LIMIT_AHEAD_TURN_NS 500000u
// How many bytes of a document about all modules are written in a turn, and how many
// modules and functions are read for the document in a turn.
#define FC_LIMIT_PART (64u << 10)
#define FC_LIMIT_PART_LOOKS 1000
// How many documents are written in parts at one time; 503 beyond.
#define FC_LIMIT_DRAFTS 32
// How long one turn of a call that answers in parts runs. A turn of a single step may
// take longer (pool/turn.h).
#define FC_LIMIT_TURN_NS 1000000u
// After a turn of several steps took twice FC_LIMIT_TURN_NS, this many turns have one
// step each. So quick steps cost about as much as the slow step did.
#define FC_LIMIT_TURN_SINGLES 32
// The most time that a caller can owe to others for turns of its calls. It is limited,
// so that the caller's next turn always comes.
#define FC_LIMIT_TURNS_OWED_NS (64 * FC_LIMIT_TURN_NS)
// How many modules have their own lines in /metrics, and how many bytes the names of the
// module and the function in such a line may have. Numbers of all other modules are
// summed.
#define FC_LIMIT_METRIC_MODULES 1000
#define FC_LIMIT_LABEL 400

// Room in front of the body of an answer for its head, so that one write sends both.
#define FC_LIMIT_HEAD 1536

// The lane: the calls that run on the loop's thread with --lane=auto. Code takes many
// times as long under the thread sanitizer, so calls may take longer there.
#ifdef __SANITIZE_THREAD__
#define FC_LIMIT_INLINE_SLOWNESS 20u
#else
#define FC_LIMIT_INLINE_SLOWNESS 1u
#endif
// The longest average time of a call of a function in the lane. This chooses among
// functions whose time is bounded (fc_bound_t).
#define FC_LIMIT_INLINE_COST_NS (20000u * FC_LIMIT_INLINE_SLOWNESS)
// The budget of an attempt on the loop. If one call takes longer, its function leaves the
// lane until it has proved itself again (fc_cost_doubt).
#define FC_LIMIT_INLINE_WORST_NS (1000000u * FC_LIMIT_INLINE_SLOWNESS)
// How long all calls on the loop may take in one turn.
#define FC_LIMIT_INLINE_TURN_NS 200000u
// Attempts that were given up may take at most 1 / this share of the loop's time.
#define FC_LIMIT_INLINE_LOST_SHARE 20u
// The body of a call on the loop has fewer bytes than this, and so have its results.
#define FC_LIMIT_INLINE_BODY (16u << 10)
// How many calls of a function are measured on workers before one runs on the loop.
#define FC_LIMIT_INLINE_SAMPLES 16

#define FC_LIMIT_RETRY_AFTER 1  // least value of Retry-After, seconds

// How many seconds before a certificate ends the server warns.
#define FC_LIMIT_CERTIFICATE_S (14 * 24 * 3600)

#define FC_LIMIT_LOST_THREADS 2  // how many lost threads are replaced

// How long a module may take to load. A worker process gets FC_LIMIT_LOAD_MS, and
// FC_LIMIT_LOAD_MIB_MS more for each MiB of the file. The first instance of a thread gets
// only FC_LIMIT_LOAD_MS.
#define FC_LIMIT_LOAD_MS 10000
#define FC_LIMIT_LOAD_MIB_MS 200
// If more worker processes load at once, each gets proportionally more time, because they
// share the processors.
#define FC_LIMIT_LOAD_TOGETHER 16

// A larger file that has no sidecar and runs in threads is served before it is hashed,
// unless --trust needs the hash. Hashing this many bytes takes some 15 ms.
#define FC_LIMIT_HASH_AT_ONCE (16u << 20)

// How much processor time the proofs of a generation's rows may take together
// (module/prove.h), and how long they may take on a busy machine, or where a function
// sleeps or does not return.
#define FC_LIMIT_PROVE_MS 5000u
#define FC_LIMIT_PROVE_CLOCK_MS 20000u
// How long all other test calls of a generation may take together before it serves
// (modules/trial.h), and how many bytes one compared answer may have.
#define FC_LIMIT_TRIAL_MS 60000u
#define FC_LIMIT_TRIAL_ANSWER (4u << 20)

// When a generation that can be rolled back is rolled back (modules/rollback.h): after
// FC_LIMIT_PROVING_CRASHES crashes in its first FC_LIMIT_PROVING_CALLS calls, or if it is
// quarantined in these calls or in its first FC_LIMIT_PROVING_MS.
#define FC_LIMIT_PROVING_CALLS 100u
#define FC_LIMIT_PROVING_MS 60000u
#define FC_LIMIT_PROVING_CRASHES 3u

// With --load=demand, the signatures and the files of modules that are not loaded stay in
// memory: of at most FC_LIMIT_DESCRIBED modules, whose files have at most
// FC_LIMIT_DESCRIBED_BYTES together. But the module whose signatures were read last
// always keeps them, even if its file is larger.
#define FC_LIMIT_DESCRIBED 32
#define FC_LIMIT_DESCRIBED_BYTES (32u << 20)
// How many files and generations an act on all modules may look at in one turn. A file or
// generation that is changed (begun, entered or unloaded) counts as
// FC_LIMIT_DECIDE_CHANGE of them. 500 looks take some 0.5 ms.
#define FC_LIMIT_DECIDES 500
#define FC_LIMIT_DECIDE_CHANGE 10
#define FC_LIMIT_UNLOADS 32  // modules unloaded in one turn
#define FC_LIMIT_WAKES 32    // waiting requests that go on in one turn
// How many sessions end at once when their connection is closed; fc_sessions_look ends
// the others.
#define FC_LIMIT_BOUND_ENDS 32
// How many sessions are told in one turn that their references have gone with a process.
// That takes some 0.1 ms.
#define FC_LIMIT_LOSSES 256
// How many modules are measured every FC_LIMIT_LOOK_MS, with --module-memory.
#define FC_LIMIT_WEIGHED 16
// Bytes that a module is estimated to need besides its file, until it was loaded and
// measured.
#define FC_LIMIT_MODULE_OVERHEAD (1u << 20)

// Crashes of worker processes
#define FC_LIMIT_HEALTHY_MS 60000  // crashes longer ago are forgotten
#define FC_LIMIT_WORKERS 1024      // the most that --workers may ask for
#define FC_LIMIT_GROUP_CPU \
  100000u  // the most that --group-cpu may ask for, percent
// A process whose call found no memory is replaced. The next replacement waits this many
// times as long as a process takes to load.
#define FC_LIMIT_SPENT_SHARE 10u
// The most threads of a worker process, where the jail can limit them (jail/threads.h).
// Its own threads and those of --tiles count.
#define FC_LIMIT_WORKER_THREADS 64
#define FC_LIMIT_STEPS 1000000000000  // the most that --max-steps may allow
#define FC_LIMIT_CRASHES 64           // the most that --crash-limit may allow
// A module is quarantined if more than this many percent of its calls crash. The share is
// taken over at least FC_LIMIT_SHARE_CALLS calls.
#define FC_LIMIT_SHARE 20
#define FC_LIMIT_SHARE_CALLS 20
// How many calls of one module are remembered because they crashed it.
#define FC_LIMIT_BLAMED 64
// How many refused system calls of one module the log lists.
#define FC_LIMIT_STOPS 16
// How long the start after the second crash in a row waits. Each further crash doubles
// the wait, up to FC_LIMIT_BACKOFF_MAX_MS.
#define FC_LIMIT_BACKOFF_MS 100
#define FC_LIMIT_BACKOFF_MAX_MS 10000
// How many times the length of a quarantine is doubled at most.
#define FC_LIMIT_QUARANTINES 5
// A call that had not begun when its process crashed is queued again, at most this many
// times. At the next crash it fails.
#define FC_LIMIT_ATTEMPTS 2

// Supervision of worker processes

// How long after its deadline a call may still end by itself.
#define FC_LIMIT_KILL_GRACE_MS 2
// How long a process that keeps references of sessions goes on with a call that nobody
// waits for, while calls wait that no other process can take.
#define FC_LIMIT_HOME_HELD_MS 60000
// How long a call waits behind another in a process before it returns to the queue.
#define FC_LIMIT_AHEAD_MS 2
// How long a module's calls are made one by one after a batch of them ended its process.
#define FC_LIMIT_ALONE_MS 1000
// A batch is given up if it takes FC_LIMIT_BATCH_TIMES times as long as was measured, and
// at least FC_LIMIT_BATCH_MS. Its calls are then made one by one.
#define FC_LIMIT_BATCH_TIMES 16
#define FC_LIMIT_BATCH_MS 1000
// How often the loop checks processes with calls, and the memory of modules.
#define FC_LIMIT_LOOK_MS 100
// How often the nursery checks for new shared memory while processes have calls.
// Otherwise it checks every FC_LIMIT_LOOK_MS.
#define FC_LIMIT_WEIGH_MS 20
// How often processes without calls are checked. At least this often, all of them are
// measured.
#define FC_LIMIT_IDLE_LOOK_MS 1000
// A process is killed once it has woken the loop more often than it has finished calls,
// by more than this many times plus FC_RING_SLOTS.
#define FC_LIMIT_BELLS 1000
// How many bytes of bodies and answers the loop copies to and from all processes in one
// turn. Larger ones take several turns. Each page of fresh memory costs the loop 1 to 3
// us, and costs the process as much.
#define FC_LIMIT_COPY (256u << 10)
// A larger body is handed to a process in a file and is not copied. A smaller one is
// copied through the ring, which costs less than the fresh pages of a file
// (bench/handoff, docs/decisions/worker-processes.md).
#define FC_LIMIT_SHARED (512u << 10)
// If a result of at least this many bytes lies in the body of its call (the function
// returned an argument), it may be sent from there. A smaller result is copied, so that
// one write sends the whole answer.
#define FC_LIMIT_KEPT_RESULT (64u << 10)
// How many files of bodies and answers are kept to be used again, and for how long.
#define FC_LIMIT_KEPT_FILES 32
#define FC_LIMIT_KEPT_MS 10000
// Memory that the file of an answer may take beyond the answer, because the
// kernel may give it huge pages.
#define FC_LIMIT_FILE_SPARE (4u << 20)
// A body or answer of at most this many bytes is copied at once, even if nothing of
// FC_LIMIT_COPY is left.
#define FC_LIMIT_COPY_SMALL (16u << 10)
// How many bytes of larger bodies the loop also copies at once in one turn, for calls that
// are begun together: a batch is whole before its process begins it. And the largest such
// body, at which its area in the ring still keeps its pages (FC_RING_KEPT).
#define FC_LIMIT_COPY_BATCH (1u << 20)
#define FC_LIMIT_BATCH_BODY (256u << 10)
// After this time without calls a process ends. Exceptions: its module's oldest process,
// and processes that have one call each (--fresh=call).
#define FC_LIMIT_SPARE_MS 10000
// If a process does not begin its oldest call for this long, its calls return to the
// queue.
#define FC_LIMIT_DEAF_MS 1000
// How long a worker polls for calls before it sleeps, on a machine with several CPUs.
#define FC_LIMIT_SPIN_NS 20000

#endif  // FARCALL_SERVER_CONFIG_LIMITS_H_
