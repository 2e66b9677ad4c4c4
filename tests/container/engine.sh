# SPDX-License-Identifier: Apache-2.0
#
# Containers without a Docker engine, a registry or an overlay file system: buildah,
# podman and runc with their own storage in $work. tests/container/run sources this
# after base.sh. The script that sources it must define `die`, and call end_containers
# at its end.
# base.sh; it must define `die`, and call end_containers at its end.
base=docker.io/library/debian:bookworm-slim
container=
export CONTAINERS_STORAGE_CONF=$work/storage.conf
cat >"$CONTAINERS_STORAGE_CONF" <<END
[storage]
driver = "vfs"
runroot = "$work/run"
graphroot = "$work/graph"
END
podman() { command podman --runtime runc "$@"; }

end_containers() {
  [ -z "$container" ] || podman rm -f "$container" >/dev/null 2>&1 || true
  podman rmi -af >/dev/null 2>&1 || true
}

# Makes an image from a debootstrap of Debian 12, under the name that the Dockerfile
# uses.
base_image() {
  local tar
  tar=$(base_tar) || return
  echo "== base image from $tar"
  podman import -q "$tar" "$base" >/dev/null
}

# Starts a container whose only network is its own loopback. Programs of this machine
# can be run in that network, too.
create() {  # podman's options, then the image and its arguments; sets $container, $pid
  container=$(podman run -d --network none \
    --ulimit "nofile=1024:$(ulimit -Hn)" \
    --ulimit nproc=1024:1024 --health-interval disable --read-only \
    --cap-drop=all --security-opt no-new-privileges --memory 64m \
    "$@" 2>"$work/run.log") || { cat "$work/run.log"; die "podman run"; }
  pid=$(podman inspect -f '{{.State.Pid}}' "$container")
}
start() {  # the same, and it is ready
  create "$@"
  nsenter -t "$pid" -n curl -sf --retry 20 --retry-connrefused --retry-delay 1 \
    -o /dev/null http://localhost:8000/readyz || die "it is not ready"
}
stop() {
  local status
  podman stop -t 15 "$container" >/dev/null  # 5 s are FARCALL_PRE_DRAIN
  status=$(podman inspect -f '{{.State.ExitCode}}' "$container")
  [ "$status" -eq 0 ] || die "SIGTERM: exit $status"
}
# Runs the smoke test with the image's own farcall, in the container's network and file
# system.
smoke() {  # VERSION
  nsenter -t "$pid" -n tests/smoke "$1" http://localhost:8000 \
    nsenter -t "$pid" -m -r /usr/bin/farcall
}
