// SPDX-License-Identifier: Apache-2.0
//
// Reads profiles and shows them in a terminal. A profile may come from a server, so every
// member is checked.
#include "flame.h"

#include "file.h"
#include "page.h"
#include "style.h"

#define FILE_LIMIT ((size_t)16 << 20)
#define NAME_MAX_SHOWN 120

static fc_status_t unexpected(fc_error_t *err) {
  return fc_fail(err, FC_CODE_BAD_RESULT, "the answer has no profile");
}

static bool read_number(yyjson_val *object, const char *key, double *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  *out = yyjson_get_num(value);
  return yyjson_is_num(value) && *out >= 0;
}

static bool read_grid(fc_arena_t *arena, yyjson_val *value, const char **out) {
  double size[3];
  *out = "";
  if (!value) return true;
  if (yyjson_arr_size(value) != 3) return false;
  for (size_t i = 0; i < 3; i++) {
    size[i] = yyjson_get_num(yyjson_arr_get(value, i));
  }
  *out = fc_print(arena, "%.0fx%.0fx%.0f", size[0], size[1], size[2]);
  return *out != NULL;
}

static bool read_row(fc_arena_t *arena, yyjson_val *value, size_t index,
                     fc_flame_row_t *rows) {
  fc_flame_row_t *row = &rows[index];
  const char *kind = yyjson_get_str(yyjson_obj_get(value, "kind"));
  const char *name = yyjson_get_str(yyjson_obj_get(value, "name"));
  double parent = 0;
  if (!kind || !name || !read_number(value, "count", &row->count) ||
      !read_number(value, "ns", &row->ns) ||
      !read_number(value, "self_ns", &row->self_ns) ||
      !read_grid(arena, yyjson_obj_get(value, "grid"), &row->grid)) {
    return false;
  }
  if (index &&
      (!read_number(value, "parent", &parent) || parent >= (double)index)) {
    return false;
  }
  (void)read_number(value, "bytes", &row->bytes);
  row->parent = (size_t)parent;
  row->depth = index ? rows[row->parent].depth + 1 : 0;
  row->kind = fc_print(arena, "%s", kind);
  row->name = fc_print(arena, "%s", name);
  return row->kind && row->name;
}

// Sorts the rows as a depth-first walk of the tree: after each row come its children, the
// longest first, each followed by its own children.
static void order_rows(fc_flame_t *flame, bool *placed) {
  size_t at = 0;
  flame->order[0] = 0;
  placed[0] = true;
  for (size_t i = 1; i < flame->count; i++) {
    size_t best = 0;
    while (!best) {
      for (size_t row = 1; row < flame->count; row++) {
        if (placed[row] || flame->rows[row].parent != at) continue;
        if (!best || flame->rows[row].ns > flame->rows[best].ns) best = row;
      }
      at = best ? best : flame->rows[at].parent;
    }
    placed[best] = true;
    flame->order[i] = best;
  }
}

static fc_status_t read_rows(fc_arena_t *arena, yyjson_val *root,
                             fc_flame_t *flame, fc_error_t *err) {
  yyjson_val *rows = yyjson_obj_get(root, "rows"), *row;
  size_t index, count;
  flame->count = yyjson_arr_size(rows);
  if (!flame->count || flame->count > FC_FLAME_ROWS_MAX ||
      !read_number(root, "dropped", &flame->dropped)) {
    return unexpected(err);
  }
  flame->rows = fc_arena_alloc_array(arena, flame->count, sizeof *flame->rows);
  flame->order =
      fc_arena_alloc_array(arena, flame->count, sizeof *flame->order);
  bool *placed = fc_arena_alloc_array(arena, flame->count, sizeof *placed);
  if (!flame->rows || !flame->order || !placed) return fc_fail_memory(err);
  yyjson_arr_foreach(rows, index, count, row) {
    if (!read_row(arena, row, index, flame->rows)) return unexpected(err);
  }
  order_rows(flame, placed);
  return FC_OK;
}

fc_status_t fc_flame_read(fc_arena_t *arena, fc_str_t json,
                          fc_flame_t *out_flame, fc_error_t *err) {
  yyjson_doc *doc = yyjson_read(json.data, json.size, YYJSON_READ_NOFLAG);
  *out_flame = (fc_flame_t){0};
  const fc_status_t status =
      read_rows(arena, yyjson_doc_get_root(doc), out_flame, err);
  yyjson_doc_free(doc);
  return status;
}

void fc_flame_show(const fc_flame_t *flame, FILE *stream) {
  fprintf(stream, "%s%10s %10s %8s %10s  %s%s\n",
          fc_style(stream, FC_STYLE_BOLD), "TIME", "SELF", "COUNT", "BYTES",
          "WHAT", fc_style(stream, FC_STYLE_PLAIN));
  for (size_t i = 0; i < flame->count; i++) {
    const fc_flame_row_t *row = &flame->rows[flame->order[i]];
    char kind[32], name[4 * NAME_MAX_SHOWN];
    fc_escape(kind, sizeof kind, 16, fc_str(row->kind));
    fc_escape(name, sizeof name, NAME_MAX_SHOWN, fc_str(row->name));
    fprintf(stream, "%10s %10s %8.0f", fc_page_time(row->ns).text,
            fc_page_time(row->self_ns).text, row->count);
    if (*row->grid) fprintf(stream, " %10.0f", row->bytes);
    else fprintf(stream, " %10s", "");
    fprintf(stream, "  %*s%s %s%s%s\n", (int)(2 * row->depth), "", kind, name,
            *row->grid ? " " : "", row->grid);
  }
  if (flame->dropped > 0) {
    fprintf(stream, "%.0f calls found no row: their time is their callers'\n",
            flame->dropped);
  }
}

static fc_status_t save(const fc_args_t *args, const fc_flame_t *flame,
                        fc_error_t *err) {
  const char *path = fc_args_get(args, FC_OPTION_SPEEDSCOPE, NULL);
  if (!path) return FC_OK;
  fc_text_t file;
  fc_text_init(&file, fc_allocator_system(), FILE_LIMIT);
  fc_status_t status = fc_flame_print_speedscope(flame, &file.sink, err);
  if (status == FC_OK) {
    status = fc_file_write(args->arena, path, fc_text_str(&file), err);
  }
  fc_text_deinit(&file);
  return status;
}

int fc_flame_report(const fc_args_t *args, fc_str_t json, FILE *stream) {
  fc_error_t err;
  fc_flame_t flame;
  fc_error_reset(&err);
  fc_status_t status = fc_flame_read(args->arena, json, &flame, &err);
  if (status == FC_OK) {
    fc_flame_show(&flame, stream);
    status = save(args, &flame, &err);
  }
  return status ? fc_complain(FC_EXIT_DATA, "%s", err.message) : FC_EXIT_OK;
}
