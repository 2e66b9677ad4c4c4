// SPDX-License-Identifier: Apache-2.0
//
// farcall diff: reports what a new file of a module changes for its callers. Signatures
// are compared first; then the same calls are made to both files in this process, and
// their results and times are compared. The exit status is that of diff(1).
#include <inttypes.h>
#include <stdio.h>

#include "abi/narrow.h"
#include "abi/render.h"
#include "crash.h"
#include "file.h"
#include "local.h"
#include "module/examples.h"
#include "paired.h"
#include "sample.h"

#define ANSWER_LIMIT ((size_t)1 << 30)

enum { SAME = 0, DIFFERS = 1, TROUBLE = 2 };

typedef struct diff_t {
  const fc_module_t *modules[2];  // the old one and the new one
  fc_text_t answers[2];
  fc_tolerance_t exact;
  bool differs;
  bool answered;   // both files answered the last call
  fc_code_t code;  // otherwise: how the old file failed
} diff_t;

static void print_head(const char *what, fc_str_t function) {
  printf("%-9s ", what);
  fc_show(stdout, function);
}

// ---------------------------------------------------------------------------
// Signatures

static void tell_signature(diff_t *diff, const char *what, fc_str_t function,
                           const char *why) {
  diff->differs = true;
  print_head(what, function);
  fputs(why ? ": " : "", stdout);
  fc_show_text(why ? why : "");
  putchar('\n');
}

static void compare_signatures(diff_t *diff, const fc_function_t *old,
                               const fc_function_t *new) {
  fc_error_t err;
  // A function that could not be called had no callers.
  if (!old->plan && !new->plan) return;
  if (old->plan && fc_signature_check_replaces(old->signature, new->signature,
                                               &err) != FC_OK) {
    tell_signature(diff, "narrowed", old->name, err.message);
  } else if (!old->plan || fc_signature_check_replaces(
                               new->signature, old->signature, &err) != FC_OK) {
    tell_signature(diff, "widened", old->name, NULL);
  }
}

static void compare_functions(diff_t *diff) {
  const fc_module_t *old = diff->modules[0], *new = diff->modules[1];
  for (size_t i = 0; i < fc_module_function_count(old); i++) {
    const fc_function_t *had = fc_module_function(old, i);
    const fc_function_t *has = fc_module_find(new, had->name);
    if (has) compare_signatures(diff, had, has);
    else tell_signature(diff, "removed", had->name, NULL);
  }
  for (size_t i = 0; i < fc_module_function_count(new); i++) {
    const fc_function_t *has = fc_module_function(new, i);
    if (fc_module_find(old, has->name)) continue;
    tell_signature(diff, "added", has->name, NULL);
  }
}

// ---------------------------------------------------------------------------
// Values

// The result of one call in one of the files.
typedef struct run_t {
  fc_status_t status;
  fc_error_t error;
} run_t;

static void print_call(const char *what, fc_str_t function, uint32_t line) {
  print_head(what, function);
  if (line) printf(" line %u", line);
  fputs(": ", stdout);
}

static void print_outcome(const run_t *run) {
  fc_show_text(run->status == FC_OK ? "results"
                                    : fc_code_info(run->error.code)->text);
}

static void print_results(const fc_comparison_t *found) {
  printf("%" PRIu64 " of %" PRIu64 " differ, at most by %g and %" PRIu64
         " ulp, first at ",
         found->different, found->values, found->max_absolute, found->max_ulp);
  fc_show_text(found->pointer);
  fputs(": was ", stdout);
  fc_show_text(found->expected);
  fputs(", is ", stdout);
  fc_show_text(found->got);
  putchar('\n');
}

// Returns the results in the answer {"results":[…]}.
static fc_str_t results_of(const fc_text_t *answer) {
  const fc_str_t text = fc_text_str(answer);
  const size_t head = sizeof "{\"results\":" - 1;
  return fc_str_make(text.data + head, text.size - head - 1);
}

static int compare_runs(diff_t *diff, const fc_function_t *function,
                        uint32_t line, const fc_tolerance_t *tolerance,
                        const run_t runs[2]) {
  const bool failed[2] = {runs[0].status != FC_OK, runs[1].status != FC_OK};
  fc_comparison_t found;
  fc_error_t err;
  if (failed[0] || failed[1]) {
    if (failed[0] == failed[1] && runs[0].error.code == runs[1].error.code) {
      return SAME;
    }
    diff->differs = true;
    print_call("outcome", function->name, line);
    fputs("was ", stdout);
    print_outcome(&runs[0]);
    fputs(", is ", stdout);
    print_outcome(&runs[1]);
    putchar('\n');
    return SAME;
  }
  if (fc_compare_results(function->signature, results_of(&diff->answers[0]),
                         fc_text_str(&diff->answers[1]), tolerance,
                         fc_allocator_system(), &found, &err) != FC_OK) {
    return fc_complain(TROUBLE, "%s", err.message);
  }
  if (found.different) {
    diff->differs = true;
    print_call("values", function->name, line);
    print_results(&found);
  }
  return SAME;
}

// ---------------------------------------------------------------------------
// Times

#define BUDGET_NS 300000000u       // for the rounds of one call
#define BUDGET_FEW_NS 6000000000u  // as long as there are too few rounds

static void print_times(const fc_function_t *function, uint32_t line,
                        const fc_paired_t *paired) {
  static const char *const kVerdicts[] = {"", ": no difference", ": longer",
                                          ": shorter"};
  print_call("time", function->name, line);
  printf("was %.1f us, is %.1f us%s\n",
         (double)fc_paired_median(paired, 0) / 1e3,
         (double)fc_paired_median(paired, 1) / 1e3,
         kVerdicts[fc_paired_verdict(paired)]);
}

// Makes the call in both files; which file is first changes from round to round. `bound`
// must have made the call before. False: a call failed; a function with state may refuse
// further calls.
static bool time_round(fc_local_bound_t bound[2], fc_str_t body,
                       fc_paired_t *paired) {
  fc_error_t err;
  uint64_t ns[2] = {0, 0};
  for (size_t i = 0; i < 2; i++) {
    const size_t which = (i + paired->count) % 2;
    fc_crash_watch(which ? "the new file" : "the old file");
    if (fc_local_call(&bound[which], body, NULL, NULL, &ns[which], &err)) {
      return false;
    }
  }
  for (size_t i = 0; i < 2; i++) paired->ns[i][paired->count] = ns[i];
  paired->count++;
  return true;
}

// Long calls are measured only once or a few times. Nothing is reported about them unless
// there are enough measurements.
static void compare_times(const fc_function_t *function, uint32_t line,
                          fc_str_t body, fc_local_bound_t bound[2]) {
  fc_paired_t paired = {.count = 0};
  uint64_t spent = 0;
  while (paired.count < FC_PAIRED_MAX && time_round(bound, body, &paired)) {
    const size_t last = paired.count - 1;
    spent += paired.ns[0][last] + paired.ns[1][last];
    const bool few = paired.count < FC_PAIRED_ENOUGH;
    if (spent > (few ? BUDGET_FEW_NS : BUDGET_NS)) break;
  }
  if (paired.count) print_times(function, line, &paired);
}

// ---------------------------------------------------------------------------
// Calls

static void call_first(fc_local_bound_t *bound, const fc_function_t *function,
                       fc_str_t body, fc_text_t *answer, run_t *run) {
  uint64_t ns;
  fc_error_reset(&run->error);
  run->status = fc_local_bind(function, bound, &run->error);
  if (run->status == FC_OK) {
    run->status = fc_local_call(bound, body, NULL, answer, &ns, &run->error);
  }
}

// `functions` are the old one and the new one. Compares the results of the first call of
// each. If `timed`, times further calls.
static int compare_call(diff_t *diff, const fc_function_t *functions[2],
                        uint32_t line, fc_str_t body, bool timed,
                        const fc_tolerance_t *tolerance) {
  run_t runs[2];
  fc_local_bound_t bound[2] = {{.function = NULL}, {.function = NULL}};
  for (int i = 0; i < 2; i++) {
    fc_text_reset(&diff->answers[i]);
    fc_crash_watch(i ? "the new file" : "the old file");
    call_first(&bound[i], functions[i], body, &diff->answers[i], &runs[i]);
  }
  const int trouble = compare_runs(diff, functions[0], line, tolerance, runs);
  diff->answered = runs[0].status == FC_OK && runs[1].status == FC_OK;
  diff->code = runs[0].error.code;
  if (!trouble && timed && diff->answered) {
    compare_times(functions[0], line, body, bound);
  }
  for (int i = 0; i < 2; i++) fc_local_unbind(&bound[i]);
  return trouble;
}

static int compare_calls(diff_t *diff, const fc_expectations_t *calls) {
  for (size_t i = 0; i < calls->count; i++) {
    const fc_expected_call_t *call = &calls->calls[i];
    const fc_function_t *functions[2];
    fc_error_t err;
    for (int j = 0; j < 2; j++) {
      if (fc_expected_function(call, diff->modules[j], &functions[j], &err) !=
          FC_OK) {
        return fc_complain(TROUBLE, "line %u: the %s file: %s", call->line,
                           j ? "new" : "old", err.message);
      }
    }
    const int trouble = compare_call(diff, functions, call->line, call->body,
                                     true, &call->tolerance);
    if (trouble) return trouble;
  }
  return SAME;
}

// Reports a function whose call fails in the same way in both files: no results were
// compared.
static void tell_untried(const fc_function_t *function, fc_code_t code) {
  print_call("untried", function->name, 0);
  fputs("neither file answers its example, but ", stdout);
  fc_show_text(fc_code_info(code)->text);
  putchar('\n');
}

// Makes the calls of all examples of the old file's function, except the first.
static int compare_others(diff_t *diff, const fc_function_t *functions[2]) {
  const fc_expected_call_t *it = fc_example_next(functions[0], NULL);
  while (it && (it = fc_example_next(functions[0], it))) {
    const int trouble =
        compare_call(diff, functions, 0, it->body, false, &it->tolerance);
    if (trouble) return trouble;
  }
  return SAME;
}

// Draws numbers for the example call that the signature gives. If it gives none, `drawn`
// stays empty.
static int draw(const fc_function_t *functions[2], fc_text_t *example,
                fc_text_t *drawn) {
  fc_error_t err;
  const bool safe = functions[0]->signature->memory_safe &&
                    functions[1]->signature->memory_safe;
  fc_text_reset(example);
  fc_text_reset(drawn);
  if (fc_signature_print_example(functions[0]->signature, &example->sink,
                                 NULL) != FC_OK ||
      fc_sample_draw(fc_text_str(example), safe, &drawn->sink, &err) == FC_OK) {
    return SAME;
  }
  return fc_complain(TROUBLE, "%s", err.message);
}

// Makes two calls of a function. One has the old file's first example, or one made from
// its signature. The other has drawn numbers, because zeros hide differences. The drawn
// call is timed; if nothing was drawn or the drawn call is refused, the example is timed.
// The example's tolerance is used only for the example.
static int compare_example(diff_t *diff, const fc_function_t *functions[2],
                           fc_text_t *example, fc_text_t *drawn) {
  fc_error_t err;
  const fc_expected_call_t *named = fc_example_next(functions[0], NULL);
  const fc_tolerance_t *tolerance = named ? &named->tolerance : &diff->exact;
  int trouble = draw(functions, example, drawn);
  const fc_str_t numbers = fc_text_str(drawn);
  if (trouble || (!numbers.size && !named)) return trouble;
  fc_text_reset(example);
  if (fc_example_print(functions[0], FC_STR(""), FC_EXAMPLE_SIZE_MAX,
                       &example->sink, &err) != FC_OK) {
    return fc_complain(TROUBLE, "%s", err.message);
  }
  const fc_str_t body = fc_text_str(example);
  const bool before = diff->differs;
  diff->differs = false;
  trouble = compare_call(diff, functions, 0, body, false, tolerance);
  const bool zeros_differ = diff->differs;
  diff->differs = diff->differs || before;
  if (trouble || zeros_differ) return trouble;
  if (!diff->answered) {
    tell_untried(functions[0], diff->code);
    return SAME;
  }
  if (numbers.size) {
    trouble = compare_call(diff, functions, 0, numbers, true, &diff->exact);
    if (trouble || diff->answered) return trouble;
  }
  return compare_call(diff, functions, 0, body, true, tolerance);
}

static int compare_examples(diff_t *diff) {
  fc_text_t texts[2];
  int trouble = SAME;
  for (int i = 0; i < 2; i++) {
    fc_text_init(&texts[i], fc_allocator_system(), ANSWER_LIMIT);
  }
  for (size_t i = 0; i < fc_module_function_count(diff->modules[0]); i++) {
    const fc_function_t *functions[2] = {
        fc_module_function(diff->modules[0], i)};
    functions[1] = fc_module_find(diff->modules[1], functions[0]->name);
    if (!functions[0]->plan || !functions[1] || !functions[1]->plan) continue;
    trouble = compare_example(diff, functions, &texts[0], &texts[1]);
    if (!trouble) trouble = compare_others(diff, functions);
    if (trouble) break;
  }
  for (int i = 0; i < 2; i++) fc_text_deinit(&texts[i]);
  return trouble;
}

// ---------------------------------------------------------------------------
// The verb

static int compare(diff_t *diff, const fc_expectations_t *calls) {
  for (int i = 0; i < 2; i++) {
    fc_text_init(&diff->answers[i], fc_allocator_system(), ANSWER_LIMIT);
  }
  compare_functions(diff);
  const int trouble =
      calls ? compare_calls(diff, calls) : compare_examples(diff);
  for (int i = 0; i < 2; i++) fc_text_deinit(&diff->answers[i]);
  if (trouble) return trouble;
  return diff->differs ? DIFFERS : SAME;
}

int fc_verb_diff(const fc_args_t *args) {
  fc_module_t *modules[2] = {NULL, NULL};
  fc_expectations_t *calls = NULL;
  if (args->word_count != 2 && args->word_count != 3) {
    return fc_complain(TROUBLE, "diff takes OLD, NEW and perhaps CALLS.jsonl");
  }
  int failed = args->word_count == 3
                   ? fc_local_calls(args, args->words[2], &calls)
                   : FC_EXIT_OK;
  for (int i = 0; i < 2 && !failed; i++) {
    fc_crash_watch(fc_file_base(args->words[i]));
    failed = fc_local_load(args, args->words[i], false, &modules[i]);
  }
  diff_t diff = {.modules = {modules[0], modules[1]}};
  const int exit_code = failed ? TROUBLE : compare(&diff, calls);
  fc_module_release(modules[0]);
  fc_module_release(modules[1]);
  fc_expectations_destroy(calls);
  return exit_code;
}
