// SPDX-License-Identifier: Apache-2.0
//
// Searches MLIR, as text or as bytecode, for names that compilers do not lower. In text,
// only words, quotes and brackets are read: the compiler reports other errors of grammar.
// In an artifact of jax.export, the table around the bytecode is also read: platforms,
// devices, effects.
#include "compile/format.h"
#include "doctor/checkup.h"
#include "module/vm/flatbuffer.h"

#define NESTING_MAX 4096
#define MANY_TEXT "it speaks to other devices, and a module has one"
#define MANY_WAY "export the function for one device, without shardings"

typedef enum form_t { PREFIX, NAME, ELEMENT } form_t;

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

static const struct word_t {
  form_t form;
  fc_str_t name;
  const char *portable;
  fc_severity_t level;
  fc_subject_t subject;
  const char *message;
  const char *way_out;
} kWords[] = {
#define FC_WORD(form, name, portable, level, subject, message, way_out)   \
  {form,    TEXT(name), portable, FC_LEVEL_##level, FC_SUBJECT_##subject, \
   message, way_out},
#include "doctor/words.def"
};

static const struct called_t {
  fc_str_t prefix;
  const char *message;
  const char *way_out;
} kCalled[] = {
#define FC_CALLED(prefix, message, way_out) {TEXT(prefix), message, way_out},
#include "doctor/targets.def"
};

static const char *const kDevices[] = {
    "cuda", "rocm", "hip", "vulkan", "metal", "vulkan-spirv", "webgpu"};

// ---------------------------------------------------------------------------
// Text

typedef struct reader_t {
  fc_checkup_t *checkup;
  fc_str_t text;
  size_t at;
  size_t line;        // of `at`, from 1
  size_t line_begin;  // index of the first character of that line
  char open[NESTING_MAX];
  size_t open_lines[NESTING_MAX];
  size_t depth;
  size_t function_count;  // public functions
  bool in_head;           // between `func` and the function's body
  bool has_dim_names;     // farcall.dims was in that head
  size_t
      open_dims;  // line of the first dim without a size in that head; 0: none
  bool custom_call;  // the next symbol or text is the called function
} reader_t;

static const char *place_of(reader_t *reader, size_t at) {
  return fc_checkup_print(reader->checkup, "line %zu, column %zu", reader->line,
                          at - reader->line_begin + 1);
}

static void add(reader_t *reader, fc_severity_t level, fc_subject_t subject,
                fc_str_t thing, size_t at, const char *message,
                const char *way_out) {
  fc_checkup_add(reader->checkup, level, subject, thing, place_of(reader, at),
                 message, way_out);
}

static bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_' || byte == '.' ||
         byte == '$' || byte == '?' || byte == '-';
}

static char char_at(const reader_t *reader, size_t at) {
  return at < reader->text.size ? reader->text.data[at] : '\0';
}

// Returns the element type of a shape: "f32" for "?x4xf32".
static fc_str_t element_of(fc_str_t word) {
  size_t begin = 0;
  while (begin < word.size) {
    size_t at = begin;
    while (at < word.size && ((word.data[at] >= '0' && word.data[at] <= '9') ||
                              word.data[at] == '?')) {
      at++;
    }
    if (at == begin || at >= word.size || word.data[at] != 'x') break;
    begin = at + 1;
  }
  return fc_str_make(word.data + begin, word.size - begin);
}

static void check_called(reader_t *reader, fc_str_t name, size_t at) {
  reader->custom_call = false;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kCalled); i++) {
    if (!fc_str_starts(name, kCalled[i].prefix)) continue;
    add(reader, FC_LEVEL_UNFIT, FC_SUBJECT_OPERATOR, name, at,
        kCalled[i].message, kCalled[i].way_out);
    return;
  }
}

// Returns the first row that matches a word. Element types count only in the head of a
// function.
static const struct word_t *find_word(fc_str_t word, bool in_head) {
  const fc_str_t element = element_of(word);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    const struct word_t *row = &kWords[i];
    const bool fits =
        row->form == PREFIX
            ? word.size > row->name.size && fc_str_starts(word, row->name)
        : row->form == NAME ? fc_str_equal(word, row->name)
                            : in_head && fc_str_equal(element, row->name);
    if (fits) return row;
  }
  return NULL;
}

static void check_dims(reader_t *reader) {
  if (reader->open_dims && !reader->has_dim_names) {
    const char *place =
        fc_checkup_print(reader->checkup, "line %zu", reader->open_dims);
    fc_checkup_add(
        reader->checkup, FC_LEVEL_WARN, FC_SUBJECT_DIM,
        FC_STR("dim without a name"), place,
        "nothing checks before the call whether its size agrees with "
        "that of another dim",
        "name it: {farcall.dims = [\"rows\", \"?\"]} behind the "
        "argument (docs/native.md)");
  }
  reader->in_head = reader->has_dim_names = false;
  reader->open_dims = 0;
}

// Begins a function, and notes whether callers can see it.
static void enter_function(reader_t *reader) {
  size_t at = reader->at;
  while (char_at(reader, at) == ' ') at++;
  const fc_str_t rest =
      fc_str_make(reader->text.data + at, reader->text.size - at);
  if (fc_str_starts(rest, FC_STR("private"))) return;
  reader->function_count++;
  reader->in_head = true;
}

static void check_word(reader_t *reader, fc_str_t word, size_t at) {
  const char before = at ? reader->text.data[at - 1] : ' ';
  if (before == '@' && reader->custom_call) check_called(reader, word, at);
  if (before == '%' || before == '@') return;
  if (fc_str_equal(word, FC_STR("func.func")) ||
      fc_str_equal(word, FC_STR("util.func"))) {
    enter_function(reader);
  }
  if (fc_str_equal(word, FC_STR("stablehlo.custom_call"))) {
    reader->custom_call = true;
  }
  if (fc_str_equal(word, FC_STR("farcall.dims"))) reader->has_dim_names = true;
  if (reader->in_head && memchr(word.data, '?', word.size) &&
      !reader->open_dims) {
    reader->open_dims = reader->line;
  }
  const struct word_t *row = find_word(word, reader->in_head);
  if (!row) return;
  add(reader, row->level, row->subject, word, at, row->message, row->way_out);
}

// Checks the text between quotes: an operation's name in the generic form, or a device.
static void check_quoted(reader_t *reader, fc_str_t quoted, size_t at) {
  const bool is_operation = char_at(reader, reader->at) == '(';
  if (is_operation) {
    check_word(reader, quoted, at);
    return;
  }
  if (reader->custom_call) check_called(reader, quoted, at);
  const char before = at > 1 ? reader->text.data[at - 2] : ' ';
  for (size_t i = 0; before == '<' && i < FC_ARRAY_COUNT(kDevices); i++) {
    if (!fc_str_equal(quoted, fc_str(kDevices[i]))) continue;
    add(reader, FC_LEVEL_UNFIT, FC_SUBJECT_TARGET, quoted, at,
        "it is for GPUs, and modules run on the processor",
        "leave the attribute out: farcall compile targets the processor");
  }
}

static bool skip_quoted(reader_t *reader) {
  const size_t begin = ++reader->at;
  while (reader->at < reader->text.size) {
    const char byte = reader->text.data[reader->at];
    if (byte == '"') {
      const fc_str_t quoted =
          fc_str_make(reader->text.data + begin, reader->at - begin);
      reader->at++;
      check_quoted(reader, quoted, begin);
      return true;
    }
    if (byte == '\n') break;
    reader->at += byte == '\\' ? 2 : 1;
  }
  add(reader, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("text"), begin - 1,
      "a quote is opened and not closed on its line",
      "close it, or copy the file again");
  return false;
}

static bool open_bracket(reader_t *reader, char byte) {
  if (byte == '{' && reader->in_head && reader->depth &&
      reader->open[reader->depth - 1] != '(') {
    check_dims(reader);
  }
  if (reader->depth == NESTING_MAX) return false;
  reader->open[reader->depth] = byte;
  reader->open_lines[reader->depth++] = reader->line;
  return true;
}

static bool close_bracket(reader_t *reader, char byte) {
  const char wanted = byte == ')' ? '(' : byte == ']' ? '[' : '{';
  if (reader->depth && reader->open[reader->depth - 1] == wanted) {
    reader->depth--;
    return true;
  }
  const char text[] = {byte, '\0'};
  const char *thing = fc_checkup_print(reader->checkup, "%s", text);
  add(reader, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, fc_str(thing), reader->at,
      "it closes what was not opened", "the text is damaged: copy it again");
  return false;
}

static bool read_next(reader_t *reader) {
  const char byte = reader->text.data[reader->at];
  if (byte == '\n') {
    reader->line++;
    reader->line_begin = reader->at + 1;
  }
  if (byte == '/' && char_at(reader, reader->at + 1) == '/') {
    while (reader->at < reader->text.size &&
           reader->text.data[reader->at] != '\n') {
      reader->at++;
    }
    return true;
  }
  // Brackets between quotes, for example in the data of constants, need not come in
  // pairs.
  if (byte == '"') return skip_quoted(reader);
  if (is_word(byte) && byte != '-') {
    const size_t begin = reader->at;
    while (is_word(char_at(reader, reader->at)) &&
           !(char_at(reader, reader->at) == '-' &&
             char_at(reader, reader->at + 1) == '>')) {
      reader->at++;
    }
    check_word(reader,
               fc_str_make(reader->text.data + begin, reader->at - begin),
               begin);
    return true;
  }
  bool sound = true;
  if (byte == '(' || byte == '[' || byte == '{') {
    sound = open_bracket(reader, byte);
  }
  if (byte == ')' || byte == ']' || byte == '}') {
    sound = close_bracket(reader, byte);
  }
  reader->at++;
  return sound;
}

void fc_doctor_mlir(fc_checkup_t *checkup, fc_str_t text) {
  reader_t *reader = fc_arena_alloc_array(checkup->arena, 1, sizeof *reader);
  if (!reader) {
    checkup->out_of_memory = true;
    return;
  }
  reader->checkup = checkup;
  reader->text = text;
  reader->line = 1;
  bool sound = true;
  while (sound && reader->at < text.size && !fc_checkup_is_full(checkup)) {
    sound = read_next(reader);
  }
  if (fc_checkup_is_full(checkup)) return;
  if (sound && reader->depth) {
    const char text_of[] = {reader->open[reader->depth - 1], '\0'};
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE,
                   fc_str(fc_checkup_print(checkup, "%s", text_of)),
                   fc_checkup_print(checkup, "line %zu",
                                    reader->open_lines[reader->depth - 1]),
                   "the text ends before it is closed",
                   "the file was cut off: copy it again");
  }
  check_dims(reader);
  if (sound && !reader->function_count) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE,
                   FC_STR("no public function"), "",
                   "there is no func.func that callers could see",
                   "leave out `private` where a function is to be called");
  }
}

// ---------------------------------------------------------------------------
// Bytecode: only its table of strings is read, which names operations and types

// Reads a number of MLIR's bytecode. The number of zero bits at the end of the first byte
// is the number of further bytes.
static bool read_number(fc_str_t bytes, size_t *at, uint64_t *out) {
  if (*at >= bytes.size) return false;
  const uint8_t first = (uint8_t)bytes.data[*at];
  const unsigned more = first ? (unsigned)__builtin_ctz(first) : 8;
  if (bytes.size - *at - 1 < more) return false;
  uint64_t value = first ? first : 0;
  for (unsigned i = 0; i < more; i++) {
    const uint64_t byte = (uint8_t)bytes.data[*at + 1 + i];
    value |= first ? byte << 8 * (i + 1) : byte << 8 * i;
  }
  *at += 1 + more;
  *out = first ? value >> (more + 1) : value;
  return true;
}

// Returns the section with the strings; empty if there is none.
static fc_str_t find_strings(fc_str_t bytes) {
  static const size_t kMagic = 4;
  uint64_t version, size, alignment;
  size_t at = kMagic;
  if (!read_number(bytes, &at, &version)) return (fc_str_t){0};
  while (at < bytes.size && bytes.data[at]) at++;  // the producer
  at++;
  while (at < bytes.size) {
    const uint8_t id = (uint8_t)bytes.data[at++];
    if (!read_number(bytes, &at, &size)) break;
    if (id & 0x80) {
      if (!read_number(bytes, &at, &alignment) || !alignment) break;
      while (at < bytes.size && (uint8_t)bytes.data[at] == 0xCB) at++;
    }
    if (at > bytes.size || size > bytes.size - at) break;
    if ((id & 0x7F) == 0) return fc_str_make(bytes.data + at, (size_t)size);
    at += (size_t)size;
  }
  return (fc_str_t){0};
}

static void check_string(fc_checkup_t *checkup, fc_str_t string) {
  static const char kPlace[] = "the bytecode's strings";
  for (size_t i = 0; i < FC_ARRAY_COUNT(kCalled); i++) {
    if (!fc_str_starts(string, kCalled[i].prefix)) continue;
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_OPERATOR, string, kPlace,
                   kCalled[i].message, kCalled[i].way_out);
    return;
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    const struct word_t *row = &kWords[i];
    const bool portable =
        row->portable && fc_str_equal(string, fc_str(row->portable));
    // The string table has dialects without the dot after their names.
    const bool dialect =
        row->form == PREFIX &&
        fc_str_equal(string, fc_str_make(row->name.data, row->name.size - 1));
    if (!portable && !dialect) continue;
    fc_checkup_add(checkup, row->level, row->subject,
                   portable ? row->name : string, kPlace, row->message,
                   row->way_out);
    return;
  }
}

void fc_doctor_bytecode(fc_checkup_t *checkup, fc_str_t bytes) {
  const fc_str_t section = find_strings(bytes);
  uint64_t count = 0;
  size_t at = 0;
  bool sound = section.size && read_number(section, &at, &count) &&
               count <= section.size;
  uint64_t total = 0;
  for (uint64_t i = 0, size; sound && i < count; i++) {
    sound = read_number(section, &at, &size) && size && size <= section.size;
    total += size;
  }
  if (!sound || total > section.size - at) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("bytecode"),
                   "its sections", "they reach beyond the file's end",
                   "the file was cut off or changed: write it again");
    return;
  }
  fc_str_t rest = fc_str_make(section.data + at, section.size - at);
  while (rest.size && !fc_checkup_is_full(checkup))
    check_string(checkup, fc_str_take(&rest, '\0'));
}

// ---------------------------------------------------------------------------
// The output of jax.export: a flatbuffer around bytecode. Field numbers are those of
// jax/_src/export/serialization.fbs.

enum {
  JAX_PLATFORMS = 9,
  JAX_ORDERED_EFFECTS = 10,
  JAX_UNORDERED_EFFECTS = 11,
  JAX_MODULE = 13,
  JAX_DEVICE_COUNT = 18,
};

static void add_damaged_export(fc_checkup_t *checkup, const fc_error_t *err) {
  fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_FILE, FC_STR("jax.export"),
                 "its table", fc_checkup_print(checkup, "%s", err->message),
                 "the file was cut off or changed: serialize it again");
}

// Returns the text at element `index` of a vector of strings; empty if it is damaged.
static fc_str_t text_at(fc_str_t bytes, const fc_fb_vector_t *vector,
                        uint32_t index) {
  uint32_t offset, size;
  const uint64_t slot = (uint64_t)vector->position + 4 * (uint64_t)index;
  if (slot + 4 > bytes.size) return (fc_str_t){0};
  memcpy(&offset, bytes.data + slot, 4);
  const uint64_t at = slot + offset;
  if (at + 4 > bytes.size) return (fc_str_t){0};
  memcpy(&size, bytes.data + at, 4);
  if (size > bytes.size - at - 4) return (fc_str_t){0};
  return fc_str_make(bytes.data + at + 4, size);
}

static void check_platforms(fc_checkup_t *checkup, fc_str_t bytes,
                            const fc_fb_vector_t *platforms) {
  fc_str_t first = {0};
  for (uint32_t i = 0; i < platforms->count; i++) {
    const fc_str_t name = text_at(bytes, platforms, i);
    if (fc_str_equal(name, FC_STR("cpu"))) return;
    if (!i) first = name;
  }
  if (!platforms->count) return;
  fc_checkup_add(
      checkup, FC_LEVEL_UNFIT, FC_SUBJECT_TARGET, first,
      "its list of platforms",
      "the function was exported for other devices than the processor",
      "jax.export.export(f, platforms=[\"cpu\"])");
}

static fc_status_t check_export(fc_checkup_t *checkup, fc_str_t bytes,
                                const fc_fb_table_t *root, fc_error_t *err) {
  fc_fb_vector_t platforms, module, ordered, unordered;
  uint32_t devices;
  FC_TRY(fc_fb_vector(root, JAX_PLATFORMS, "platforms", 4, &platforms, err));
  FC_TRY(fc_fb_vector(root, JAX_ORDERED_EFFECTS, "effects", 4, &ordered, err));
  FC_TRY(
      fc_fb_vector(root, JAX_UNORDERED_EFFECTS, "effects", 4, &unordered, err));
  FC_TRY(fc_fb_vector(root, JAX_MODULE, "module", 1, &module, err));
  FC_TRY(fc_fb_u32(root, JAX_DEVICE_COUNT, "devices", 1, &devices, err));
  check_platforms(checkup, bytes, &platforms);
  if (devices > 1) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_TARGET,
                   fc_str(fc_checkup_print(checkup, "%u devices", devices)),
                   "its number of devices", MANY_TEXT, MANY_WAY);
  }
  if (ordered.count || unordered.count) {
    fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_OPERATOR,
                   FC_STR("effects"), "its list of effects",
                   "the function does more than return results",
                   "leave prints and callbacks out of what is exported");
  }
  fc_doctor_bytecode(checkup,
                     fc_str_make(bytes.data + module.position, module.count));
  return FC_OK;
}

void fc_doctor_jax(fc_checkup_t *checkup, fc_str_t bytes) {
  fc_error_t err;
  fc_fb_table_t root;
  fc_error_reset(&err);
  const fc_fb_t buffer = {
      .data = (const uint8_t *)bytes.data,
      .size = bytes.size > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes.size};
  if (fc_fb_root(buffer, &root, &err) ||
      check_export(checkup, bytes, &root, &err)) {
    add_damaged_export(checkup, &err);
  }
}
