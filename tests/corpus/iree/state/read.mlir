// SPDX-License-Identifier: Apache-2.0
vm.module @read {
  vm.global.ref private mutable @buffer : !vm.ref<!hal.buffer>
  vm.import private @hal.devices.get(%i : i32) -> !vm.ref<!hal.device>
  vm.import private @hal.device.allocator(%d : !vm.ref<!hal.device>) -> !vm.ref<!hal.allocator>
  vm.import private @hal.allocator.allocate(%a : !vm.ref<!hal.allocator>, %affinity : i64, %types : i32, %usage : i32, %size : i64) -> !vm.ref<!hal.buffer>
  vm.import private @hal.buffer.store(%value : i32, %b : !vm.ref<!hal.buffer>, %offset : i64, %length : i32)
  vm.import private @hal.buffer.load(%b : !vm.ref<!hal.buffer>, %offset : i64, %length : i32) -> i32
  vm.initializer {
    %zero = vm.const.i32.zero
    %device = vm.call @hal.devices.get(%zero) : (i32) -> !vm.ref<!hal.device>
    %allocator = vm.call @hal.device.allocator(%device) : (!vm.ref<!hal.device>) -> !vm.ref<!hal.allocator>
    %affinity = vm.const.i64 -1
    %types = vm.const.i32 48
    %usage = vm.const.i32 3075
    %size = vm.const.i64 64
    %b = vm.call @hal.allocator.allocate(%allocator, %affinity, %types, %usage, %size) : (!vm.ref<!hal.allocator>, i64, i32, i32, i64) -> !vm.ref<!hal.buffer>
    vm.global.store.ref %b, @buffer : !vm.ref<!hal.buffer>
    vm.return
  }
  vm.export @next
  vm.func private @next(%by : i32) -> i32 {
    %zero = vm.const.i64.zero
    %four = vm.const.i32 4
    %b = vm.global.load.ref @buffer : !vm.ref<!hal.buffer>
    %old = vm.call @hal.buffer.load(%b, %zero, %four) : (!vm.ref<!hal.buffer>, i64, i32) -> i32
    vm.return %old : i32
  }
}
