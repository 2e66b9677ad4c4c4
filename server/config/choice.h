// SPDX-License-Identifier: Apache-2.0
//
// The words of each option of kind CHOICE. A list here makes the enumerators; FC_WORDS
// makes from it the text for the rows of options.def, module.def and listener.def. The
// value of an option is the word's position in its list.
#ifndef FARCALL_SERVER_CONFIG_CHOICE_H_
#define FARCALL_SERVER_CONFIG_CHOICE_H_

#define FC_CHOICE_LANE(WORD)     \
  WORD(FC_LANE_AUTO, "auto")     \
  WORD(FC_LANE_ALWAYS, "always") \
  WORD(FC_LANE_NEVER, "never")
// AUTO: machine code runs in processes, bytecode in threads.
#define FC_CHOICE_ISOLATION(WORD)       \
  WORD(FC_ISOLATION_AUTO, "auto")       \
  WORD(FC_ISOLATION_PROCESS, "process") \
  WORD(FC_ISOLATION_THREAD, "thread")
#define FC_CHOICE_FRESH(WORD) \
  WORD(FC_FRESH_OFF, "off")   \
  WORD(FC_FRESH_CALL, "call")
// AUTO: calls are batched where the rows of a batch were found independent of each other.
#define FC_CHOICE_BATCH(WORD)       \
  WORD(FC_BATCH_CALLS_AUTO, "auto") \
  WORD(FC_BATCH_CALLS_OFF, "off")
// AUTO: the parts of STRICT that the kernel has.
#define FC_CHOICE_SANDBOX(WORD)     \
  WORD(FC_SANDBOX_AUTO, "auto")     \
  WORD(FC_SANDBOX_STRICT, "strict") \
  WORD(FC_SANDBOX_BASIC, "basic")   \
  WORD(FC_SANDBOX_OFF, "off")
// AUTO: guards functions that trust the caller's dims and run in a process.
#define FC_CHOICE_GUARD(WORD) \
  WORD(FC_GUARD_AUTO, "auto") \
  WORD(FC_GUARD_ON, "on")     \
  WORD(FC_GUARD_OFF, "off")
#define FC_CHOICE_CANCEL(WORD)       \
  WORD(FC_CANCEL_DISCARD, "discard") \
  WORD(FC_CANCEL_KILL, "kill")
#define FC_CHOICE_ACCESS_LOG(WORD) \
  WORD(FC_ACCESS_LOG_ON, "on")     \
  WORD(FC_ACCESS_LOG_OFF, "off")
#define FC_CHOICE_LOG_FORMAT(WORD) \
  WORD(FC_LOG_FORMAT_AUTO, "auto") \
  WORD(FC_LOG_FORMAT_TEXT, "text") \
  WORD(FC_LOG_FORMAT_JSON, "json")
#define FC_CHOICE_VM_STATE(WORD)     \
  WORD(FC_VM_STATE_AUTO, "auto")     \
  WORD(FC_VM_STATE_SHARED, "shared") \
  WORD(FC_VM_STATE_PRIVATE, "private")
#define FC_CHOICE_READY(WORD) \
  WORD(FC_READY_ANY, "any")   \
  WORD(FC_READY_ALL, "all")
#define FC_CHOICE_LOAD(WORD)      \
  WORD(FC_LOAD_AT_START, "start") \
  WORD(FC_LOAD_ON_DEMAND, "demand")
#define FC_CHOICE_ADMIN(WORD)     \
  WORD(FC_ADMIN_OFF, "off")       \
  WORD(FC_ADMIN_SOCKET, "socket") \
  WORD(FC_ADMIN_LOOPBACK, "loopback")
#define FC_CHOICE_ROLLBACK(WORD)   \
  WORD(FC_ROLLBACK_NEVER, "never") \
  WORD(FC_ROLLBACK_ON_CRASH, "on-crash")

#define FC_CHOICE_NAME(name, word) name,
#define FC_CHOICE_WORD(name, word) "|" word
// "auto|always|never"
#define FC_WORDS(list) (&(FC_CHOICE_##list(FC_CHOICE_WORD))[1])

typedef enum fc_lane_t { FC_CHOICE_LANE(FC_CHOICE_NAME) } fc_lane_t;
typedef enum fc_isolation_mode_t {
  FC_CHOICE_ISOLATION(FC_CHOICE_NAME)
} fc_isolation_mode_t;
typedef enum fc_sandbox_t { FC_CHOICE_SANDBOX(FC_CHOICE_NAME) } fc_sandbox_t;
typedef enum fc_guard_policy_t {
  FC_CHOICE_GUARD(FC_CHOICE_NAME)
} fc_guard_policy_t;
enum { FC_CHOICE_FRESH(FC_CHOICE_NAME) };
enum { FC_CHOICE_BATCH(FC_CHOICE_NAME) };
enum { FC_CHOICE_CANCEL(FC_CHOICE_NAME) };
enum { FC_CHOICE_ACCESS_LOG(FC_CHOICE_NAME) };
enum { FC_CHOICE_LOG_FORMAT(FC_CHOICE_NAME) };
enum { FC_CHOICE_VM_STATE(FC_CHOICE_NAME) };
enum { FC_CHOICE_READY(FC_CHOICE_NAME) };
enum { FC_CHOICE_LOAD(FC_CHOICE_NAME) };
enum { FC_CHOICE_ADMIN(FC_CHOICE_NAME) };
enum { FC_CHOICE_ROLLBACK(FC_CHOICE_NAME) };

#endif  // FARCALL_SERVER_CONFIG_CHOICE_H_
