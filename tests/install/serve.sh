# SPDX-License-Identifier: Apache-2.0
#
# Starts servers of installed programs for tests/smoke. To be sourced; needs $work.
server=
serve() {  # FARCALLD...; sets $url
  "$@" --listen=127.0.0.1:0 examples/iree/matmul.vmfb >"$work/server.log" 2>&1 &
  server=$!
  until url=$(grep -Eo 'http://127.0.0.1:[0-9]+' "$work/server.log"); do
    kill -0 "$server" 2>/dev/null || { cat "$work/server.log"; exit 1; }
    sleep 0.05
  done
}
end_server() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; }

# Installs only the wheel; its dependencies come from the tests' environment.
install_wheel() {  # WHEEL FOLDER
  local site
  environment tests/requirements.txt
  "$venv/bin/python" -m venv --without-pip "$2"
  for site in "$2"/lib/python3*/site-packages; do
    "$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
      >"$site/pinned.pth"
  done
  "$venv/bin/python" -m pip -q --disable-pip-version-check --python "$2/bin/python" \
    install --no-index --no-deps "$1"
}
