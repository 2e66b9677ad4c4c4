/* SPDX-License-Identifier: Apache-2.0
 *
 * How a slot changes hands between the loop and a worker process, and how each
 * wakes the other: two slots of one region, a worker that may be killed at any
 * instruction (by itself, by others, at a deadline) and is started again, and a
 * loop that takes back what waits behind another call.
 *
 * Each body lies in a file, which is sent through a socket before its call is handed
 * over; the worker takes one message for each call, wanted or not.
 *
 * Every step is one access to shared memory or one system call, in the order
 * of seq_cst. Not in it: spinning before sleep (it only looks earlier),
 * quarantine, and what a call computes beyond "the answer to this call".
 *
 * With BATCHES two calls that wait may be given together, as a batch: the worker begins both
 * before it finishes either. A batch that ends its worker is made again, call by call; that
 * is the one case in which a call begins a second time. It may also hang, whoever waits for
 * it: when its time is over, its worker is killed. A call whose deadline passes, or whose
 * client leaves, leaves a batch to the other.
 *
 * Each -DMUTANT_X is a mistake somebody could make; `run` checks that none of
 * them passes.
 */
#ifdef BATCHES
#define CALLS 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef TAKINGS
#define TAKINGS 1  /* calls that may be taken back: slow calls are rare */
#endif
#define SLOTS 2
#define NONE 255

mtype = { FREE, READY, BUSY, DONE };
mtype = { NOT, YES, NEVER };  /* begun: the first change from NOT decides */

/* The region, in shared memory; a fresh one for each worker. */
mtype state[SLOTS] = FREE;
mtype begun[SLOTS] = NOT;
byte request[SLOTS];
bool has_mate[SLOTS];  /* the call in the next slot is to be begun with this one */
byte response[SLOTS];
byte bell;                  /* the worker's futex */
bool worker_asleep;
bool loop_asleep;

/* The kernel. */
chan inbox = [SLOTS] of { byte };  /* files on their way: whose bodies */
bool eventfd;
bool alive = true;
bool dying;                 /* a SIGKILL is on its way or has struck */
bool exited;                /* the pidfd is readable */
bool hung;                  /* a batch goes on for ever: its time is over */
byte arrived;               /* calls that clients have sent */
byte deaths;
byte takings;

/* The loop's own. */
byte job[SLOTS] = NONE;     /* the call whose answer is waited for */
bool batched[SLOTS];
bool again[CALLS];          /* it is made once more, alone */
bool waiting[CALLS];        /* in the private queue */
byte admitted;

/* What is to be proved. */
byte began[CALLS];
byte answers[CALLS];
byte answered;

inline answer(call) {
  answers[call]++;
  answered++;
  assert(answers[call] == 1);
}

/* ------------------------------------------------------------------------ */
/* The worker process */

inline take(s, call, wanted) {
  d_step { state[s] = BUSY; call = request[s] }
  begin(s, call, wanted)
}

inline begin(s, call, wanted) {
  d_step {
    wanted = true;
    if
#ifndef MUTANT_RUN_THOUGH_TAKEN_BACK
    :: begun[s] != NOT -> wanted = false
#endif
    :: else ->
      begun[s] = YES;
      began[call]++;
      /* What has begun is never run again, but once after a batch. */
      assert(began[call] <= 1 + again[call])
    fi
  }
  d_step {
    body = NONE;
    if
#ifdef MUTANT_FILE_LEFT_IF_NOT_WANTED
    :: !wanted
#endif
    :: else ->
      if
      :: nempty(inbox) -> inbox?body
      :: empty(inbox)
      fi
    fi;
    assert(!wanted || body == call)
  }
}

inline ring_loop() {
  /* exchange(loop_asleep, 0) */
  d_step { rung = loop_asleep; loop_asleep = false }
  if
  :: rung -> eventfd = true
  :: else
  fi
}

inline finish(s, call, wanted) {
#ifdef MUTANT_BELL_BEFORE_DONE
  ring_loop();
#endif
#ifdef MUTANT_DONE_BEFORE_ANSWER
  state[s] = DONE;
  if :: wanted -> response[s] = call :: else fi;
#else
  if :: wanted -> response[s] = call :: else fi;
  state[s] = DONE;
#endif
#ifndef MUTANT_BELL_BEFORE_DONE
  ring_loop();
#endif
}

#ifdef BATCHES
/* The loop may be told of both calls of a batch at once. */
inline finish_one(s, call, wanted) {
  if :: wanted -> response[s] = call :: else fi;
  state[s] = DONE;
  d_step { owed = owed || loop_asleep; loop_asleep = false }
}

inline tell() {
  if
  :: owed -> owed = false; eventfd = true
  :: else
  fi
}

inline take_mate(s) {
#ifdef MUTANT_BATCH_MATE_IS_NOT_ASKED_FOR
  d_step {
    state[s] = BUSY;
    mate = request[s];
    mate_wanted = true;
    began[mate]++;
    assert(began[mate] <= 1 + again[mate])
  }
#else
  take(s, mate, mate_wanted)
#endif
}
#endif

active proctype worker() {
  byte seen, call, turn, body;
  bool rung, wanted;
#ifdef BATCHES
  byte mate;
  bool mate_wanted, hangs, owed;
#endif
end:
  do
  :: alive ->
    turn = 0;
    {
      do
      :: seen = bell;
         if
         :: state[turn] == READY ->
           take(turn, call, wanted);
#ifdef BATCHES
           if
           :: has_mate[turn] ->
             assert(state[1 - turn] == READY);
             take_mate(1 - turn);
             if
             :: !hangs -> hangs = true; hung = true; (false)
             :: true
             fi;
             finish_one(turn, call, wanted);
#ifdef MUTANT_BATCH_LOOP_IS_TOLD_OF_THE_LAST_ONE
             owed = false;
#endif
             if :: tell() :: true fi;
             finish_one(1 - turn, mate, mate_wanted);
             tell()
           :: else ->
             finish(turn, call, wanted);
             turn = (turn + 1) % SLOTS
           fi
#else
           finish(turn, call, wanted);
           turn = (turn + 1) % SLOTS
#endif
         :: else ->
           worker_asleep = true;
#ifdef MUTANT_WORKER_FLAG_CLEARED_EARLY
           worker_asleep = false;
#endif
           /* Look again: READY may have been stored before the flag was. */
           if
#ifndef MUTANT_WORKER_NO_RECHECK
           :: state[turn] == READY
#endif
           :: else ->
#ifdef MUTANT_BELL_READ_LATE
             seen = bell;
#endif
end_asleep:
             (bell != seen)  /* futex_wait(bell, seen) */
           fi;
           worker_asleep = false
         fi
      od
    } unless { dying };
    d_step {
      alive = false; dying = false; hung = false;
#ifdef BATCHES
      owed = false;
#endif
      exited = true
    }
  od
}

/* A SIGKILL by anybody, or by the kernel for want of memory; a fault of the call. */
active proctype fate() {
end:
  do
  :: atomic { alive && !dying && deaths < DEATHS -> dying = true; deaths++ }
  od
}

active proctype clients() {
  do
  :: arrived < CALLS -> arrived++
  :: arrived == CALLS -> break
  od
}

/* ------------------------------------------------------------------------ */
/* The loop */

inline deliver(s) {
  d_step {
    if
    :: job[s] != NONE ->
      assert(response[s] == job[s]);  /* the answer to this very call */
      answer(job[s])
    :: else  /* it was answered when its deadline passed */
    fi;
    job[s] = NONE;
    state[s] = FREE
  }
}

inline collect() {
  i = 0;
  do
  :: i < SLOTS ->
    if
    :: state[i] == DONE -> deliver(i)
    :: else
    fi;
    i++
  :: else -> i = 0; break
  od
}

/* The worker is dead: nobody writes the region any more. */
inline bury() {
  d_step {
    exited = false;
    i = 0;
    do
    :: i < SLOTS ->
      if
      :: state[i] == DONE ->
#ifdef MUTANT_DONE_LOST_AT_EXIT
        job[i] = NONE
#else
        if
        :: job[i] != NONE ->
          assert(response[i] == job[i]);
          answer(job[i])
        :: else
        fi
#endif
      :: state[i] == BUSY && job[i] != NONE ->
#ifdef MUTANT_BUSY_RUN_AGAIN
        waiting[job[i]] = true
#else
        if
#ifdef MUTANT_BATCH_IS_MADE_AGAIN_EACH_TIME
        :: batched[i] ->
#else
        :: batched[i] && !again[job[i]] ->
#endif
          again[job[i]] = true;
#ifdef MUTANT_BATCH_MATE_IS_LOST_AT_EXIT
          waiting[job[i]] = i == 0
#else
          waiting[job[i]] = true
#endif
        :: else -> answer(job[i])  /* 502: this call, and no other */
        fi
#endif
      :: state[i] == READY && job[i] != NONE ->
        assert(began[job[i]] <= again[job[i]]);
#ifndef MUTANT_READY_LOST_AT_EXIT
        waiting[job[i]] = true
#endif
      :: else
      fi;
      job[i] = NONE;
      i++
    :: else -> break
    od;
    /* A new region for a new worker. */
    do
    :: nempty(inbox) -> inbox?next
    :: empty(inbox) -> break
    od;
    i = 0;
    do
    :: i < SLOTS ->
      state[i] = FREE;
      begun[i] = NOT;
      request[i] = NONE;
      has_mate[i] = false;
      batched[i] = false;
      response[i] = NONE;
      i++
    :: else -> break
    od;
    i = 0;
    turn = 0;
    bell = 0;
    worker_asleep = false;
    loop_asleep = false;
    alive = true
  }
}

inline ring_worker() {
  if
  :: worker_asleep -> bell++
  :: else
  fi
}

#ifdef BATCHES
#ifdef MUTANT_BATCH_IS_MADE_AGAIN_EACH_TIME
#define MAY_JOIN(c) waiting[c]
#else
#define MAY_JOIN(c) (waiting[c] && !again[c])
#endif
/* The first slot is READY last: what the worker finds there is a whole batch. */
inline submit_batch() {
  if
  :: state[0] == FREE && state[1] == FREE && MAY_JOIN(0) && MAY_JOIN(1) ->
    d_step {
      waiting[0] = false;
      waiting[1] = false;
      job[turn] = 0;
      job[1 - turn] = 1;
      begun[0] = NOT;
      begun[1] = NOT;
      request[turn] = 0;
      request[1 - turn] = 1;
      has_mate[turn] = true;
      has_mate[1 - turn] = false;
      batched[0] = true;
      batched[1] = true
    }
    inbox!0;
    inbox!1;
#ifdef MUTANT_BATCH_IS_READY_BEFORE_ITS_MATE
    state[turn] = READY;
    state[1 - turn] = READY;
#else
    state[1 - turn] = READY;
    state[turn] = READY;
#endif
#ifdef MUTANT_BATCH_RINGS_NOBODY
    staged = false
#else
    staged = true
#endif
  :: true
  fi
}
#endif

/* Fills free slots in turn from the queue; one bell for the batch. */
inline submit() {
  d_step {
    do
    :: admitted < arrived -> waiting[admitted] = true; admitted++
    :: else -> break
    od
  }
  staged = false;
#ifdef BATCHES
  submit_batch();
#endif
  do
  :: state[turn] == FREE ->
    d_step {
      next = 0;
      do
      :: next < CALLS && !waiting[next] -> next++
      :: else -> break
      od;
      if
      :: next < CALLS ->
        waiting[next] = false;
        job[turn] = next;
        begun[turn] = NOT;
        has_mate[turn] = false;
        batched[turn] = false;
        request[turn] = next
      :: else
      fi
    }
    if
    :: next == CALLS -> break
    :: else
    fi;
#ifdef MUTANT_BELL_BEFORE_READY
    ring_worker();
#endif
#ifndef MUTANT_FILE_AFTER_READY
    inbox!next;
    state[turn] = READY;
#else
    state[turn] = READY;
    inbox!next;
#endif
    staged = true;
    turn = (turn + 1) % SLOTS
  :: else -> break
  od;
#ifndef MUTANT_BELL_BEFORE_READY
  if
  :: staged -> ring_worker()
  :: else
  fi
#endif
}

/* A call waits behind a slow one, or its process does not run: unless it has just
 * begun, another process may have it. */
inline take_back(s) {
  d_step {
    if
#ifndef MUTANT_TAKEN_BACK_THOUGH_BEGUN
    :: begun[s] != NOT
#endif
    :: else ->
      begun[s] = NEVER;
      takings++;
      waiting[job[s]] = true;
      job[s] = NONE
    fi
  }
}
inline take_back_one() {
  if
  :: takings < TAKINGS && job[0] != NONE -> take_back(0)
  :: takings < TAKINGS && job[1] != NONE -> take_back(1)
  :: true
  fi
}

/* A deadline: the caller is answered at once and the worker is killed. What the
 * slot holds when the worker dies does not matter any more. */
inline expire_slot(s) {
  atomic {
    state[s] == BUSY && job[s] != NONE && alive && deaths < DEATHS ->
    answer(job[s]);
#ifndef MUTANT_ANSWERED_AT_DEADLINE_AND_EXIT
    job[s] = NONE;
#endif
    if
#ifdef BATCHES
    :: batched[s] && batched[1 - s] && job[1 - s] != NONE
#endif
    :: !dying -> dying = true; deaths++
    :: else
    fi
  }
}
inline expire() {
#if defined(BATCHES) && !defined(MUTANT_BATCH_THAT_HANGS_IS_LEFT_ALONE)
  d_step {
    if
    :: hung -> dying = true
    :: else
    fi
  }
#endif
  if
  :: expire_slot(0)
  :: expire_slot(1)
  :: true
  fi
}

active proctype loop() {
  byte i, next, turn;
  bool staged;
  do
  :: answered == CALLS -> break
  :: else ->
    if :: exited -> bury() :: else fi;
    collect();
    expire();
    take_back_one();
    submit();
    loop_asleep = true;
#ifdef MUTANT_LOOP_FLAG_CLEARED_EARLY
    loop_asleep = false;
#endif
    /* Look again: DONE may have been stored before the flag was. */
    if
#ifndef MUTANT_LOOP_NO_RECHECK
    :: state[0] == DONE
#endif
    :: else ->
      if
#ifndef MUTANT_LOOP_NO_RECHECK
      :: state[1] == DONE
#endif
      :: else ->  /* epoll_wait; the last condition ends the test */
        (eventfd || exited || hung || admitted < arrived || answered == CALLS)
      fi
    fi;
    loop_asleep = false;
    eventfd = false
  od
  assert(admitted == CALLS)
}

ltl every_call_is_answered { <> (answered == CALLS) }
