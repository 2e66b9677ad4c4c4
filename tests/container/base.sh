# SPDX-License-Identifier: Apache-2.0
#
# What tests of installing share. Sourced, from the root of the tree.
. scripts/base.sh

# The tree as it is, without what git ignores, unpacked into folder $1.
copy_tree() {
  mkdir -p "$1"
  git ls-files -z -co --exclude-standard | tar -c --null -T - | tar -x -C "$1"
}
