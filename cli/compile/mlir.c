// SPDX-License-Identifier: Apache-2.0
//
// The road by MLIR's tools: makes a shared object, with its ABI description, from MLIR.
// It runs the tools of MLIR and LLVM one after the other, and reads and annotates their
// output:
//
//   source -> parsed -> [buffers] -> annotated
//   annotated -> [checked -> contracted] -> lowered -> ir -> object -> so,
//                                           for each processor of --cpu
//
// The tools run in the work directory, and files have relative names, so that no path of
// this machine gets into the module.
#include <stdio.h>

#include "abi/sidecar.h"
#include "base/sha256.h"
#include "compile/alignment.h"
#include "compile/leave.h"
#include "compile/mlir/text.h"
#include "compile/mlir_tell.h"
#include "compile/sidecar.h"
#include "compile/step.h"
#include "file.h"
#include "object.h"
#include "tool.h"

#define TEXT_LIMIT ((size_t)1 << 30)
#define TOOL_ARGUMENTS_MAX 64

#if defined(__x86_64__)
#define TRIPLE "x86_64-unknown-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLE "aarch64-unknown-linux-gnu"
#endif

enum { MLIR_OPT, MLIR_TRANSLATE, OPT, LLC, CC, TOOL_COUNT };

typedef struct fc_tool_info_t {
  const char *name;
  const char *package;
} fc_tool_info_t;

static const fc_tool_info_t kTools[TOOL_COUNT] = {
    [MLIR_OPT] = {"mlir-opt", "mlir-22-tools"},
    [MLIR_TRANSLATE] = {"mlir-translate", "mlir-22-tools"},
    [OPT] = {"opt", "llvm-22"},
    [LLC] = {"llc", "llvm-22"},
    [CC] = {"cc", "gcc"},
};

// Files in the work directory.
#define OURS FC_WORK_FILE
#define LINALG OURS "0-linalg.mlir"
#define PARSED OURS "1-parsed.mlir"
#define BUFFERS OURS "2-buffers.mlir"
#define ANNOTATED OURS "3-annotated.mlir"
#define CHECKED OURS "3-checked.mlir"
#define CONTRACTED OURS "3-contracted.mlir"
#define PROBE_IR OURS "4-probe.ll"
#define PROBE OURS "4-probe.s"
#define LOWERED OURS "4-lowered.mlir"
#define SCOPED OURS "4-scoped.mlir"
#define IR OURS "5-module.ll"
#define OPTIMIZED OURS "6-module.bc"
#define OBJECT OURS "7-module.o"
#define ABI_IR OURS "8-abi.ll"
#define ABI_OBJECT OURS "8-abi.o"
#define LINKED OURS "9-module.so"

// The form that mlir/text.h reads. It includes locations, so that later messages can name
// the line of the user's source.
#define GENERIC                                          \
  "--mlir-print-op-generic", "--mlir-print-local-scope", \
      "--mlir-print-debuginfo"
static const char *const kGeneric[] = {GENERIC, NULL};

static const char *const kBufferize[] = {
    "--mlir-print-ir-after-failure", GENERIC,
    // Comparisons and arithmetic on whole tensors cannot be bufferized.
    "--convert-elementwise-to-linalg",
    // Arguments and results get plain layouts, because callers pass dense arrays.
    "--one-shot-bufferize=bufferize-function-boundaries=1 "
    "function-boundary-type-conversion=identity-layout-map",
    // Results belong to the caller; temporaries are freed.
    "--buffer-deallocation-pipeline", "--convert-bufferization-to-memref",
    NULL};

// With -O2 and -O3, runs before kBufferize and fuses a chain of element-wise operations.
// The first fusion gives each operation a result of its own; the size of that result
// still depends on the operation before. After canonicalize it depends on arguments only,
// and the second fusion can merge the operations.
static const char *const kFuse[] = {"--convert-elementwise-to-linalg",
                                    "--linalg-fuse-elementwise-ops",
                                    "--canonicalize",
                                    "--linalg-fuse-elementwise-ops",
                                    "--canonicalize",
                                    NULL};

// Before kBufferize, for sources of the tosa dialect.
static const char *const kTosa[] = {
    "--pass-pipeline=builtin.module(func.func(tosa-optional-decompositions,"
    "canonicalize,tosa-infer-shapes,tosa-make-broadcastable,"
    "tosa-to-linalg-named),func.func(canonicalize,tosa-layerwise-constant-fold,"
    "tosa-make-broadcastable,tosa-to-linalg,tosa-to-arith{include-apply-rescale="
    "true},tosa-to-tensor,tosa-to-scf,linalg-fuse-elementwise-ops,canonicalize))",
    "--mlir-print-ir-after-failure", GENERIC, NULL};

static const char *const kLower[] = {
    "--mlir-print-ir-after-failure", GENERIC, "--convert-linalg-to-loops",
    "--expand-realloc",  // before scf-to-cf, because it makes scf operations
    "--lower-affine",    // for the same reason
    "--lower-vector-mask", "--convert-vector-to-scf", "--convert-scf-to-cf",
    "--memref-expand", "--expand-strided-metadata",
    "--lower-affine",  // again: expand-strided-metadata makes affine.apply
    // Float types that processors do not have are computed with integers.
    "--arith-expand=include-f8e8m0=1 include-f4e2m1=1",
    "--convert-complex-to-standard",  // angle, exp and the like
    "--convert-complex-to-llvm", "--convert-vector-to-llvm",
    "--convert-math-to-llvm", "--convert-math-to-libm",
    "--convert-arith-to-llvm", "--convert-index-to-llvm",
    "--convert-ub-to-llvm", "--convert-cf-to-llvm", "--finalize-memref-to-llvm",
    "--convert-func-to-llvm", "--reconcile-unrealized-casts", NULL};

// affine.load and affine.store get no run-time checks, but the operations of memref that
// replace them do. A vector mask must be removed first: it can hold only one operation,
// so there is no room for checks.
static const char *const kVerify[] = {"--lower-affine", "--lower-vector-mask",
                                      "--generate-runtime-verification", NULL};
// With -O2 and -O3, runs after the checks are added. Afterwards linalg has only
// operations that mlir/contract.c reads.
static const char *const kGeneralize[] = {"--linalg-generalize-named-ops",
                                          "--mlir-print-ir-after-failure",
                                          GENERIC, NULL};
// Replaces exp, log, tanh and erf of f32 by polynomials, which opt can vectorize. They
// use math.fma, which is a function call on processors without that instruction.
static const char *const kApproximate[] = {
    "--test-math-polynomial-approximation", NULL};
static const char *const kNothing[] = {NULL};
// Adds the debug information that functions need, so that locations become its lines.
static const char *const kScope[] = {
    "--ensure-debug-info-scope-on-llvm-func=emission-kind=LineTablesOnly",
    "--mlir-print-debuginfo", NULL};
static const char *const kTranslate[] = {"--mlir-to-llvmir", NULL};
static const char *const kOptimize[] = {"--mtriple=" TRIPLE, "--enable-matrix",
                                        NULL};
static const char *const kProbe[] = {"--mtriple=" TRIPLE, NULL};
static const char *const kAssemble[] = {"--mtriple=" TRIPLE, "-filetype=obj",
                                        "--relocation-model=pic",
                                        "--stack-size-section", NULL};
// The module exports only what callers need. So a function may have the name of a
// function of the C library: calls inside the module still call the module's own.
#define EXPORTS OURS "9-exports"
static const char kExports[] =
    "{ global: _mlir_ciface_*; __farcall_abi; local: *; };\n";
static const char *const kLink[] = {ABI_OBJECT,
                                    "-shared",
                                    "-Wl,-z,now,-z,relro,-z,noexecstack",
                                    "-Wl,--version-script=" EXPORTS,
                                    "-lm",
                                    NULL};

enum { LOWERED_NOT, LOWERED_PLAINLY };

typedef struct road_t {
  fc_compile_t *compile;
  const char *paths[TOOL_COUNT];
  const char *compiler;  // "mlir 22.1.8"
  // Flags of opt and llc: the level and the processor.
  const char *target[3];
  // The vector size in bytes for which the file IR was lowered. LOWERED_PLAINLY: for any
  // size. LOWERED_NOT: the file does not exist yet.
  size_t lowered;
  fc_mlir_module_t module;  // bufferized; names and roles resolved
  fc_sidecar_draft_t draft;
} road_t;

// ---------------------------------------------------------------------------
// Tools

// Runs TOOL input -o output, followed by the flags `first` and `second`.
static fc_status_t run(road_t *road, int tool, const char *input,
                       const char *output, const char *const *first,
                       const char *const *second) {
  const char *argv[TOOL_ARGUMENTS_MAX] = {road->paths[tool], input, "-o",
                                          output};
  size_t count = 4;
  while (*first) argv[count++] = *first++;
  while (*second) argv[count++] = *second++;
  FC_ASSERT(count < TOOL_ARGUMENTS_MAX);
  const fc_step_kind_t kind = tool == CC         ? FC_STEP_LINKER
                              : tool == MLIR_OPT ? FC_STEP_READER
                                                 : FC_STEP_COMPILER;
  return fc_step_run(road->compile, kind, kTools[tool].name, argv);
}

static fc_status_t find_tools(road_t *road) {
  fc_compile_t *compile = road->compile;
  for (int i = 0; i < TOOL_COUNT; i++) {
    // The C compiler is only used for linking, so it need not be LLVM's.
    const char *directory = i == CC ? NULL : compile->tools;
    road->paths[i] = fc_tool_find(compile->arena, kTools[i].name, directory);
    if (road->paths[i]) continue;
    return fc_fail(compile->err, FC_CODE_NOT_FOUND,
                   "no %s %s%s: `apt install %s` installs it on Debian, "
                   "--tools=DIR says where it is",
                   kTools[i].name, directory ? "in " : "on PATH",
                   directory ? directory : "", kTools[i].package);
  }
  return FC_OK;
}

// Gets "mlir 22.1.8" from "… LLVM version 22.1.8".
static fc_status_t find_version(road_t *road) {
  static const char kVersion[] = "LLVM version ";
  fc_compile_t *compile = road->compile;
  const char *argv[] = {road->paths[MLIR_OPT], "--version", NULL};
  FC_TRY(fc_step_run(compile, FC_STEP_COMPILER, "mlir-opt", argv));
  fc_str_t log;
  FC_TRY(fc_step_read(compile, FC_STEP_LOG, &log));
  const char *at = fc_step_find(log, kVersion);
  size_t size = 0;
  if (at) {
    at += strlen(kVersion);
    size = strspn(at, "0123456789.");
  }
  road->compiler =
      size ? fc_print(compile->arena, "mlir %.*s", (int)size, at) : "mlir";
  return road->compiler ? FC_OK : fc_fail_memory(compile->err);
}

// ---------------------------------------------------------------------------
// From the source to the shared object

static fc_status_t read_module(fc_compile_t *compile, const char *name,
                               fc_mlir_module_t *out_module) {
  fc_str_t text;
  FC_TRY(fc_step_read(compile, name, &text));
  return fc_mlir_read(compile->arena, text, out_module, compile->err);
}

// Adds the attributes and checks, and writes the annotated module. `steps` own the texts
// in between.
static fc_status_t guard(fc_compile_t *compile, fc_str_t text,
                         fc_text_t steps[3]) {
  fc_mlir_module_t module;
  FC_TRY(fc_mlir_rename_divisions(text, &steps[0], compile->err));
  text = fc_text_str(&steps[0]);
  if (compile->checked) {
    FC_TRY(fc_mlir_guard_sizes(text, &steps[1], compile->err));
    text = fc_text_str(&steps[1]);
  }
  FC_TRY(fc_mlir_read(compile->arena, text, &module, compile->err));
  FC_TRY(fc_mlir_annotate(&module, &steps[2], compile->err));
  return fc_step_write(compile, ANNOTATED, fc_text_str(&steps[2]));
}

static fc_status_t annotate(fc_compile_t *compile, fc_str_t text) {
  fc_text_t steps[3];
  for (size_t i = 0; i < FC_ARRAY_COUNT(steps); i++) {
    fc_text_init(&steps[i], fc_allocator_system(), TEXT_LIMIT);
  }
  fc_status_t status = guard(compile, text, steps);
  for (size_t i = 0; i < FC_ARRAY_COUNT(steps); i++) fc_text_deinit(&steps[i]);
  return status;
}

// Adds checks to LOWERED if the module divides integers.
static fc_status_t guard_divisions(fc_compile_t *compile) {
  fc_str_t text;
  fc_text_t guarded;
  FC_TRY(fc_step_read(compile, LOWERED, &text));
  fc_text_init(&guarded, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status =
      fc_mlir_guard_divisions(compile->arena, text, &guarded, compile->err);
  if (status == FC_OK && fc_text_str(&guarded).size) {
    status = fc_step_write(compile, LOWERED, fc_text_str(&guarded));
  }
  fc_text_deinit(&guarded);
  return status;
}

static fc_status_t finish_lowering(road_t *road) {
  fc_str_t text;
  FC_TRY(fc_step_read(road->compile, LOWERED, &text));
  FC_TRY(fc_mlir_refuse_leftovers(road->compile, text));
  if (road->compile->checked) FC_TRY(guard_divisions(road->compile));
  const bool lines = road->compile->lines;
  if (lines) FC_TRY(run(road, MLIR_OPT, LOWERED, SCOPED, kScope, kNothing));
  return run(road, MLIR_TRANSLATE, lines ? SCOPED : LOWERED, IR, kTranslate,
             kNothing);
}

// Lowers the annotated module to IR with MLIR's passes only, without kernels.
static fc_status_t lower_plainly(road_t *road) {
  if (road->lowered == LOWERED_PLAINLY) return FC_OK;
  road->lowered = LOWERED_NOT;
  FC_TRY(run(road, MLIR_OPT, ANNOTATED, LOWERED,
             road->compile->checked ? kVerify : kNothing, kLower));
  FC_TRY(finish_lowering(road));
  road->lowered = LOWERED_PLAINLY;
  return FC_OK;
}

// Finds the size in bytes of the processor's vector registers: llc uses them to add
// 16-bit integers.
static fc_status_t probe_vectors(road_t *road, size_t *out_size) {
  static const char kAdd[] =
      "define <32 x i16> @f(<32 x i16> %x) {\n"
      "  %y = add <32 x i16> %x, %x\n  ret <32 x i16> %y\n}\n";
  fc_str_t text;
  FC_TRY(fc_step_write(road->compile, PROBE_IR, fc_str(kAdd)));
  FC_TRY(run(road, LLC, PROBE_IR, PROBE, kProbe, road->target));
  FC_TRY(fc_step_read(road->compile, PROBE, &text));
  *out_size = fc_step_find(text, "%zmm")   ? 64
              : fc_step_find(text, "%ymm") ? 32
                                           : 16;
  return FC_OK;
}

// Writes CONTRACTED: the module with its checks, and with contractions replaced by calls
// of kernels. *out_count is the number of calls.
static fc_status_t contract(road_t *road, size_t vector_size,
                            size_t *out_count) {
  fc_compile_t *compile = road->compile;
  fc_str_t text;
  fc_text_t contracted;
  FC_TRY(run(road, MLIR_OPT, ANNOTATED, CHECKED,
             compile->checked ? kVerify : kNothing, kGeneralize));
  FC_TRY(fc_step_read(compile, CHECKED, &text));
  fc_text_init(&contracted, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = fc_mlir_contract(compile->arena, text, vector_size,
                                        &contracted, out_count, compile->err);
  if (status == FC_OK) {
    status = fc_step_write(compile, CONTRACTED, fc_text_str(&contracted));
  }
  fc_text_deinit(&contracted);
  return status;
}

// Lowers the annotated module to IR for the processor in `target`, with kernels.
static fc_status_t lower_for_target(road_t *road) {
  size_t vector_size, count;
  fc_str_t text;
  FC_TRY(probe_vectors(road, &vector_size));
  if (road->lowered == vector_size) return FC_OK;
  road->lowered = LOWERED_NOT;
  FC_TRY(contract(road, vector_size, &count));
  FC_TRY(fc_step_read(road->compile, CONTRACTED, &text));
  const bool approximate = vector_size > 16 && fc_mlir_approximates_well(text);
  if (road->compile->verbose) {
    fc_complain(0, "note: %zu contractions are computed in tiles", count);
  }
  FC_TRY(run(road, MLIR_OPT, CONTRACTED, LOWERED,
             approximate ? kApproximate : kNothing, kLower));
  FC_TRY(finish_lowering(road));
  road->lowered = vector_size;
  return FC_OK;
}

// Reads the description as a server will, because attributes of the source may contradict
// its types.
static fc_status_t check_draft(const fc_compile_t *compile, fc_str_t json) {
  fc_sidecar_t *sidecar = NULL;
  fc_error_t why;
  const fc_status_t status = fc_sidecar_parse(
      json, FC_SOURCE_EMBEDDED, NULL, fc_allocator_system(), &sidecar, &why);
  fc_sidecar_destroy(sidecar);
  if (status == FC_OK) return FC_OK;
  return fc_fail(compile->err, why.code, "%s: %s", compile->input, why.message);
}

static fc_status_t link_module(road_t *road, const char *output) {
  fc_compile_t *compile = road->compile;
  fc_str_t json, ir;
  FC_TRY(fc_sidecar_draft_print(compile->arena, &road->draft, false, &json,
                                compile->err));
  FC_TRY(check_draft(compile, json));
  FC_TRY(fc_sidecar_draft_embed(compile->arena, json, &ir, compile->err));
  FC_TRY(fc_step_write(compile, ABI_IR, ir));
  FC_TRY(run(road, LLC, ABI_IR, ABI_OBJECT, kAssemble, road->target));
  const char *name =
      fc_print(compile->arena, "-Wl,-soname,%s", fc_file_base(output));
  if (!name) return fc_fail_memory(compile->err);
  const char *const soname[] = {name, NULL};
  FC_TRY(fc_step_write(compile, EXPORTS, fc_str(kExports)));
  return run(road, CC, OBJECT, LINKED, kLink, soname);
}

static fc_status_t publish(road_t *road, const char *output) {
  fc_compile_t *compile = road->compile;
  fc_str_t module, json;
  char sha256[65];
  FC_TRY(fc_step_read(compile, LINKED, &module));
  fc_sha256_hex(module.data, module.size, sha256);
  road->draft.sha256 = sha256;
  fc_status_t status = fc_sidecar_draft_print(compile->arena, &road->draft,
                                              true, &json, compile->err);
  road->draft.sha256 = NULL;
  FC_TRY(status);
  const char *path = fc_compile_sidecar(compile, output);
  if (!path) return fc_fail_memory(compile->err);
  FC_TRY(fc_file_write(compile->arena, output, module, compile->err));
  return fc_file_write(compile->arena, path, json, compile->err);
}

static fc_status_t assemble(road_t *road) {
  FC_TRY(run(road, OPT, IR, OPTIMIZED, kOptimize, road->target));
  return run(road, LLC, OPTIMIZED, OBJECT, kAssemble, road->target);
}

// Forgets a failure, so that another way can be tried.
static void forget(road_t *road) {
  fc_error_reset(road->compile->err);
  road->compile->context = (fc_str_t){0};
  road->compile->blamed = 0;
  road->lowered = LOWERED_NOT;
}

// Writes OBJECT. With -O2 and -O3, the module is first lowered with kernels, which run
// faster. If that fails, it is lowered without them: kernels are no reason to refuse it.
static fc_status_t make_object(road_t *road) {
  fc_compile_t *compile = road->compile;
  if (compile->level >= '2') {
    fc_status_t status = lower_for_target(road);
    if (status == FC_OK) status = assemble(road);
    if (status == FC_OK || fc_tool_interrupted()) return status;
    const char *why = fc_print(compile->arena, "%s", compile->err->message);
    if (!why) return fc_fail_memory(compile->err);
    forget(road);
    FC_TRY(lower_plainly(road));
    FC_TRY(assemble(road));
    fc_complain(0, "note: compiled without tiles and vectors: %s", why);
    return FC_OK;
  }
  FC_TRY(lower_plainly(road));
  return assemble(road);
}

// Makes the module for `cpus[index]`.
static fc_status_t build(road_t *road, size_t index) {
  fc_compile_t *compile = road->compile;
  const char *output = fc_compile_output(compile, index);
  const char *level = fc_print(compile->arena, "-O%c", compile->level);
  const char *cpu = fc_compile_cpu(compile->cpus[index]);
  const char *processor = fc_print(compile->arena, "-mcpu=%s",
                                   strcmp(cpu, "host") ? cpu : "native");
  if (!output || !level || !processor) return fc_fail_memory(compile->err);
  road->target[0] = level;
  road->target[1] = processor;
  road->draft.variant_count = index ? 0 : compile->cpu_count - 1;
  FC_TRY(make_object(road));
  fc_str_t object, ir;
  FC_TRY(fc_step_read(compile, IR, &ir));
  road->draft.plainly_aligned = fc_ir_is_plainly_aligned(ir);
  FC_TRY(fc_step_read(compile, OBJECT, &object));
  road->draft.max_frame = fc_object_max_frame(object);
  FC_TRY(link_module(road, output));
  return publish(road, output);
}

// Makes the variants first: the module's sidecar lists their files, which must exist when
// it is written.
static fc_status_t build_all(road_t *road) {
  fc_compile_t *compile = road->compile;
  const size_t count = compile->cpu_count - 1;
  fc_variant_draft_t variants[FC_COMPILE_CPUS_MAX];
  for (size_t i = 0; i < count; i++) {
    const char *output = fc_compile_output(compile, i + 1);
    if (!output) return fc_fail_memory(compile->err);
    variants[i] = (fc_variant_draft_t){fc_file_base(output),
                                       fc_compile_cpu(compile->cpus[i + 1])};
  }
  road->draft.variants = variants;
  fc_status_t status = FC_OK;
  for (size_t i = compile->cpu_count; i-- > 0 && status == FC_OK;) {
    status = build(road, i);
  }
  road->draft.variants = NULL;
  return status;
}

// May element-wise operations be fused? Not if a generic operation reduces or broadcasts
// the result of another one. Fused, it would compute that result again each time it is
// read.
static bool fuses(const fc_compile_t *compile, fc_str_t text) {
  return compile->level >= '2' &&
         !fc_step_find(text, "#linalg.iterator_type<reduction>") &&
         fc_mlir_permutes(text);
}

// Rewrites PARSED so that public functions do not write into their tensor arguments.
static fc_status_t keep_arguments(fc_compile_t *compile,
                                  const fc_mlir_module_t *source) {
  fc_text_t kept;
  fc_text_init(&kept, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = fc_mlir_keep_arguments(source, &kept, compile->err);
  if (status == FC_OK) {
    status = fc_step_write(compile, PARSED, fc_text_str(&kept));
  }
  fc_text_deinit(&kept);
  return status;
}

// Writes BUFFERS, with element-wise operations fused if possible. If fusing fails, tries
// without it.
static fc_status_t bufferize(road_t *road, const fc_mlir_module_t *source) {
  fc_compile_t *compile = road->compile;
  FC_TRY(keep_arguments(compile, source));
  if (fuses(compile, source->text)) {
    if (run(road, MLIR_OPT, PARSED, BUFFERS, kFuse, kBufferize) == FC_OK) {
      return FC_OK;
    }
    forget(road);
  }
  return run(road, MLIR_OPT, PARSED, BUFFERS, kBufferize, kNothing);
}

// Reads PARSED. If a function has the name of a function of the C library, renames it in
// PARSED and reads PARSED again.
static fc_status_t read_parsed(fc_compile_t *compile,
                               fc_mlir_module_t *out_source) {
  FC_TRY(read_module(compile, PARSED, out_source));
  fc_text_t renamed;
  fc_text_init(&renamed, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = fc_mlir_rename_own(out_source, &renamed, compile->err);
  if (status == FC_OK && fc_text_str(&renamed).size) {
    status = fc_step_write(compile, PARSED, fc_text_str(&renamed));
    if (status == FC_OK) status = read_module(compile, PARSED, out_source);
  }
  fc_text_deinit(&renamed);
  return status;
}

// Writes PARSED: the source in generic form.
static fc_status_t parse(road_t *road, fc_mlir_module_t *out_source) {
  const char *source = road->compile->source;
  if (fc_format_is(road->compile->format, FC_FORMAT_TOSA)) {
    FC_TRY(run(road, MLIR_OPT, source, LINALG, kTosa, kNothing));
    source = LINALG;
  }
  FC_TRY(run(road, MLIR_OPT, source, PARSED, kGeneric, kNothing));
  return read_parsed(road->compile, out_source);
}

// Reads the module, after bufferization if it has tensors.
static fc_status_t read_buffers(road_t *road, const fc_mlir_module_t *source) {
  road->module = *source;
  if (!source->has_tensors) return FC_OK;
  FC_TRY(bufferize(road, source));
  return read_module(road->compile, BUFFERS, &road->module);
}

static fc_status_t make_of(road_t *road, const fc_mlir_module_t *source) {
  fc_compile_t *compile = road->compile;
  fc_mlir_module_t *module = &road->module;
  FC_TRY(fc_mlir_refuse_sparse(compile, source));
  FC_TRY(read_buffers(road, source));
  FC_TRY(fc_mlir_refuse_uncallable(compile, module));
  FC_TRY(fc_mlir_find_stores(compile->arena, module, compile->err));
  FC_TRY(fc_sidecar_draft_resolve(compile->arena, compile->text, source, module,
                                  compile->err));
  FC_TRY(annotate(compile, module->text));
  bool foreign = fc_mlir_has_others(source);
  fc_str_t operation, location;
  bool unverified = compile->checked &&
                    fc_mlir_unverified(module->text, &operation, &location);
  road->draft = (fc_sidecar_draft_t){
      .module = module,
      .compiler = road->compiler,
      .pure = !foreign && !module->has_state,
      .checked = compile->checked && !unverified && !foreign};
  FC_TRY(build_all(road));
  fc_mlir_tell_others(source);
  fc_mlir_tell_roles(module);
  return unverified ? fc_mlir_tell_unverified(compile, operation, location)
                    : FC_OK;
}

// Rewrites PARSED without the functions that cannot be compiled, and reads it again.
// False: no function could be left out, or that failed.
static bool leave_out(road_t *road, fc_mlir_module_t *source) {
  fc_compile_t *compile = road->compile;
  fc_text_t rest;
  fc_error_t ignored;
  bool left = false;
  fc_text_init(&rest, fc_allocator_system(), TEXT_LIMIT);
  left = fc_mlir_leave_out(compile, source, &rest, &left, &ignored) == FC_OK &&
         left;
  if (left) {
    forget(road);
    left = fc_step_write(compile, PARSED, fc_text_str(&rest)) == FC_OK &&
           read_module(compile, PARSED, source) == FC_OK;
  }
  fc_text_deinit(&rest);
  return left;
}

static fc_status_t make_module(road_t *road) {
  fc_mlir_module_t source;
  fc_status_t status;
  FC_TRY(find_version(road));
  FC_TRY(parse(road, &source));
  do {
    status = make_of(road, &source);
  } while (status != FC_OK && !fc_tool_interrupted() &&
           leave_out(road, &source));
  return status;
}

static bool takes(const fc_format_t *format) { return format->by_mlir; }

static bool is_there(fc_compile_t *compile) {
  return fc_tool_find(compile->arena, kTools[MLIR_OPT].name, compile->tools);
}

static fc_status_t make(fc_compile_t *compile) {
  road_t road = {.compile = compile};
  if (fc_format_is(compile->format, FC_FORMAT_GPU)) {
    compile->hint =
        "; 'gpu' is for GPUs: farcall runs modules on the processor only";
  }
  FC_TRY(find_tools(&road));
  if (!compile->level) compile->level = '2';
  if (compile->size_count) {
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "%s: --batch is for --road=iree: here write functions "
                   "f_bs1, f_bs8, … for their rows",
                   compile->input);
  }
  if (!strcmp(compile->cpus[0], "vmvx")) {
    return fc_fail(compile->err, FC_CODE_MODULE_LOAD,
                   "%s: vmvx is bytecode of IREE: --road=iree makes it",
                   compile->input);
  }
  return make_module(&road);
}

const fc_road_t fc_road_mlir = {"mlir", ".so", takes, is_there, make};
