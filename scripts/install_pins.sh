#!/bin/sh
# Install the pinned packages, hashes checked, into the environment whose programs are in $BIN.
# uv is quick and is itself pinned; whatever keeps it from working, pip does the same with the same pins.
set -eu

: "${BIN:?the bin folder of the virtual environment}"

say() { printf '%s\n' "$*" >&2; }

with_uv() {
    "$BIN/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt &&
        "$BIN/uv" pip install --quiet --compile-bytecode --python "$BIN/python" --require-hashes -r requirements/dev.txt
}

say "Installing pinned packages (about 600 MB to download the first time; Spark is most of it)"
if with_uv; then
    exit 0
fi
say "uv could not do it here; trying pip"
exec "$BIN/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
