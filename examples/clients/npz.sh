#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Sends NumPy arrays with curl: npz.sh http://HOST:PORT MODULE/FUNCTION. The .npz file
# that is sent has the arguments by name, or by position as here. The file that comes back
# has the results in the same way.
set -eu
url=$1 function=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
python3=${PYTHON:-python3}
"$python3" -c 'import numpy
value = numpy.arange(16, dtype="int32").reshape(1, 16)
numpy.savez("arguments.npz", value, value)'
curl -sf "$url/api/v1/functions/$function" -H 'Content-Type: application/x-npz' \
  -H 'Accept: application/x-npz' --data-binary @arguments.npz -o results.npz
"$python3" -c 'import numpy
for name, value in numpy.load("results.npz").items():
    print(name, *value.ravel()[:4])'
