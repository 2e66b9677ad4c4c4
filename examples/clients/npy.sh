#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Sends one NumPy array with curl: npy.sh http://HOST:PORT MODULE/FUNCTION, for a function
# with one argument and one result. The .npy file is sent unchanged, and the answer is a
# .npy file.
set -eu
url=$1 function=$2
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
python3=${PYTHON:-python3}
"$python3" -c 'import numpy
numpy.save("argument.npy", numpy.linspace(0, 1, 5, dtype="float32"))'
curl -sf "$url/api/v1/functions/$function" -H 'Content-Type: application/x-npy' \
  -H 'Accept: application/x-npy' --data-binary @argument.npy -o result.npy
"$python3" -c 'import numpy
value = numpy.load("result.npy")
print(value.dtype, *value)'
