/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions (server/state): a session, another that is forked from it, and two workers, each
 * of which may be killed at any step and is started again. The loop owns the order of
 * calls, names and places; a worker writes into places of the slab; the nursery punches out
 * what nobody has any more. A session may be ended at any time, and so may the generation.
 * How a slot changes hands is in bell.pml: here that is one step. The first call of the first
 * session may be made in two turns, between which no worker has it. With CHECKPOINT each
 * call writes into a copy, and no crash loses a session; CHECKPOINT_TURNS is both, with a
 * crash in either turn.
 *
 * Each answer is what the calls of its own session make, in the order they came, or says
 * that the session is lost or has ended. Nobody writes to a place that was let go. Every
 * call is answered, and at the end the slab is empty.
 *
 * Each -DMUTANT_X is a mistake somebody could make; `run` checks that none of them passes.
 */
#ifdef CHECKPOINT_TURNS
#define CHECKPOINT
#define TURNS
#endif
#ifdef CHECKPOINT
#define IS_COPIED true
#else
#define IS_COPIED false
#endif
#ifdef CHECKPOINT_TURNS
#define CALLS 1   /* of each session */
#define DEATHS 1
#elif defined TURNS
#define CALLS 2
#define DEATHS 0
#elif defined FEW_CALLS
#define CALLS 1
#define DEATHS 2
#else
#define CALLS 2
#define DEATHS 1
#endif
#define SESSIONS 2
#define WORKERS 2
#define PLACES 5
#define NONE 255
#define TORN 254
#define FORK 9  /* a call of the first session, after its first one */

mtype = { FREE, READY, BUSY, DONE };
mtype = { COMING, OPEN, LOST, ENDED };

/* The slots, one for each worker. */
mtype state[WORKERS] = FREE;
byte whose[WORKERS];    /* whose call it is */
byte from[WORKERS];  /* the place of its value; NONE: it has none yet */
byte to[WORKERS];    /* the place it writes to */
bool dying[WORKERS], exited[WORKERS];
byte deaths;

/* The slab. A place is used once. */
byte bytes[PLACES];
byte counts[PLACES];  /* who has it */
bool punch[PLACES];   /* the nursery is told to */
byte cursor;

/* The sessions. */
mtype session[SESSIONS] = COMING;
chan queue[SESSIONS] = [CALLS + 1] of { byte };
byte current[SESSIONS] = NONE;  /* the call that was given to a worker, or must be again */
bool runs[SESSIONS];    /* a call holds the claim */
bool paused[SESSIONS];  /* it is between two turns */
bool later[SESSIONS];   /* it has had its first one */
bool awaited[SESSIONS];
byte row[SESSIONS] = NONE;
byte history[SESSIONS];  /* the oracle: what all calls so far make */
byte answers[SESSIONS];
byte next[SESSIONS];     /* number of the call that comes next in order */
bool done[SESSIONS];     /* the client */
bool gone;               /* the generation */

#define UNIT(s) (1 + 9 * (s))  /* each session writes its own */

/* ------------------------------------------------------------------------ */
/* A worker, and what kills it */

inline write(w, what) {
  assert(counts[to[w]] > 0 && !gone);
  bytes[to[w]] = what
}

proctype worker(byte w) {
  byte old;
end:
  do
  :: true ->
    {
end_idle:
      do
      :: state[w] == READY ->
        state[w] = BUSY;
        if
        :: from[w] == NONE -> old = 0
        :: else -> old = bytes[from[w]]
        fi;
        atomic { write(w, TORN) };
        atomic { write(w, old + UNIT(whose[w])); old = 0 };
        state[w] = DONE
      od
    } unless { dying[w] };
    d_step { dying[w] = false; exited[w] = true; old = 0 };
end_gone:
    (!exited[w])
  od
}

active proctype fate() {
  byte w;
end:
  do
  :: atomic { deaths < DEATHS && !gone ->
      deaths++;
      select (w : 0 .. 1);
      if
      :: !dying[w] && !exited[w] -> dying[w] = true
      :: else
      fi
    }
  od
}

active proctype nursery() {
  byte p;
end:
  do
  :: atomic { punch[0] -> p = 0; punch[p] = false; bytes[p] = 0 }
  :: atomic { punch[1] -> p = 1; punch[p] = false; bytes[p] = 0 }
  :: atomic { punch[2] -> p = 2; punch[p] = false; bytes[p] = 0 }
  :: atomic { punch[3] -> p = 3; punch[p] = false; bytes[p] = 0 }
  :: atomic { punch[4] -> p = 4; punch[p] = false; bytes[p] = 0 }
  od
}

/* ------------------------------------------------------------------------ */
/* A client: it need not wait for one answer before its next call, and may leave */

proctype client(byte s) {
  byte n;
  session[s] != COMING;
  do
  :: n < CALLS ->
    queue[s]!n;
    n++;
    if
    :: s == 0 && n == 1 -> queue[s]!FORK
    :: else
    fi
  :: n == CALLS -> break
  od;
  if
  :: awaited[s] = false  /* it leaves: what runs goes on */
  :: true
  fi;
  answers[s] == CALLS;
  done[s] = true
}

/* ------------------------------------------------------------------------ */
/* The loop */

inline let_go(p) {
  if
  :: p != NONE ->
    assert(counts[p] > 0);
    counts[p]--;
    if
    :: counts[p] == 0 -> punch[p] = true
    :: else
    fi
  :: else
  fi
}

/* A call that cannot be made any more is answered: 410 or 404. */
inline refuse(s, call) {
  if
  :: call == FORK -> session[1] = LOST
  :: call != NONE && call != FORK -> answers[s]++
  :: else
  fi
}

/* What waits is refused by the loop, too (below). The place that a call writes to is let go
 * when that has left its worker. */
inline end_session(s, how) {
  assert(session[s] == OPEN);
  session[s] = how;
  if
#ifdef MUTANT_PUNCHED_WHILE_A_CALL_WRITES
  :: true ->
#else
  :: !runs[s] ->
#endif
    let_go(row[s]);
    row[s] = NONE
  :: else
  fi
}

inline clear(w) {
  whose[w] = 0;
  from[w] = 0;
  to[w] = 0;
  state[w] = FREE;
  s = 0
}

/* The call has left its worker, which writes no more. */
inline leave(s, w) {
  runs[s] = false;
  later[s] = false;
  current[s] = NONE;
  clear(w)
}

/* One turn of the call is over, and its session has what it left; another is to follow. */
inline pause(w) {
  s = whose[w];
  history[s] = history[s] + UNIT(s);
  assert(bytes[to[w]] == history[s]);
  if
  :: from[w] != to[w] -> let_go(from[w]); row[s] = to[w]
  :: else
  fi;
  paused[s] = true;
  later[s] = true;
#ifdef MUTANT_CLAIM_PASSES_BETWEEN_TURNS
  queue[s]!current[s];
  paused[s] = false;
  runs[s] = false;
  current[s] = NONE;
#endif
  clear(w)
}
#define MAY_PAUSE(w) (whose[w] == 0 && current[0] == 0 && !later[0] && \
                      session[0] == OPEN && awaited[0])

/* No other turn is made: nobody waits, or the session has ended or is lost. */
inline let_pass(t) {
  paused[t] = false;
  runs[t] = false;
  later[t] = false;
  answers[t]++;
  next[t]++;
  current[t] = NONE;
  if
  :: session[t] != OPEN -> let_go(row[t]); row[t] = NONE
  :: else
  fi
}

inline take(w) {
  s = whose[w];
  answers[s]++;
  if
  :: session[s] == OPEN ->
    assert(current[s] == next[s]);  /* in the order they came */
    next[s]++;
#ifdef MUTANT_CALL_OF_NOBODY_LEAVES_NOTHING
    if :: awaited[s] -> skip :: else -> goto skipped fi;
#endif
    history[s] = history[s] + UNIT(s);
    assert(bytes[to[w]] == history[s]);
    if
    :: from[w] != to[w] -> let_go(from[w]); row[s] = to[w]
    :: else
    fi;
#ifdef MUTANT_CALL_OF_NOBODY_LEAVES_NOTHING
skipped: skip
#endif
  :: else ->
    if
    :: from[w] != to[w] -> let_go(from[w])
    :: else
    fi;
#ifndef MUTANT_ENDED_SESSION_KEEPS_WHAT_ITS_CALL_MADE
    let_go(to[w])
#endif
    ; row[s] = NONE
  fi;
  leave(s, w)
}

inline lose(w) {
  s = whose[w];
  answers[s]++;
  if
  :: from[w] != to[w] -> let_go(to[w])
  :: else
  fi;
#ifdef MUTANT_TORN_VALUE_STAYS
  next[s]++;
#elif defined CHECKPOINT
  next[s]++;
  if
  :: session[s] != OPEN -> let_go(row[s]); row[s] = NONE
  :: else
  fi;
#else
  if
  :: session[s] == OPEN -> session[s] = LOST
  :: else
  fi;
  let_go(row[s]);
  row[s] = NONE;
#endif
  leave(s, w)
}

inline bury(w) {
  exited[w] = false;
  if
  :: state[w] == DONE -> take(w)
#ifdef MUTANT_BEGUN_CALL_IS_MADE_AGAIN
  :: state[w] == READY || state[w] == BUSY ->
#else
  :: state[w] == BUSY -> lose(w)
  :: state[w] == READY ->
#endif
    s = whose[w];
    if
    :: from[w] != to[w] -> let_go(to[w])
    :: else
    fi;
    runs[s] = false;
#ifdef MUTANT_CALL_THAT_WAS_NOT_BEGUN_IS_OVERTAKEN
    if
    :: nfull(queue[s]) -> queue[s]!current[s]; current[s] = NONE
    :: else
    fi;
#endif
    if
    :: session[s] != OPEN -> let_go(row[s]); row[s] = NONE
    :: else
    fi;
    clear(w)
  :: else
  fi
}

inline give(t, w) {
  paused[t] = false;
  whose[w] = t;
  from[w] = row[t];
  if
  /* The first, or shared: copied before. */
#ifdef MUTANT_CHECKPOINT_IS_WRITTEN_TO
  :: row[t] == NONE || counts[row[t]] > 1 ->
#else
  :: row[t] == NONE || counts[row[t]] > 1 || IS_COPIED ->
#endif
#ifdef MUTANT_FORK_WRITES_WHAT_IS_SHARED
    if
    :: row[t] != NONE -> to[w] = row[t]
    :: else ->
#endif
    if
    :: cursor < PLACES -> to[w] = cursor; cursor++; counts[to[w]] = 1
    :: else -> to[w] = NONE  /* no more places in this model */
    fi
#ifdef MUTANT_FORK_WRITES_WHAT_IS_SHARED
    fi
#endif
  :: else -> to[w] = row[t]
  fi;
  if
  :: to[w] != NONE -> state[w] = READY; runs[t] = true
#ifdef MUTANT_TWO_CALLS_AT_ONCE
    ; runs[t] = false
#endif
  :: else -> refuse(t, current[t]); next[t]++; current[t] = NONE; runs[t] = false
  fi;
  awaited[t] = true
}

inline fork_it() {
  session[1] = OPEN;
  row[1] = row[0];
  history[1] = history[0];
  if
  :: row[0] != NONE -> counts[row[0]]++
  :: else
  fi
}

/* Makes what is next in the order of a session, if it is its turn and a worker is free. */
#define IS_FREE(w) (state[w] == FREE && !exited[w])
#define HAS_TURN(s) (session[s] == OPEN && !runs[s] && \
                     (current[s] != NONE || nempty(queue[s])))

inline go_on(t) {
  if
  :: current[t] == NONE -> queue[t]?current[t]
  :: else
  fi;
  if
  :: current[t] == FORK -> fork_it(); current[t] = NONE
  :: current[t] != FORK && IS_FREE(0) -> give(t, 0)
  :: current[t] != FORK && IS_FREE(1) -> give(t, 1)
  fi
}

/* The session has ended or is lost: what waits is told. */
inline tell(t) {
  if
  :: current[t] != NONE -> refuse(t, current[t]); current[t] = NONE
  :: current[t] == NONE && nempty(queue[t]) ->
    queue[t]?call;
#ifndef MUTANT_WHAT_WAITS_IS_NOT_TOLD
    refuse(t, call);
#endif
    call = 0
  fi
}

#define HAS_TO_TELL(s) ((session[s] == LOST || session[s] == ENDED) && !runs[s] && \
                        (current[s] != NONE || nempty(queue[s])))
#define IS_OVER(s) (session[s] != OPEN && !runs[s] && done[s])

active proctype loop() {
  byte s, call;
  session[0] = OPEN;
  run worker(0);
  run worker(1);
  run client(0);
  run client(1);
  do
  :: atomic { exited[0] -> bury(0) }
  :: atomic { exited[1] -> bury(1) }
  :: atomic { state[0] == DONE && !exited[0] -> take(0) }
  :: atomic { state[1] == DONE && !exited[1] -> take(1) }
#ifdef TURNS
  :: atomic { state[0] == DONE && !exited[0] && MAY_PAUSE(0) -> pause(0) }
  :: atomic { state[1] == DONE && !exited[1] && MAY_PAUSE(1) -> pause(1) }
  :: atomic { paused[0] && session[0] == OPEN && awaited[0] && IS_FREE(0) -> give(0, 0) }
  :: atomic { paused[0] && session[0] == OPEN && awaited[0] && IS_FREE(1) -> give(0, 1) }
#ifndef MUTANT_WHO_LEAVES_BETWEEN_TURNS_KEEPS_THE_CLAIM
  :: atomic { paused[0] && (session[0] != OPEN || !awaited[0]) -> let_pass(0) }
#endif
#endif
  :: atomic { HAS_TURN(0) && (IS_FREE(0) || IS_FREE(1)) -> go_on(0) }
  :: atomic { HAS_TURN(1) && (IS_FREE(0) || IS_FREE(1)) -> go_on(1) }
  :: atomic { HAS_TO_TELL(0) -> tell(0) }
  :: atomic { HAS_TO_TELL(1) -> tell(1) }
#ifdef MUTANT_FORK_WHILE_A_CALL_WRITES
  :: atomic { session[0] == OPEN && session[1] == COMING && runs[0] -> fork_it() }
#endif
  /* Its owner, its time, or the drain of the generation ends it. */
  :: atomic { session[0] == OPEN && (done[0] || runs[0]) -> end_session(0, ENDED) }
  :: atomic { session[1] == OPEN && (done[1] || runs[1]) -> end_session(1, ENDED) }
#ifdef MUTANT_RETIRED_WHILE_A_CALL_RUNS
  :: atomic { session[0] != OPEN && session[1] != OPEN && session[1] != COMING ->
#else
  :: atomic { IS_OVER(0) && IS_OVER(1) ->
#endif
      assert(state[0] == FREE && state[1] == FREE);
      gone = true;
      break
    }
  od;
  (!punch[0] && !punch[1] && !punch[2] && !punch[3] && !punch[4]);
  d_step {
    for (s : 0 .. PLACES - 1) {
      assert(counts[s] == 0 && bytes[s] == 0)
    }
  }
}

ltl all_are_answered_and_it_ends { <> gone }
