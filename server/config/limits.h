// SPDX-License-Identifier: Apache-2.0
//
// Every bound the server keeps that is not an option (options.def has those).
// Sizes are in bytes, times in milliseconds. docs/http.md has those that
// clients notice. "414 above" means that anything larger is answered with
// status 414.
#ifndef FARCALL_SERVER_CONFIG_LIMITS_H_
#define FARCALL_SERVER_CONFIG_LIMITS_H_

// The head of a request
#define FC_LIMIT_LEADING_CRLFS 2
#define FC_LIMIT_METHOD 32            // characters of the method
#define FC_LIMIT_TARGET (8u << 10)    // 414 above
#define FC_LIMIT_HEADERS (32u << 10)  // 431 above, all field lines together
#define FC_LIMIT_FIELDS 100           // 431 above

// Chunked bodies
#define FC_LIMIT_CHUNK_DIGITS 16
#define FC_LIMIT_CHUNK_EXTENSIONS 256  // of one message
#define FC_LIMIT_CHUNKS 1024           // plus one for every 64 bytes of body
#define FC_LIMIT_CHUNK_BYTES 64
#define FC_LIMIT_TRAILERS (4u << 10)

// A connection
#define FC_LIMIT_READ (64u << 10)       // one read
#define FC_LIMIT_PIPELINED (16u << 10)  // kept while a call runs
#define FC_LIMIT_DISCARD (64u << 10)    // read of a refused body, then dropped
#define FC_LIMIT_LINGER_MS 1000
#define FC_LIMIT_RATE 1024  // least bytes a second of a body or an answer
#define FC_LIMIT_REQUEST_ID 128
#define FC_LIMIT_RESERVED_FILES 128  // never used for connections
#define FC_LIMIT_SHARED_FILES 64     // of these, for large bodies and answers
#define FC_LIMIT_MODULE_FILES 2      // further ones, for each module
#define FC_LIMIT_PASSED 64           // sockets of a service manager
#define FC_LIMIT_WORKER_FILES 6      // and for each of a module's processes
#define FC_LIMIT_TURNED_AWAY 32      // connections being told 503 at one time

#define FC_LIMIT_ASKING (64u << 10)  // body of a POST that is no call

// What a turn of the loop does with a large body or answer takes well below 2 ms:
// libuv reads up to 32 times in a row, a write moves this much, and so much memory
// is given back to the system.
#define FC_LIMIT_READ_BODY (32u << 10)
#define FC_LIMIT_WRITE (256u << 10)
#define FC_LIMIT_RELEASE (1u << 20)

// A response: room kept in front of the body, so that one write sends both.
#define FC_LIMIT_HEAD 1024

// The inline lane: what may run on the loop thread. Code takes many times as long
// under the thread sanitizer, so a call may take longer there.
#ifdef __SANITIZE_THREAD__
#define FC_LIMIT_INLINE_SLOWNESS 20u
#else
#define FC_LIMIT_INLINE_SLOWNESS 1u
#endif
#define FC_LIMIT_INLINE_COST_NS \
  (20000u * FC_LIMIT_INLINE_SLOWNESS)  // average of a call
// A function of which one call takes longer leaves the lane.
#define FC_LIMIT_INLINE_WORST_NS (1000000u * FC_LIMIT_INLINE_SLOWNESS)
#define FC_LIMIT_INLINE_TURN_NS 200000u  // all calls of one loop turn
#define FC_LIMIT_INLINE_BODY (16u << 10)
#define FC_LIMIT_INLINE_SAMPLES 16  // pooled calls before the first inline one

#define FC_LIMIT_RETRY_AFTER 1  // seconds

#define FC_LIMIT_LOST_THREADS 2  // so many are replaced

// Time to load a module: for a worker process a base, and more for each MiB of the
// file; for the first instance of a thread the base alone.
#define FC_LIMIT_LOAD_MS 10000
#define FC_LIMIT_LOAD_MIB_MS 200

// Larger files that have no sidecar and run in threads are served before they are
// hashed: this many bytes take some 15 ms.
#define FC_LIMIT_HASH_AT_ONCE (16u << 20)

// Modules that are loaded when they are asked for
#define FC_LIMIT_DESCRIBED 32  // signatures kept of modules that are not loaded
#define FC_LIMIT_DESCRIBED_BYTES (32u << 20)  // of their files
#define FC_LIMIT_UNLOADS 32                   // modules unloaded in one turn
#define FC_LIMIT_WAKES 32    // requests that go on in one turn of the loop
#define FC_LIMIT_WEIGHED 16  // modules looked at every FC_LIMIT_LOOK_MS
// A module is thought to take beside its file, until one was loaded.
#define FC_LIMIT_MODULE_OVERHEAD (1u << 20)

// Crashes of worker processes
#define FC_LIMIT_HEALTHY_MS 60000  // crashes longer ago are forgotten
#define FC_LIMIT_WORKERS 1024      // the most that --workers may ask for
#define FC_LIMIT_CRASHES 64        // the most that --crash-limit may allow
#define FC_LIMIT_SHARE 20          // % of a module's calls that may crash it
#define FC_LIMIT_SHARE_CALLS 20    // of at least so many calls
#define FC_LIMIT_BLAMED 64  // calls of one module kept because they crashed it
#define FC_LIMIT_BACKOFF_MS 100  // after the second crash, doubled by each
#define FC_LIMIT_BACKOFF_MAX_MS 10000
#define FC_LIMIT_QUARANTINES 5  // the time is doubled at most so often
#define FC_LIMIT_ATTEMPTS 2     // processes that may crash under a waiting call

// Supervision of worker processes
#define FC_LIMIT_KILL_GRACE_MS 2  // in which a call may end by itself
#define FC_LIMIT_AHEAD_MS 2       // then a call waiting behind another is moved
#define FC_LIMIT_LOOK_MS 100      // how often calls are checked without a bell
#define FC_LIMIT_IDLE_LOOK_MS 1000  // and processes without calls
#define FC_LIMIT_BELLS 1000         // rings beyond its calls: then it is killed
// Bytes of bodies and answers that the loop copies to and from processes at one
// go; larger ones take several loop turns. Each page of fresh memory costs the
// loop 1 to 3 us, and the process too.
#define FC_LIMIT_COPY (256u << 10)
// A body of more bytes is handed to a process in a file and not copied. Up to there the
// ring keeps its pages, or nearly, and a copy costs less than fresh pages
// (bench/handoff, docs/decisions/worker-processes.md).
#define FC_LIMIT_SHARED (512u << 10)
#define FC_LIMIT_FILE_SPARE \
  (4u << 20)  // a file may take so much more: huge pages
#define FC_LIMIT_COPY_SMALL (16u << 10)  // is copied whatever else was copied
#define FC_LIMIT_SPARE_MS 10000  // then a further process without calls ends
#define FC_LIMIT_DEAF_MS 1000   // then calls that a process does not begin move
#define FC_LIMIT_SPIN_NS 20000  // a worker looks for calls before sleeping

#endif  // FARCALL_SERVER_CONFIG_LIMITS_H_
