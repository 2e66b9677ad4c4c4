# SPDX-License-Identifier: Apache-2.0
#
# Shared by the tests of installing. Source it in the root of the tree.
. scripts/base.sh

# Copies the tree into folder $1, without files that git ignores.
copy_tree() {
  mkdir -p "$1"
  git ls-files -z -co --exclude-standard | tar -c --null -T - | tar -x -C "$1"
}
