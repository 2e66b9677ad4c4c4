// SPDX-License-Identifier: Apache-2.0
//
// Archives as IREE's own tools write them, and malicious ones: each row changes one
// number of a good file.
#include "parameters/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/test.h"

#define CORPUS FARCALL_SOURCE_DIR "/tests/corpus"

static uint8_t *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  uint8_t *data = malloc(1 << 16);
  assert_non_null(data);
  *out_size = fread(data, 1, 1 << 16, file);
  fclose(file);
  return data;
}

typedef struct good_row_t {
  const char *name;
  const char *path;
  bool splat;
} good_row_t;

static const good_row_t good[] = {
    {"irpa", CORPUS "/irpa/data.irpa", false},
    {"irpa without data", CORPUS "/irpa/splat.irpa", true},
    {"safetensors", CORPUS "/safetensors/data.safetensors", false},
};

static void archives_of_the_tools_are_read(void **state) {
  (void)state;
  static const float w[] = {1, 0, 0, 1, 1, 1, 2, 3}, b[] = {10, 20};
  FC_TEST_EACH_ROW(const good_row_t, row, good) {
    fc_parameters_t archive;
    fc_error_t err = {0};
    if (fc_parameters_open(&archive, row->path, fc_allocator_system(), &err)) {
      fail_msg("%s", err.message);
    }
    assert_int_equal(archive.count, 2);
    const fc_parameter_t *item = fc_parameters_find(&archive, FC_STR("w"));
    assert_non_null(item);
    assert_int_equal(item->size, sizeof w);
    const float one = 1, ten = 10;
    if (row->splat) {
      assert_null(item->data);
      assert_int_equal(item->pattern_size, sizeof one);
      assert_memory_equal(item->pattern, &one, sizeof one);
    } else {
      assert_memory_equal(item->data, w, sizeof w);
    }
    item = fc_parameters_find(&archive, FC_STR("b"));
    assert_non_null(item);
    assert_int_equal(item->size, sizeof b);
    if (row->splat) assert_memory_equal(item->pattern, &ten, sizeof ten);
    else assert_memory_equal(item->data, b, sizeof b);
    assert_null(fc_parameters_find(&archive, FC_STR("c")));
    assert_null(fc_parameters_find(&archive, FC_STR("")));
    fc_parameters_close(&archive);
  }
}

typedef struct bad_row_t {
  const char *name;
  const char *path;
  size_t offset;
  uint64_t value;  // what is written there, 8 bytes
  const char *message;
} bad_row_t;

#define DATA CORPUS "/irpa/data.irpa"
#define SPLAT CORPUS "/irpa/splat.irpa"
#define TABLE 0x60

static const bad_row_t bad[] = {
    {"version 1", DATA, 4, 1, "archive version 1, this reads version 0"},
    {"header behind the end", DATA, 16, 1 << 20, "the next archive header"},
    {"header in itself", DATA, 16, 8, "the next archive header"},
    {"header that is none", DATA, 16, 0x100, "no archive header at 256"},
    {"too many entries", DATA, 32, UINT64_MAX, "archive entry 2: "},
    {"table behind the end", DATA, 40, UINT64_MAX, "a segment of the archive"},
    {"table too long", DATA, 48, UINT64_MAX - 8, "a segment of the archive"},
    {"metadata too long", DATA, 64, 1 << 20, "a segment of the archive"},
    {"storage too long", DATA, 80, 1 << 20, "a segment of the archive"},
    {"entry of nothing", DATA, TABLE, 0, "archive entry 0: its size is wrong"},
    {"entry too long", DATA, TABLE, UINT64_MAX,
     "archive entry 0: its size is wrong"},
    {"unknown type", DATA, TABLE + 8, 9, "archive entry 0: unknown type"},
    {"data elsewhere", DATA, TABLE + 8, 3, "archive entry 0: data in other"},
    {"name behind the end", DATA, TABLE + 20, 1 << 20,
     "archive entry 0: its name"},
    {"name too long", DATA, TABLE + 28, UINT64_MAX,
     "archive entry 0: its name"},
    {"name one byte too long", DATA, 0xB0 + 28, 2, "archive entry 1: its name"},
    {"data behind the end", DATA, TABLE + 60, UINT64_MAX,
     "archive entry 0: its data"},
    {"data too long", DATA, TABLE + 68, UINT64_MAX,
     "archive entry 0: its data"},
    {"pattern of nothing", SPLAT, TABLE + 84, 0,
     "archive entry 0: its pattern"},
    {"pattern of 255", SPLAT, TABLE + 84, 255, "archive entry 0: its pattern"},
    {"size no multiple", SPLAT, TABLE + 60, 7, "archive entry 0: its pattern"},
    {"no magic", DATA, 0, 0, "neither an .irpa nor a .safetensors file"},
    {"header of all", CORPUS "/safetensors/data.safetensors", 0, UINT64_MAX,
     "neither an .irpa nor a .safetensors file"},
};

static void every_number_is_checked(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_row_t, row, bad) {
    size_t size;
    uint8_t *data = read_file(row->path, &size);
    memcpy(data + row->offset, &row->value, sizeof row->value);
    fc_parameters_t archive;
    fc_error_t err = {0};
    assert_int_not_equal(
        fc_parameters_parse(&archive, data, size, fc_allocator_system(), &err),
        FC_OK);
    assert_int_equal(err.code, FC_CODE_MODULE_LOAD);
    if (!fc_str_starts(fc_str(err.message), fc_str(row->message))) {
      fail_msg("%s", err.message);
    }
    free(data);
  }
}

// A pattern of three bytes fits into six, but no element has three bytes.
static void a_pattern_is_of_the_size_of_an_element(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = read_file(SPLAT, &size);
  const uint64_t six = 6;
  memcpy(data + TABLE + 60, &six, sizeof six);
  for (uint8_t pattern = 1; pattern <= 3; pattern++) {
    data[TABLE + 84] = pattern;
    fc_parameters_t archive;
    fc_error_t err = {0};
    fc_status_t status =
        fc_parameters_parse(&archive, data, size, fc_allocator_system(), &err);
    assert_int_equal(status == FC_OK, pattern != 3);
    if (status == FC_OK) fc_parameters_close(&archive);
    else assert_non_null(strstr(err.message, "archive entry 0: its pattern"));
  }
  free(data);
}

typedef struct json_row_t {
  const char *name;
  const char *header;
  const char *message;  // NULL: it is read
} json_row_t;

// Each header is followed by four bytes of data.
static const json_row_t headers[] = {
    {"nothing", "{}", NULL},
    {"all of it", "{\"a\":{\"data_offsets\":[0,4]}}", NULL},
    {"none of it", "{\"a\":{\"data_offsets\":[4,4],\"shape\":[0]}}", NULL},
    {"escapes", "{\"\\u0061\":{\"data_offsets\":[0,4]}}", NULL},
    {"too long", "{\"a\":{\"data_offsets\":[0,5]}}", "data_offsets are no"},
    {"backwards", "{\"a\":{\"data_offsets\":[4,0]}}", "data_offsets are no"},
    {"one number", "{\"a\":{\"data_offsets\":[4]}}", "data_offsets are no"},
    {"three numbers", "{\"a\":{\"data_offsets\":[0,1,2]}}", "data_offsets are"},
    {"negative", "{\"a\":{\"data_offsets\":[-1,2]}}", ""},
    {"no range", "{\"a\":{\"dtype\":\"F32\"}}", "a tensor has no data_offsets"},
    {"no object", "{\"a\":[0,4]}", "expected an object, found an array"},
    {"an array", "[]", "expected an object, found an array"},
    {"cut", "{\"a\":", ""},
    {"two", "{}{}", ""},
};

static void every_header_is_checked(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const json_row_t, row, headers) {
    const uint64_t header_size = strlen(row->header);
    const size_t size = sizeof header_size + header_size + 4;
    uint8_t *data = calloc(1, size);
    assert_non_null(data);
    memcpy(data, &header_size, sizeof header_size);
    memcpy(data + sizeof header_size, row->header, header_size);
    fc_parameters_t archive;
    fc_error_t err = {0};
    fc_status_t status =
        fc_parameters_parse(&archive, data, size, fc_allocator_system(), &err);
    assert_int_equal(status == FC_OK, row->message == NULL);
    if (status == FC_OK) {
      assert_int_equal(archive.count, strlen(row->header) > 2);
      if (archive.count) {
        assert_non_null(fc_parameters_find(&archive, FC_STR("a")));
      }
      fc_parameters_close(&archive);
    } else if (!strstr(err.message, row->message)) {
      fail_msg("%s", err.message);
    }
    free(data);
  }
}

static fc_status_t open_file(fc_allocator_t allocator, void *context,
                             fc_error_t *err) {
  fc_parameters_t archive;
  FC_TRY(fc_parameters_open(&archive, context, allocator, err));
  fc_parameters_close(&archive);
  return FC_OK;
}

static void reading_survives_failing_allocations(void **state) {
  (void)state;
  char path[] = DATA;
  assert_true(fc_test_allocation_sweep(open_file, path) > 0);
}

// Counts this process's mappings of files whose path contains `name`.
static size_t count_mappings(const char *name) {
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[512];
  size_t count = 0;
  while (fgets(line, sizeof line, maps)) count += strstr(line, name) != NULL;
  fclose(maps);
  return count;
}

static void what_is_refused_is_not_kept(void **state) {
  (void)state;
  fc_parameters_t archive;
  fc_error_t err = {0};
  const char *const path = FARCALL_SOURCE_DIR "/CMakeLists.txt";
  assert_int_not_equal(
      fc_parameters_open(&archive, path, fc_allocator_system(), &err), FC_OK);
  assert_non_null(strstr(err.message, "neither an .irpa"));
  assert_int_equal(count_mappings("/CMakeLists.txt"), 0);
  assert_int_equal(
      fc_parameters_open(&archive, DATA, fc_allocator_system(), &err), FC_OK);
  assert_int_equal(count_mappings("/data.irpa"), 1);
  fc_parameters_close(&archive);
  assert_int_equal(count_mappings("/data.irpa"), 0);
}

static void what_is_no_file_is_not_waited_for(void **state) {
  (void)state;
  fc_parameters_t archive;
  fc_error_t err = {0};
  char folder[] = "/tmp/farcall-parameters-XXXXXX", pipe[64];
  assert_non_null(mkdtemp(folder));
  snprintf(pipe, sizeof pipe, "%s/pipe", folder);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  const char *const paths[] = {pipe, folder, "/dev/null"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(paths); i++) {
    assert_int_not_equal(
        fc_parameters_open(&archive, paths[i], fc_allocator_system(), &err),
        FC_OK);
    assert_non_null(strstr(err.message, "no regular file with contents"));
  }
  unlink(pipe);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_is_no_file_is_not_waited_for),
      FC_TEST(what_is_refused_is_not_kept),
      FC_TEST(archives_of_the_tools_are_read),
      FC_TEST(every_number_is_checked),
      FC_TEST(a_pattern_is_of_the_size_of_an_element),
      FC_TEST(every_header_is_checked),
      FC_TEST(reading_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
