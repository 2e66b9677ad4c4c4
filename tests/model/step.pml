/* SPDX-License-Identifier: Apache-2.0
 *
 * One generation on its way (server/modules/step.def, which is read here as it is): those
 * at work for it (the queue for room, the loader, the pool, its trial, who reads its
 * signatures, who holds it) and whoever takes its names away, each at any time that the
 * others allow. No event comes that the table has no row for, nothing that somebody has
 * or is at work for is removed, and all that begins comes to rest.
 *
 * What actions do is told again here, without the rest of the server. Each -DMUTANT_X is a
 * mistake somebody could make; `run` checks that none of them passes, and that each row
 * is used.
 */
#ifndef HOLDS
#define HOLDS 2
#endif

mtype = { S_NOT
#define FC_STEP(name, state, in_pool) , S_##name
#include "../../server/modules/step.def"
};
mtype = { E_NONE
#define FC_STEP_EVENT(name) , E_##name
#include "../../server/modules/step.def"
};
mtype = { A_NOT
#define FC_STEP_ACTION(name) , A_##name
#include "../../server/modules/step.def"
};
mtype = { LOADING, READY, FAILED, DRAINING, DESCRIBED };
mtype = { NOTHING, ADDING, PARTS, ENDING };   /* what the pool has */
mtype = { UNTRIED, TESTED, LEAVING, WARMED, OVER };  /* its trial */

mtype step = S_ENTERED;
mtype event = E_NONE;
mtype action = A_NOT;
mtype state = LOADING;
bool in_pool;

bool named = true;     /* a name leads to it, or may come to */
bool queued;
bool opening;          /* the loader has it */
bool reading;          /* its signatures */
mtype pool = NOTHING;
mtype trial = UNTRIED;
byte holds;

/* ------------------------------------------------------------------------ */
/* The table, and what follows */

inline look_up() {
  if
#define FC_STEP_ROW(from, on, next, do) \
  :: step == S_##from && event == E_##on -> step = S_##next; action = A_##do;
#include "../../server/modules/step.def"
  :: else -> assert(false)  /* the table has no row */
  fi
}

inline look_at_columns() {
  if
#define FC_STEP(name, shown, has_parts) \
  :: step == S_##name -> state = shown; in_pool = has_parts;
#include "../../server/modules/step.def"
  fi
}

inline let_go() {
  if
#ifndef MUTANT_REMOVED_WHILE_HELD
  :: holds -> skip
#endif
#ifndef MUTANT_REMOVED_WHILE_READ
  :: reading -> skip
#endif
  :: else -> event = E_RELEASED
  fi
}

/* If another generation has its key, or takes its place, the names go. */
inline fail() {
  trial = OVER;
  if
  :: named -> named = false; event = E_DROPPED
  :: true
  fi
}

inline host() {
  if
  :: pool = ADDING
#ifdef MUTANT_REFUSED_THOUGH_ADDED
     ; event = E_REFUSED
#endif
  :: trial = OVER; event = E_REFUSED
  fi
}

/* It may not be trusted any more, or lack memory, when its trial is over. */
inline try() {
  if
  :: state == DRAINING || trial == OVER -> trial = OVER; event = E_PASSED
  :: state != DRAINING && trial == UNTRIED -> trial = TESTED
  :: state != DRAINING && trial == UNTRIED -> trial = WARMED
  :: state != DRAINING && trial == UNTRIED -> trial = OVER; event = E_PASSED
  :: state != DRAINING && trial == UNTRIED -> trial = OVER; event = E_FAILED
  :: state != DRAINING && trial == LEAVING -> trial = WARMED
  :: state != DRAINING && trial == LEAVING -> trial = OVER; event = E_PASSED
  fi
}

inline follow() {
  if
  :: action == A_QUEUE -> assert(!queued); queued = true
  :: action == A_ADD || action == A_HOST -> assert(pool == NOTHING); host()
  :: action == A_TRY -> try()
  :: action == A_FAIL || action == A_REFUSE -> fail()
  :: action == A_GIVE_UP ->
    assert(pool == PARTS);
#ifndef MUTANT_FAILED_KEEPS_ITS_PARTS
    pool = ENDING;
#endif
    fail()
  :: action == A_SETTLE || action == A_LET_GO -> let_go()
  :: action == A_END_TRIAL ->
    trial = OVER;
#ifndef MUTANT_LEFT_AFTER_ITS_TRIAL
    let_go()
#endif
  :: action == A_RETIRE -> assert(pool == PARTS); pool = ENDING
  :: action == A_REMOVE ->
    assert(!holds && !reading && !queued && !opening && pool == NOTHING)
  :: action == A_ABANDON ->
#ifdef MUTANT_TAKEN_FROM_THE_POOL_AT_ONCE
    if :: pool == ADDING -> pool = ENDING :: else fi;
#endif
#ifdef MUTANT_TAKEN_FROM_THE_QUEUE_AT_ONCE
    queued = false;
#endif
    skip
  :: action == A_NONE || action == A_SERVE || action == A_LIGHTEN
  fi
}

active proctype machine() {
  do
  :: atomic { event != E_NONE ->
      look_up();
      look_at_columns();
      event = E_NONE;
      follow();
      assert(event != E_NONE || in_pool == (pool != NOTHING));
      assert(!named || state != DRAINING)
    }
  :: atomic { step == S_GONE && event == E_NONE -> break }
  od
}

/* ------------------------------------------------------------------------ */
/* Those at work for it. One event is followed to its end before the next. */

#define QUIET (event == E_NONE && step != S_GONE)

/* Who begins with it, asks for it, and drops it for whatever reason. */
active proctype server() {
  do
  :: atomic { QUIET && named && (step == S_ENTERED || step == S_DESCRIBED) ->
      if
      :: event = E_ASKED
      :: opening = true; event = E_ROOM
      fi
    }
  :: atomic { QUIET && named && step == S_ENTERED ->
      if
      :: event = E_LISTED
      :: trial = OVER; event = E_RESTORED
      :: event = E_FAILED
      fi
    }
  :: atomic { QUIET && named -> named = false; event = E_DROPPED }
  :: atomic { event == E_NONE && step != S_ENTERED -> break }
  od
}

active proctype demand() {
  do
  :: atomic { QUIET && named && step == S_DESCRIBED ->
      if
      :: event = E_ASKED
      :: opening = true; event = E_ROOM
      :: !reading -> reading = true
      :: break
      fi
    }
  :: atomic { step == S_GONE -> break }
  :: atomic { QUIET && step != S_DESCRIBED && step != S_ENTERED -> break }
  od
}

active proctype dropper() {
  if
  :: atomic { QUIET && named && step != S_ENTERED ->
      named = false; event = E_DROPPED }
  :: true
  fi
}

active proctype room() {
end:
  do
  :: atomic { QUIET && queued ->
      queued = false;
      if
      :: state == DRAINING -> event = E_ROOM
      :: else ->
        if
        :: opening = true; event = E_ROOM
        :: event = E_FAILED
        fi
      fi
    }
  od
}

active proctype loader() {
end:
  do
  :: atomic { QUIET && opening ->
      opening = false;
      if
      :: event = E_OPENED
      :: state != DRAINING -> event = E_FAILED
      fi
    }
  :: atomic { QUIET && reading && !opening ->
      reading = false;
      if
      :: step == S_DESCRIBED -> event = E_FAILED
#ifndef MUTANT_READER_DOES_NOT_LET_GO
      :: state == DRAINING && !holds -> event = E_RELEASED
#endif
      :: else
      fi
    }
  :: atomic { QUIET && reading && step == S_DESCRIBED -> reading = false }
  od
}

active proctype pools() {
end:
  do
  :: atomic { QUIET && pool == ADDING ->
      pool = PARTS;
      if
      :: event = E_HOSTED
      :: event = E_FAILED
      fi
    }
  :: atomic { QUIET && pool == ENDING -> pool = NOTHING; event = E_RETIRED }
  od
}

active proctype trials() {
end:
  do
  :: atomic { QUIET && trial == TESTED && pool == PARTS ->
      if
      :: state != DRAINING -> trial = LEAVING; pool = ENDING
      :: state == DRAINING -> trial = OVER; event = E_PASSED
      :: trial = OVER; event = E_FAILED
      fi
    }
  :: atomic { QUIET && trial == WARMED && pool == PARTS ->
      trial = OVER;
      if
      :: event = E_PASSED
      :: event = E_FAILED
      fi
    }
  od
}

active proctype holders() {
end:
  do
  :: atomic { QUIET && named && step != S_ENTERED && holds < HOLDS -> holds++ }
  :: atomic { QUIET && holds ->
      holds--;
      if
#ifndef MUTANT_LAST_HOLD_IS_NOT_TOLD
      :: !holds && state == DRAINING && !reading -> event = E_RELEASED
#endif
      :: else
      fi
    }
  od
}

ltl it_comes_to_rest {
  [] (<> (step == S_READY || step == S_FAILED || step == S_DESCRIBED ||
          step == S_GONE))
}
ltl what_is_dropped_goes { [] (!named -> <> (step == S_GONE)) }
