// SPDX-License-Identifier: Apache-2.0
//
// farcall abi: converts the function metadata of module files from and to text. Needs no
// module.
#include "farcall/abi.h"

#include <stdio.h>

#include "abi/cconv.h"
#include "abi/declaration.h"
#include "cli.h"
#include "file.h"

#define TEXT_LIMIT ((size_t)1 << 26)

typedef fc_status_t (*fc_abi_parse_t)(const fc_args_t *args, fc_str_t text,
                                      fc_builder_t *builder, fc_error_t *err);
typedef fc_status_t (*fc_abi_mangle_t)(const fc_signature_t *signature,
                                       fc_sink_t *sink, fc_error_t *err);

static const fc_raw_counts_t kUnknown = {FC_COUNT_UNKNOWN, FC_COUNT_UNKNOWN};

static fc_status_t parse_v1(const fc_args_t *args, fc_str_t text,
                            fc_builder_t *builder, fc_error_t *err) {
  (void)args;
  return fc_v1_parse(text, kUnknown, builder, err);
}

static fc_status_t parse_sip(const fc_args_t *args, fc_str_t text,
                             fc_builder_t *builder, fc_error_t *err) {
  const char *raw = fc_args_get(args, FC_OPTION_ABI_RAW, "");
  return fc_sip_parse(text, fc_str(raw), kUnknown, builder, err);
}

static fc_status_t parse_raw(const fc_args_t *args, fc_str_t text,
                             fc_builder_t *builder, fc_error_t *err) {
  (void)args;
  return fc_raw_parse(text, builder, err);
}

static fc_status_t parse_cconv(const fc_args_t *args, fc_str_t text,
                               fc_builder_t *builder, fc_error_t *err) {
  (void)args;
  fc_cconv_t cconv;
  FC_TRY(fc_cconv_parse(text, &cconv, err));
  fc_cconv_build(builder, &cconv);
  return FC_OK;
}

static fc_status_t parse_declaration(const fc_args_t *args, fc_str_t text,
                                     fc_builder_t *builder, fc_error_t *err) {
  const char *given = fc_args_get(args, FC_OPTION_ABI_CCONV, NULL);
  fc_cconv_t cconv;
  if (!given) return fc_declaration_build(builder, text, NULL, err);
  FC_TRY(fc_cconv_parse(fc_str(given), &cconv, err));
  return fc_declaration_build(builder, text, &cconv, err);
}

typedef struct fc_abi_format_t {
  const char *name;
  fc_abi_parse_t parse;
  fc_abi_mangle_t mangle;  // NULL: this form cannot be written
} fc_abi_format_t;

static const fc_abi_format_t kFormats[] = {
    {"v1", parse_v1, fc_v1_mangle},           {"sip", parse_sip, fc_sip_mangle},
    {"raw", parse_raw, fc_raw_mangle},        {"cconv", parse_cconv, NULL},
    {"declaration", parse_declaration, NULL},
};

static const fc_abi_format_t *find_format(const char *name) {
  const char *names[FC_ARRAY_COUNT(kFormats)];
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFormats); i++) {
    if (!strcmp(name, kFormats[i].name)) return &kFormats[i];
    names[i] = kFormats[i].name;
  }
  const char *near = fc_nearest(name, names, FC_ARRAY_COUNT(kFormats));
  if (near) fc_complain(0, "no format '%s': did you mean '%s'?", name, near);
  else
    fc_complain(0, "no format '%s': v1, sip, raw, cconv or declaration", name);
  return NULL;
}

static fc_status_t print_tree(const fc_args_t *args,
                              const fc_signature_t *signature, fc_sink_t *sink,
                              fc_error_t *err) {
  fc_str_t none = {0};
  if (fc_args_has(args, FC_OPTION_ABI_TEXT)) {
    return fc_signature_print_text(signature, sink, err);
  }
  return fc_signature_print_json(signature, none, none, sink, err);
}

static fc_status_t convert(const fc_args_t *args, const fc_abi_format_t *format,
                           bool mangle, fc_str_t text, fc_builder_t *builder,
                           fc_sink_t *sink, fc_error_t *err) {
  fc_signature_t *signature;
  if (mangle) FC_TRY(fc_signature_parse_json(text, builder, err));
  else FC_TRY(format->parse(args, text, builder, err));
  FC_TRY(fc_signature_build(builder, &signature, err));
  fc_status_t status = mangle ? format->mangle(signature, sink, err)
                              : print_tree(args, signature, sink, err);
  fc_signature_destroy(signature);
  return status;
}

static int run(const fc_args_t *args, const fc_abi_format_t *format,
               bool mangle, fc_str_t text) {
  fc_allocator_t allocator = fc_allocator_system();
  fc_error_t err;
  fc_text_t out;
  fc_error_reset(&err);
  fc_builder_t *builder = fc_builder_create(allocator);
  if (!builder) return fc_complain(FC_EXIT_DATA, "out of memory");
  fc_text_init(&out, allocator, TEXT_LIMIT);
  int exit_code = FC_EXIT_OK;
  if (convert(args, format, mangle, text, builder, &out.sink, &err)) {
    exit_code = fc_complain(FC_EXIT_DATA, "%s", err.message);
  } else {
    printf("%.*s\n", FC_STR_ARG(fc_text_str(&out)));
  }
  fc_text_deinit(&out);
  fc_builder_destroy(builder);
  return exit_code;
}

int fc_verb_abi(const fc_args_t *args) {
  if (args->word_count != 3) {
    return fc_complain(FC_EXIT_USAGE,
                       "abi takes three words: parse or mangle, a format, and "
                       "the text or -");
  }
  bool mangle = !strcmp(args->words[0], "mangle");
  if (!mangle && strcmp(args->words[0], "parse") != 0) {
    return fc_complain(FC_EXIT_USAGE, "abi %s: parse or mangle?",
                       args->words[0]);
  }
  const fc_abi_format_t *format = find_format(args->words[1]);
  if (!format) return FC_EXIT_USAGE;
  if (mangle && !format->mangle) {
    return fc_complain(FC_EXIT_USAGE, "%s is only read", format->name);
  }
  fc_str_t text = fc_str(args->words[2]);
  if (!strcmp(args->words[2], "-")) {
    fc_error_t err;
    if (fc_file_read(args->arena, "/dev/stdin", &text, &err)) {
      return fc_complain(FC_EXIT_DATA, "%s", err.message);
    }
    // echo and editors end a text with a line feed that is not part of the text.
    if (fc_str_ends(text, FC_STR("\n"))) text.size--;
  }
  return run(args, format, mangle, text);
}
