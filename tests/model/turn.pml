/* SPDX-License-Identifier: Apache-2.0
 *
 * A call that is made in turns (server/pool/turn.h), and another one that waits for the
 * same worker: a loop, a worker that may be killed at any step and is started again, and a
 * reader that takes parts when it likes, stops, or leaves. How a slot changes hands is in
 * bell.pml: here that is one step.
 *
 * No turn is made twice or from what another turn has left than the one before; parts come
 * in order, each when the one before was sent; and the other call is answered, whatever
 * the reader does. Nothing that is waited for is forgotten.
 *
 * Each -DMUTANT_X is a mistake somebody could make; `run` checks that none of them passes.
 */
#ifndef TURNS
#define TURNS 3
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define NOBODY 0
#define STREAM 1
#define OTHER 2

mtype = { FREE, READY, BUSY, DONE };

/* The slot. A process that takes the place of one that has ended has a fresh one. */
mtype state = FREE;
byte given = NOBODY;  /* whose turn it is */
byte carry;           /* turns that were made before */
bool more;
bool failed;
byte produced;        /* parts that the worker has made, of all turns */

/* The loop's own. */
bool queued;          /* the stream waits for a worker */
bool other_queued = true;
bool paused;          /* it waits until its part is sent */
bool awaited = true;
byte left_off;        /* what the last turn has left: turns that were made */
byte passed;          /* parts given to the carrier */
byte consumed;        /* parts that were sent */
bool sending;
bool ended, cut;

bool dying, exited;
byte deaths;
bool leaves;          /* a reset has come */
bool answered;        /* the other call */

byte made[TURNS];

/* ------------------------------------------------------------------------ */
/* The worker */

inline make() {
  if
  :: given == STREAM ->
    d_step {
      assert(carry < TURNS);
      made[carry]++;
      assert(made[carry] == 1);
      assert(carry == 0 || made[carry - 1] == 1)
    }
    if
    :: failed = false; produced++; carry++; more = carry < TURNS
    :: failed = true; more = false
    fi
  :: else -> more = false; failed = false
  fi
}

active proctype worker() {
end:
  do
  :: true ->
    {
end_idle:
      do
      :: state == READY ->
        state = BUSY;
        make();
        state = DONE
#ifdef MUTANT_WORKER_WAITS_FOR_ITS_READER
        ; (consumed >= produced)
#endif
      od
    } unless { dying };
    d_step { dying = false; exited = true };
    (!exited)
  od
}

active proctype fate() {
end:
  do
  :: atomic { !dying && !exited && deaths < DEATHS -> dying = true; deaths++ }
  od
}

/* ------------------------------------------------------------------------ */
/* The client of the stream */

active proctype reader() {
  do
  :: atomic { sending ->
      sending = false;
      consumed++;
      if
      :: paused -> paused = false; queued = true
      :: else
      fi
    }
  :: true -> leaves = true; break
  :: true -> break  /* it stops to read */
  :: ended || cut -> break
  od
}

/* ------------------------------------------------------------------------ */
/* The loop */

inline cut_it() {
  assert(!ended && !cut);
  cut = true
#ifndef MUTANT_CUT_IS_STILL_AWAITED
  ; awaited = false
#endif
}

inline pass_part() {
  assert(!sending);
  assert(passed == left_off);  /* none is missing, none comes twice */
  passed++;
  left_off = carry;
  assert(left_off == passed);
#ifndef MUTANT_PAUSED_AFTER_ITS_PART_WAS_SENT
  paused = more;
#endif
  sending = true;
  if
  :: sending = false; consumed++;  /* the socket had room */
    if
    :: paused -> paused = false; queued = true
    :: else
    fi
  :: true
  fi;
#ifdef MUTANT_PAUSED_AFTER_ITS_PART_WAS_SENT
  paused = more;
#endif
#ifdef MUTANT_NEXT_TURN_BEFORE_THE_PART_IS_SENT
  if :: paused -> paused = false; queued = true :: else fi;
#endif
  if
  :: !more -> ended = true; awaited = false
  :: else
  fi
}

inline take_outcome() {
  if
  :: given == OTHER -> answered = true
  :: given == STREAM && awaited && failed -> cut_it()
  :: given == STREAM && awaited && !failed -> pass_part()
  :: else  /* nobody waits for it */
  fi;
  given = NOBODY
}

/* The worker has ended, and writes the slot no more. */
inline bury() {
  exited = false;
  if
  :: state == DONE ->
#ifdef MUTANT_WHAT_WAS_DONE_IS_LOST
    if :: given == OTHER -> answered = true :: else fi
#else
    take_outcome()
#endif
  :: state == BUSY && given == STREAM && awaited ->
#ifdef MUTANT_BEGUN_TURN_IS_MADE_AGAIN
    queued = true
#else
    cut_it()
#endif
  :: state == BUSY && given == OTHER -> answered = true  /* 502 */
  :: state == READY && given == STREAM && awaited -> queued = true
  :: state == READY && given == OTHER -> other_queued = true
  :: else
  fi;
  given = NOBODY;
  state = FREE
}

inline drop() {
  leaves = false;
  awaited = false;
#ifndef MUTANT_DROPPED_CALL_STAYS_QUEUED
  queued = false;
#endif
  paused = false;
  sending = false
}

inline submit() {
  if
  :: queued ->
    queued = false;
    assert(awaited && !sending);
    given = STREAM;
#ifdef MUTANT_TURN_FROM_AN_OLDER_CARRY
    carry = left_off - (left_off > 0);
#else
    carry = left_off;
#endif
    state = READY
  :: other_queued -> other_queued = false; given = OTHER; state = READY
  fi
}

/* Somebody is at work for the stream, or its reader has a part. */
#define AT_WORK (!awaited || queued || sending || given == STREAM)

active proctype loop() {
  queued = true;
end:
  do
  :: atomic { exited -> bury(); assert(AT_WORK) }
  :: atomic { state == DONE && !exited -> take_outcome(); state = FREE;
      assert(AT_WORK) }
  :: atomic { leaves -> drop() }
  :: atomic { state == FREE && !exited && (queued || other_queued) -> submit() }
  /* a deadline: the call is answered, its worker killed */
  :: atomic { state == BUSY && given == STREAM && awaited && !dying && !exited &&
      deaths < DEATHS -> cut_it(); dying = true; deaths++ }
  od
}

ltl the_other_is_answered { <> answered }
