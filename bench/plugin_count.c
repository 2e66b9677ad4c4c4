// SPDX-License-Identifier: Apache-2.0
//
// A plugin of QEMU that prints how many instructions the program has executed. No package
// of Debian 12 has QEMU's header, so what is used of it is declared here, from
// docs/devel/tcg-plugins of QEMU 7.2, whose interface has version 1.
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

typedef uint64_t plugin_id_t;
typedef struct block_t block_t;
typedef void (*at_exit_t)(plugin_id_t id, void *data);
typedef void (*translated_t)(plugin_id_t id, block_t *block);
typedef enum operation_t { ADD_U64 } operation_t;
size_t qemu_plugin_tb_n_insns(const block_t *block);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id_t id, translated_t call);
void qemu_plugin_register_vcpu_tb_exec_inline(block_t *block, operation_t what,
                                              void *to, uint64_t value);
void qemu_plugin_register_atexit_cb(plugin_id_t id, at_exit_t call, void *data);

// Symbols that QEMU looks up.
int qemu_plugin_install(plugin_id_t id, const void *info, int argc,
                        char **argv);
extern int qemu_plugin_version;
int qemu_plugin_version = 1;

static uint64_t executed;

static void translated(plugin_id_t id, block_t *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed,
                                           qemu_plugin_tb_n_insns(block));
}

static void at_exit(plugin_id_t id, void *data) {
  (void)id;
  (void)data;
  fprintf(stderr, "instructions: %" PRIu64 "\n", executed);
}

int qemu_plugin_install(plugin_id_t id, const void *info, int argc,
                        char **argv) {
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, at_exit, NULL);
  return 0;
}
