/* SPDX-License-Identifier: Apache-2.0
 *
 * Opaque references of sessions (server/pool/home.h): two sessions, and two workers of which
 * one may be killed at any step and is started again. Each call makes a reference, which
 * comes in the place of the one that its session has; the next call is given that. The loop
 * owns the numbers, and says which have gone by a queue in shared memory, for which a worker
 * that sleeps is woken as for a call. How a call changes hands is in bell.pml: here that is
 * one step.
 *
 * A call finds the reference that it is given, which is its session's own; and when all
 * sessions have ended or are lost, no worker has any.
 *
 * Each -DMUTANT_X is a mistake somebody could make; `run` checks that none of them passes.
 */
#define SESSIONS 2
#define WORKERS 2
#define CALLS(s) (2 - (s))  /* of each session */
#ifndef DEATHS
#define DEATHS 1
#endif
#define NUMBERS (3 + DEATHS)  /* one for each call, and each time one is made again */
#define NONE 255

mtype = { FREE, READY, BUSY, DONE };

typedef table_t { bool has[NUMBERS] };

/* The region of each worker; what it has is gone with it. */
mtype state[WORKERS] = FREE;
byte whose[WORKERS];    /* whose call it is */
byte given[WORKERS];    /* the reference that the call is given; NONE: it has none yet */
byte grant[WORKERS];    /* the number that it may use */
bool rung[WORKERS];     /* the worker's futex is another since it looked at it first */
bool asleep[WORKERS];
chan drops[WORKERS] = [NUMBERS] of { byte };
table_t table[WORKERS];
bool dying[WORKERS], exited[WORKERS];
byte deaths;

/* The loop's own. */
byte number;            /* that is granted next */
byte maker[NUMBERS];    /* the session whose call made it */
byte home[SESSIONS] = NONE;
byte kept[SESSIONS] = NONE;
byte made[SESSIONS];    /* calls */
bool runs[SESSIONS], lost[SESSIONS], ended[SESSIONS];

/* ------------------------------------------------------------------------ */
/* A worker, and what kills it */

proctype worker(byte w) {
  byte n;
end:
  do
  :: true ->
    {
end_asleep:
      do
      :: true ->
        rung[w] = false;
        if
        :: state[w] == READY ->
          state[w] = BUSY;
          d_step {
            assert(given[w] == NONE ||
                   (table[w].has[given[w]] && maker[given[w]] == whose[w]));
            table[w].has[grant[w]] = true
          };
          state[w] = DONE
        :: else ->
          if
          :: len(drops[w]) > 0 ->
            d_step { drops[w]?n; table[w].has[n] = false; n = 0 }
          :: else ->
            asleep[w] = true;
            if
            :: state[w] == READY
#ifndef MUTANT_SLEEPS_THOUGH_SOMETHING_HAS_GONE
            :: len(drops[w]) > 0
#endif
            :: else ->
end_wait:
              rung[w]
            fi;
            asleep[w] = false
          fi
        fi
      od
    } unless { dying[w] };
    d_step {
      dying[w] = false;
      exited[w] = true;
      for (n : 0 .. NUMBERS - 1) { table[w].has[n] = false }
      n = 0
    };
end_gone:
    !exited[w]
  od
}

active proctype fate() {
  byte w;
end:
  do
  :: atomic { deaths < DEATHS ->
      deaths++;
      select (w : 0 .. 1);
      if
      :: !dying[w] && !exited[w] -> dying[w] = true
      :: else
      fi
    }
  od
}

/* ------------------------------------------------------------------------ */
/* The loop */

inline notify(w) {
  if
  :: asleep[w] -> rung[w] = true
  :: else
  fi
}

inline drop(w, n) {
  drops[w]!n;
#ifndef MUTANT_GOES_WITHOUT_A_BELL
  notify(w)
#endif
}

/* The session has no reference any more. */
inline let_go(s) {
  if
  :: kept[s] != NONE ->
    drop(home[s], kept[s]);
    kept[s] = NONE;
    home[s] = NONE
  :: else
  fi
}

inline give(s, w) {
  runs[s] = true;
  whose[w] = s;
  given[w] = kept[s];
  grant[w] = number;
  maker[number] = s;
  number++;
  state[w] = READY;
  notify(w)
}

inline empty_slot(w) {
  state[w] = FREE;
  whose[w] = 0;
  given[w] = NONE;
  grant[w] = 0
}

inline take(s, w) {
  s = whose[w];
  runs[s] = false;
  made[s]++;
  if
  :: ended[s] ->
#ifndef MUTANT_WHAT_IS_NOT_KEPT_STAYS
    drop(w, grant[w]);
#endif
    let_go(s)
  :: else ->
#ifndef MUTANT_WHAT_IS_REPLACED_STAYS
    let_go(s);
#endif
    kept[s] = grant[w];
    home[s] = w
  fi;
  empty_slot(w)
}

inline lose(s) {
  lost[s] = true;
  kept[s] = NONE;
  home[s] = NONE
}

/* A worker has ended: its call, if that had begun, and its references are lost. */
inline bury(w) {
  if
  :: state[w] == BUSY -> n = whose[w]; runs[n] = false; lose(n)
  :: state[w] == READY -> runs[whose[w]] = false
  :: else
  fi;
#ifndef MUTANT_SESSIONS_OUTLIVE_THEIR_HOME
  if :: home[0] == w -> lose(0) :: else fi;
  if :: home[1] == w -> lose(1) :: else fi;
#endif
  do
  :: nempty(drops[w]) -> drops[w]?n
  :: empty(drops[w]) -> break
  od;
  n = 0;
  empty_slot(w);
  asleep[w] = false;
  rung[w] = false;
  exited[w] = false
}

#ifdef MUTANT_GIVEN_TO_ANY_WORKER
#define MAY_HAVE(s, w) true
#else
#define MAY_HAVE(s, w) (home[s] == NONE || home[s] == w)
#endif
#define CAN_GIVE(s, w) (!ended[s] && !lost[s] && !runs[s] && made[s] < CALLS(s) && \
                        !exited[w] && state[w] == FREE && MAY_HAVE(s, w))
#define IS_OVER(s) ((ended[s] || lost[s]) && !runs[s])

active proctype loop() {
  byte s, n;
  run worker(0);
  run worker(1);
  do
  :: atomic { CAN_GIVE(0, 0) -> give(0, 0) }
  :: atomic { CAN_GIVE(0, 1) -> give(0, 1) }
  :: atomic { CAN_GIVE(1, 0) -> give(1, 0) }
  :: atomic { CAN_GIVE(1, 1) -> give(1, 1) }
  :: atomic { state[0] == DONE -> take(s, 0); s = 0 }
  :: atomic { state[1] == DONE -> take(s, 1); s = 0 }
  :: atomic { exited[0] && state[0] != DONE -> bury(0) }
  :: atomic { exited[1] && state[1] != DONE -> bury(1) }
  :: atomic { !ended[0] -> ended[0] = true; if :: !runs[0] -> let_go(0) :: else fi }
  :: atomic { !ended[1] -> ended[1] = true; if :: !runs[1] -> let_go(1) :: else fi }
  :: IS_OVER(0) && IS_OVER(1) -> break
  od;
  assert(kept[0] == NONE && kept[1] == NONE);
  /* What nobody has is freed. */
  for (n : 0 .. NUMBERS - 1) {
    !table[0].has[n] && !table[1].has[n]
  }
}
