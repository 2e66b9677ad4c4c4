# SPDX-License-Identifier: Apache-2.0
#
# Virtual machines with Debian 12's kernel whose files are all in memory: busybox,
# farcalld, farcall, and what a test adds. They need neither /dev/kvm nor root, only a
# network to download the kernel's package. tests/vm/groups and tests/vm/jail source
# this in the root of the tree, after setting $name.
build=$(realpath "${1:-build/dev}")
here=$PWD/tests/vm
skip() { echo "SKIPPED: vm/$name: $*" >&2; exit 77; }

# Makes the machine's files in $root. The machine runs tests/vm/$name-inside first.
make_machine() {
  local each kernel
  [ "$(uname -m)" = x86_64 ] || skip "is for x86-64"
  [ -x "$build/bin/farcalld" ] || { echo "vm: no farcalld in $build" >&2; exit 69; }
  scripts/deps vm
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/farcall-$name.XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  cd "$work"
  root=$work/root
  kernel=$(apt-cache depends linux-image-cloud-amd64 2>apt.log |
    sed -n 's/.*Depends: \(linux-image-\)/\1/p' | head -n 1)
  { [ "$kernel" ] && apt-get download "$kernel" busybox-static >>apt.log 2>&1; } ||
    skip "the kernel's package cannot be had: $(tail -n 1 apt.log)"
  mkdir packages root
  for each in *.deb; do dpkg -x "$each" packages; done

  mkdir -p root/{bin,proc,sys,dev,tmp,etc,modules}
  cp packages/bin/busybox root/bin/
  for each in $(packages/bin/busybox --list); do
    [ -e "root/bin/$each" ] || ln -s busybox "root/bin/$each"
  done
  add_programs "$build/bin/farcalld" "$build/bin/farcall"
  # These libraries are loaded at run time, so ldd does not list them.
  for each in libssl.so.3 libcrypto.so.3 libgcc_s.so.1; do
    add_file "$(/sbin/ldconfig -p | sed -n "s|.*$each .* => ||p" | head -n 1)"
  done
  cp "$here/$name-inside" root/init
}

add_file() { [ -e "$root$1" ] || install -D "$1" "$root$1"; }
# Adds the libraries that programs or other libraries need.
add_libraries() {
  local each
  { ldd "$@" 2>/dev/null || true; } | grep -o '/[^ ]*\.so[^ ]*' | sort -u |
    while read -r each; do [ -z "$each" ] || add_file "${each%:}"; done
}
add_programs() {
  cp "$@" "$root/bin/"
  add_libraries "$@"
}

# Starts the machine with the files in $root, and waits until it ends.
start_machine() {  # SECONDS, more of the kernel's command line
  local status=0
  (cd "$root" && find . | ../packages/bin/busybox cpio -o -H newc 2>/dev/null) >disk
  timeout -k 5 "$1" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 1 \
    -m 1G -nodefaults -display none -no-reboot -serial stdio \
    -kernel "$(echo packages/boot/vmlinuz-*)" -initrd disk \
    -append "console=ttyS0 loglevel=4 panic=-1 no_timer_check ${*:2}" </dev/null |
    tr -d '\r' | tee log || status=$?
  [ "$status" -ne 124 ] || { echo "vm/$name: no end after $1 s" >&2; exit 1; }
  grep -q '^vm: passed$' log || { echo "vm/$name: failed" >&2; exit 1; }
}
