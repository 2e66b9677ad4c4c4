# SPDX-License-Identifier: Apache-2.0
#
# base_tar [SUITE]: prints the path of a tar of a minimal Debian (12 by default), main
# section only. debootstrap makes it from this machine's own mirror, and it stays in the
# user's cache for a month. Sourced by scripts/image and by the tests that need a bare
# Debian.
base_tar() {
  local folder=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/farcall mirror tar root
  local suite=${1:-bookworm}
  tar=$folder/$suite-minbase-$(date +%Y%m).tar
  if [ ! -f "$tar" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
      'Created-By: Packages' |
      sed -n 's/ \(bookworm\|trixie\)$//p' | head -n 1)
    mkdir -p "$folder"
    root=$(mktemp -d "$folder/$suite.XXXXXX")
    chmod 755 "$root"  # it becomes the root folder
    echo "debootstrap of $suite from ${mirror:=http://deb.debian.org/debian}" >&2
    debootstrap --variant=minbase --components=main "$suite" "$root" \
      "$mirror" >"$folder/debootstrap.log" 2>&1 ||
      { tail -n 20 "$folder/debootstrap.log" >&2; rm -rf "$root"; return 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb
    tar -C "$root" --one-file-system -cf "$tar.new" .
    rm -rf "$root"
    rm -f "$folder/$suite"-minbase-*.tar
    mv "$tar.new" "$tar"
  fi
  echo "$tar"
}
