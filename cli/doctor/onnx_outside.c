// SPDX-License-Identifier: Apache-2.0
//
// Checks the files of weights that are outside the model. Only the size of such a file is
// read.
#include "doctor/onnx_outside.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "doctor/protobuf.h"

void fc_onnx_read_outside(fc_str_t bytes, fc_onnx_outside_t *outside) {
  fc_message_t message = fc_message(bytes);
  fc_pb_field_t field;
  fc_str_t key = {0}, value = {0};
  char digits[24] = "";
  while (fc_message_next(&message, &field)) {
    if (field.number == 1) key = field.bytes;
    if (field.number == 2) value = field.bytes;
  }
  if (value.size && value.size < sizeof digits) {
    memcpy(digits, value.data, value.size);
  }
  if (fc_str_equal(key, FC_STR("location"))) outside->location = value;
  if (fc_str_equal(key, FC_STR("offset"))) {
    outside->offset = strtoull(digits, NULL, 10);
  }
  if (fc_str_equal(key, FC_STR("length"))) {
    outside->length = strtoull(digits, NULL, 10);
  }
}

static void add(fc_checkup_t *checkup, fc_str_t name, fc_str_t location,
                const char *message, const char *way_out) {
  const char *place =
      fc_checkup_print(checkup, "weight %s", fc_checkup_name(checkup, name));
  fc_checkup_add(checkup, FC_LEVEL_UNFIT, FC_SUBJECT_WEIGHTS, location, place,
                 message, way_out);
}

void fc_onnx_check_outside(fc_checkup_t *checkup, fc_str_t name,
                           const fc_onnx_outside_t *outside) {
  const fc_str_t location = outside->location;
  const char *path = fc_checkup_print(checkup, "%.*s", FC_STR_ARG(location));
  if (!location.size || *path == '/' || strstr(path, "..") ||
      strlen(path) != location.size) {
    add(checkup, name, location,
        "its file is not named by a path below the model's folder",
        "save the model again, with its weights beside it");
    return;
  }
  if (!*checkup->path) {
    add(checkup, name, location, "its file cannot be found from standard input",
        "give the file's path");
    return;
  }
  const char *slash = strrchr(checkup->path, '/');
  const char *whole = fc_checkup_print(
      checkup, "%.*s%s", slash ? (int)(slash - checkup->path + 1) : 0,
      checkup->path, path);
  uint64_t end;
  if (__builtin_add_overflow(outside->offset, outside->length, &end)) {
    end = UINT64_MAX;
  }
  struct stat info;
  if (stat(whole, &info) || !S_ISREG(info.st_mode)) {
    add(checkup, name, location, "there is no such file beside the model",
        "copy the file of weights together with the model");
  } else if (end > (uint64_t)info.st_size) {
    add(checkup, name, location, "the file ends before the weight does",
        "the file was cut off: copy it again");
  }
}
