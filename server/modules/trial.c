// SPDX-License-Identifier: Apache-2.0
//
// See trial.h. A trial always waits for one event, from the pool or from the loader. When
// it comes, the generation may be draining; then the trial ends.
#include "modules/trial.h"

#include <stdio.h>

#include "modules/demand.h"
#include "config/limits.h"
#include "module/prove.h"

typedef enum stage_t {
  STAGE_PROVE,  // `next` is a function
  STAGE_TEST,
  STAGE_LEAVE,  // its process is ending
  STAGE_WARM,
} stage_t;

struct fc_trial_t {
  fc_job_t job;  // first
  fc_modules_t *modules;
  fc_generation_t *generation;
  fc_allocator_t allocator;
  fc_proof_t proof;
  uint8_t stage;    // stage_t
  bool examples;    // `proof.tests` are examples: nobody has written them
  uint32_t next;    // call of this stage
  uint32_t round;   // of STAGE_WARM
  uint64_t due_ns;  // when the trial must be over; 0: it has not begun
  // The answer to compare: `pieces` of blocks, until the loader has copied them to
  // `text`. Copying 4 MiB would take longer than a turn of the loop may.
  fc_blocks_t *blocks;
  uint32_t piece_count;
  fc_piece_t pieces[FC_PIECES_MAX];
  fc_text_t text;
  bool failed;  // the last call failed with `error`
  fc_error_t error;
};

static void give_answer(fc_trial_t *trial) {
  for (uint32_t i = 0; i < trial->piece_count; i++) {
    fc_block_give(trial->blocks, trial->pieces[i].block);
  }
  trial->piece_count = 0;
}

void fc_trial_free(fc_generation_t *generation) {
  fc_trial_t *trial = generation->loading.trial;
  if (!trial) return;
  generation->loading.trial = NULL;
  give_answer(trial);
  fc_proof_deinit(&trial->proof);
  fc_text_deinit(&trial->text);
  fc_free(trial->allocator, trial);
}

void fc_trial_stop(fc_modules_t *modules, fc_generation_t *generation) {
  if (!generation->loading.trial ||
      generation->loading.trial->job.state == FC_JOB_NEW)
    return;
  fc_pool_drop(modules->options.pool, &generation->loading.trial->job);
}

// Ends the trial: its generation can now be called, or drains, or it failed with `error`.
static void end(fc_trial_t *trial, const fc_error_t *error) {
  fc_modules_t *modules = trial->modules;
  fc_modules_on_tried(modules, trial->generation, error);
}

static void fail_test(fc_trial_t *trial, const fc_error_t *why) {
  fc_error_t error = *why;
  if (why->code == FC_CODE_SELF_TEST_FAILED) {
    snprintf(error.message, sizeof error.message, "self-test, %.340s",
             why->message);
  }
  end(trial, &error);
}

// ---------------------------------------------------------------------------
// Calls

static fc_status_t submit(fc_trial_t *trial, const fc_function_t *function,
                          uint8_t rows, fc_str_t body, fc_error_t *err) {
  const fc_modules_options_t *options = &trial->modules->options;
  fc_blocks_t *blocks = options->pool->blocks;
  const uint64_t call_ms = trial->generation->policy->timeout;
  uint64_t due_ns = fc_clock_ns() + call_ms * 1000000u;
  uint32_t block;
  if (body.size > options->body_max) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                   "the call has %zu bytes, more than --max-body", body.size);
  }
  if (!call_ms || due_ns > trial->due_ns) due_ns = trial->due_ns;
  FC_TRY(fc_block_take(blocks, body.size, &block, err));
  uint8_t *data = fc_block_data(blocks, block);
  memcpy(data, body.data, body.size);
  memset(data + body.size, 0, FC_BLOCK_TAIL);
  trial->job = (fc_job_t){.call = {.generation = trial->generation->index,
                                   .function = (uint32_t)function->index,
                                   .dialect = options->dialect,
                                   .flags = FC_CALL_OWN,
                                   .rows = rows,
                                   .body_max = body.size,
                                   .deadline_ns = due_ns,
                                   .body = {.block = block, .size = body.size}},
                          .limit_ns = due_ns};
  fc_pool_enqueue(options->pool, &trial->job);
  return FC_OK;
}

static const fc_expected_call_t *call_of(const fc_trial_t *trial) {
  return &trial->proof.tests->calls[trial->next];
}

// Is the error a shortage of the server, which is not the module's fault?
static bool is_shortage(fc_code_t code) {
  return code == FC_CODE_OUT_OF_MEMORY || code == FC_CODE_OVERLOADED;
}

static fc_status_t submit_test(fc_trial_t *trial, fc_error_t *err) {
  const fc_expected_call_t *call = call_of(trial);
  const fc_function_t *function;
  fc_error_t why;
  fc_status_t status =
      fc_expected_function(call, trial->generation->module, &function, &why);
  if (status == FC_OK) status = submit(trial, function, 0, call->body, &why);
  if (status == FC_OK) return FC_OK;
  if (!is_shortage(why.code)) return fc_expected_fail(call, &why, err);
  *err = why;
  return status;
}

// Makes a call of the warm-up. False: the call cannot be made; or it is expected to fail,
// which warms nothing up; or it is the example of a function that clients may not see.
static bool submit_warm(fc_trial_t *trial) {
  const fc_expected_call_t *call = call_of(trial);
  const fc_function_t *function;
  if (call->error.size ||
      fc_expected_function(call, trial->generation->module, &function, NULL) !=
          FC_OK ||
      (trial->examples &&
       !fc_generation_exposes(trial->generation, function))) {
    return false;
  }
  return submit(trial, function, 0, call->body, NULL) == FC_OK;
}

// Makes the next possible call; false: there is none, or time is over.
static bool warm(fc_trial_t *trial) {
  const size_t count = trial->proof.tests->count;
  size_t skipped = 0;
  if (fc_clock_ns() >= trial->due_ns) return false;
  while (trial->round < trial->proof.warm_up && skipped < count) {
    if (trial->next == count) {
      trial->next = 0;
      trial->round++;
      continue;
    }
    if (submit_warm(trial)) return true;
    trial->next++;
    skipped++;
  }
  return false;
}

static void leave(fc_trial_t *trial) {
  if (trial->proof.tests) {
    fc_log_field_t fields[] = {
        FC_LOG_TEXT("module", trial->generation->claim.label),
        FC_LOG_NUMBER("calls", trial->proof.tests->count),
    };
    fc_log_fields(trial->modules->options.log, FC_LOG_INFO,
                  FC_STR("self-test passed"), fields, FC_ARRAY_COUNT(fields));
  }
  trial->stage = STAGE_LEAVE;
  trial->next = 0;
  fc_pool_retire(trial->modules->options.pool, trial->generation->index);
}

// Asks the loader to compare the answer, or to make examples.
static void ask_loader(fc_trial_t *trial) {
  fc_modules_t *modules = trial->modules;
  fc_error_t error;
  if (fc_loader_check(modules->loader, trial, trial->generation->index,
                      &error) == FC_OK) {
    modules->pending++;
  } else {
    end(trial, &error);
  }
}

static void settle(fc_trial_t *trial, fc_str_t verdict) {
  fc_module_t *module = trial->generation->module;
  const fc_function_t *function = fc_module_function(module, trial->next);
  fc_error_t error;
  if (fc_module_settle(module, trial->next, verdict, &error) != FC_OK) {
    verdict = fc_str(error.message);
  }
  fc_log_field_t fields[] = {
      FC_LOG_TEXT("module", trial->generation->claim.label),
      FC_LOG_TEXT("function", function->name),
      FC_LOG_TEXT("batch", verdict),
  };
  fc_log_fields(trial->modules->options.log, FC_LOG_INFO, FC_STR("rows tried"),
                fields, FC_ARRAY_COUNT(fields));
  trial->next++;
}

// Tries the next function that has rows, while there is time. After the last function,
// the test begins. False: there is no test.
static bool go_on_proof(fc_trial_t *trial) {
  const fc_module_t *module = trial->generation->module;
  while (trial->next < fc_module_function_count(module)) {
    const fc_function_t *function = fc_module_function(module, trial->next);
    if (!fc_rows_may_batch(function)) {
      trial->next++;
    } else if (fc_clock_ns() >= trial->due_ns) {
      settle(trial, FC_STR(FC_BATCH_SLOW));
    } else if (submit(trial, function, FC_ROWS_PROVE, FC_STR("{}"), NULL) ==
               FC_OK) {
      return true;
    } else {
      trial->next++;
    }
  }
  trial->stage = STAGE_TEST;
  trial->next = 0;
  trial->due_ns = fc_clock_ns() + FC_LIMIT_TRIAL_MS * 1000000ull;
  if (trial->proof.tests) return false;
  leave(trial);
  return true;
}

static void go_on_test(fc_trial_t *trial) {
  fc_error_t error;
  if (trial->next == trial->proof.tests->count) {
    leave(trial);
  } else if (fc_clock_ns() >= trial->due_ns) {
    (void)fc_fail(&error, FC_CODE_SELF_TEST_FAILED,
                  "line %u: %u s are over, which is all that a test may take",
                  call_of(trial)->line, FC_LIMIT_TRIAL_MS / 1000);
    fail_test(trial, &error);
  } else if (submit_test(trial, &error) != FC_OK) {
    fail_test(trial, &error);
  }
}

static void go_on(fc_trial_t *trial) {
  fc_error_t error;
  if (fc_generation_state(trial->generation) != FC_GENERATION_LOADING) {
    end(trial, NULL);
  } else if (trial->modules->stopped) {
    (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
    end(trial, &error);
  } else if (trial->stage == STAGE_PROVE && go_on_proof(trial)) {
    return;
  } else if (trial->stage == STAGE_TEST) {
    go_on_test(trial);
  } else if (trial->proof.warm_up && !trial->proof.tests) {
    ask_loader(trial);
  } else if (!trial->proof.warm_up || !warm(trial)) {
    end(trial, NULL);
  }
}

// ---------------------------------------------------------------------------
// Answers

// Copies the answer before reading it, because the process that wrote it may still change
// it.
static fc_status_t copy_answer(fc_trial_t *trial, fc_error_t *err) {
  fc_sink_t *sink = &trial->text.sink;
  fc_text_reset(&trial->text);
  for (uint32_t i = 0; i < trial->piece_count; i++) {
    const fc_piece_t *piece = &trial->pieces[i];
    const uint8_t *data =
        fc_block_data(trial->blocks, piece->block) + piece->offset;
    FC_TRY(
        fc_sink_put(sink, fc_str_make((const char *)data, piece->size), err));
  }
  give_answer(trial);
  return FC_OK;
}

fc_status_t fc_trial_check(fc_trial_t *trial, fc_error_t *err) {
  const fc_module_t *module = trial->generation->module;
  if (trial->stage == STAGE_PROVE) return copy_answer(trial, err);
  if (trial->stage == STAGE_WARM) {
    return fc_proof_examples(module, trial->allocator, &trial->proof.tests,
                             err);
  }
  const fc_expected_call_t *call = call_of(trial);
  const fc_function_t *function;
  FC_TRY(copy_answer(trial, err));
  FC_TRY(fc_expected_function(call, module, &function, err));
  return fc_expected_check(call, function->signature, fc_text_str(&trial->text),
                           trial->failed ? &trial->error : NULL,
                           trial->allocator, err);
}

void fc_trial_on_checked(fc_modules_t *modules, const fc_load_t *load) {
  const fc_generation_t *generation =
      fc_generations_at(&modules->generations, load->generation);
  fc_trial_t *trial = generation->loading.trial;
  if (load->status != FC_OK &&
      fc_generation_state(generation) == FC_GENERATION_LOADING) {
    fail_test(trial, &load->error);
    return;
  }
  if (trial->stage == STAGE_PROVE) settle(trial, fc_text_str(&trial->text));
  else if (trial->stage == STAGE_TEST) trial->next++;
  else trial->examples = true;
  go_on(trial);
}

// Keeps the blocks of an answer that is to be compared.
static fc_status_t take_answer(fc_trial_t *trial, fc_outcome_t *outcome,
                               fc_error_t *err) {
  uint64_t size = 0;
  if (trial->stage == STAGE_TEST && !call_of(trial)->results.size) return FC_OK;
  for (uint32_t i = 0; i < outcome->piece_count; i++) {
    size += outcome->pieces[i].size;
  }
  if (size > FC_LIMIT_TRIAL_ANSWER) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "the answer has %llu bytes, at most %u are compared",
                   (unsigned long long)size, FC_LIMIT_TRIAL_ANSWER);
  }
  memcpy(trial->pieces, outcome->pieces,
         outcome->piece_count * sizeof *trial->pieces);
  trial->piece_count = outcome->piece_count;
  outcome->piece_count = 0;
  return FC_OK;
}

static bool ended_its_process(fc_code_t code) {
  return code == FC_CODE_WORKER_CRASHED || code == FC_CODE_DEADLINE_EXCEEDED ||
         code == FC_CODE_WORKER_OUT_OF_MEMORY ||
         code == FC_CODE_MODULE_QUARANTINED;
}

// Continues after a call of the warm-up. If a call from a file crashed, took too long or
// too much memory, or was refused after crashes, the module fails. If the call was a
// generated example, or the trial's time is over, this is only logged and the warm-up
// ends.
static void go_on_warm(fc_trial_t *trial) {
  trial->next++;
  if (!trial->failed || !ended_its_process(trial->error.code)) {
    go_on(trial);
    return;
  }
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_MODULE_LOAD, "warm-up: %.340s",
                trial->error.message);
  if (!trial->examples && fc_clock_ns() < trial->due_ns) {
    end(trial, &error);
    return;
  }
  fc_log_field_t field = FC_LOG_TEXT("module", trial->generation->claim.label);
  fc_log_fields(trial->modules->options.log, FC_LOG_WARN, fc_str(error.message),
                &field, 1);
  trial->round = trial->proof.warm_up;
  go_on(trial);
}

// A function that crashes or takes too long is not batched.
static void go_on_failed(fc_trial_t *trial) {
  char verdict[FC_VERDICT_SIZE] = FC_BATCH_SLOW;
  if (trial->error.code != FC_CODE_DEADLINE_EXCEEDED) {
    snprintf(verdict, sizeof verdict, FC_BATCH_OFF "random rows: %.280s",
             trial->error.message);
  }
  settle(trial, fc_str(verdict));
  go_on(trial);
}

// Handles the end of the trial's call.
static void take(fc_trial_t *trial) {
  if (fc_generation_state(trial->generation) != FC_GENERATION_LOADING) {
    go_on(trial);
  } else if (trial->stage == STAGE_WARM) {
    go_on_warm(trial);
  } else if (trial->stage == STAGE_PROVE && trial->failed) {
    go_on_failed(trial);
  } else if (trial->failed && is_shortage(trial->error.code)) {
    const fc_error_t error = trial->error;  // `end` frees the trial
    end(trial, &error);
  } else {
    ask_loader(trial);
  }
}

static fc_trial_t *of_job(fc_job_t *job) { return (fc_trial_t *)(void *)job; }

void fc_trial_on_done(fc_modules_t *modules, fc_job_t *job) {
  fc_trial_t *trial = of_job(job);
  fc_outcome_t *outcome = job->outcome;
  trial->failed = outcome->status != FC_OK;
  if (trial->failed) {
    trial->error = outcome->error;
  } else if (trial->stage <= STAGE_TEST) {
    trial->failed = take_answer(trial, outcome, &trial->error) != FC_OK;
  }
  fc_pool_finish(modules->options.pool, job);
  take(trial);
}

void fc_trial_on_expired(fc_modules_t *modules, fc_job_t *job) {
  fc_trial_t *trial = of_job(job);
  trial->failed = true;
  (void)fc_fail(&trial->error, FC_CODE_DEADLINE_EXCEEDED,
                "the deadline passed before the call was begun");
  fc_pool_drop(modules->options.pool, job);
  take(trial);
}

// ---------------------------------------------------------------------------
// Making and starting a trial

static bool is_said(const fc_module_policy_t *policy, unsigned key) {
  return policy->origins[key].from != FC_ORIGIN_DEFAULT;
}

// The configuration overrides the sidecar. An empty list of tests counts as none.
static void follow(const fc_module_policy_t *policy, fc_proof_t *proof) {
  if (is_said(policy, FC_MODULE_KEY_warm_up)) {
    proof->warm_up = (uint32_t)policy->warm_up;
  }
  if (is_said(policy, FC_MODULE_KEY_rollback_on_crash)) {
    proof->rollback_on_crash = policy->rollback_on_crash;
  }
  if (proof->tests && !proof->tests->count) {
    fc_expectations_destroy(proof->tests);
    proof->tests = NULL;
  }
}

static fc_status_t make_trial(fc_modules_t *modules,
                              fc_generation_t *generation,
                              fc_proof_t *take_proof, fc_error_t *err) {
  const fc_allocator_t allocator = modules->generations.allocator;
  fc_trial_t *trial = fc_alloc(allocator, sizeof *trial);
  if (!trial) return fc_fail_memory(err);
  trial->modules = modules;
  trial->generation = generation;
  trial->allocator = allocator;
  trial->blocks = modules->options.pool->blocks;
  trial->proof = *take_proof;
  *take_proof = (fc_proof_t){0};
  trial->stage = fc_module_has_rows(generation->module) ? STAGE_PROVE
                 : trial->proof.tests                   ? STAGE_TEST
                                                        : STAGE_WARM;
  fc_text_init(&trial->text, allocator, FC_LIMIT_TRIAL_ANSWER);
  generation->loading.trial = trial;
  return FC_OK;
}

fc_status_t fc_trial_make(fc_modules_t *modules, fc_generation_t *generation,
                          fc_proof_t *take_proof, fc_error_t *err) {
  follow(generation->policy, take_proof);
  generation->fallback.goes_back = take_proof->rollback_on_crash;
  if (!take_proof->tests && !take_proof->warm_up &&
      !fc_module_has_rows(generation->module)) {
    return FC_OK;
  }
  return make_trial(modules, generation, take_proof, err);
}

void fc_trial_adapt(fc_generation_t *generation, fc_hosting_t *hosting) {
  fc_trial_t *trial = generation->loading.trial;
  if (!trial) return;
  if (trial->stage == STAGE_LEAVE) trial->stage = STAGE_WARM;
  hosting->trial = trial->stage <= STAGE_TEST;
  hosting->process |=
      hosting->trial;  // the loader has hashed its file for that
  hosting->fresh &=
      !hosting->trial;  // one process makes all calls of the trial
}

bool fc_trial_on_added(fc_generation_t *generation) {
  fc_trial_t *trial = generation->loading.trial;
  if (!trial) return false;
  // The time begins when the first worker serves, because loading may take long.
  if (!trial->due_ns) {
    const uint64_t ms = trial->stage == STAGE_PROVE ? FC_LIMIT_PROVE_CLOCK_MS
                                                    : FC_LIMIT_TRIAL_MS;
    trial->due_ns = fc_clock_ns() + ms * 1000000ull;
  }
  go_on(trial);
  return true;
}
