#!/bin/sh
# Write requirements/*.txt anew: newest fitting versions, hashes of every file, no address of where they came from.
set -eu

: "${BIN:?the bin folder of the virtual environment}"

[ -x "$BIN/uv" ] || "$BIN/python" -m pip install --quiet uv

pin() {
    out=$1
    shift
    "$BIN/uv" pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
        --custom-compile-command "make pins" --output-file "$out" "$@"
    if grep -nE '[a-z]+://|^--' "$out"; then
        printf '%s\n' "$out names the address of a registry: see the lines above" >&2
        exit 1
    fi
}

pin requirements/bootstrap.txt requirements/bootstrap.in
pin requirements/dev.txt --all-extras pyproject.toml requirements/dev.in
# The image: the versions that are tested, of what the service, its engines and its exports need.
extras=$(printf ' --extra %s' api duckdb polars postgres snowflake databricks s3)
# shellcheck disable=SC2086  one word each
pin requirements/image.txt $extras --constraint requirements/dev.txt pyproject.toml
pin requirements/image-spark.txt --extra spark --extra postgres --constraint requirements/dev.txt pyproject.toml
pin requirements/build.txt --constraint requirements/dev.txt requirements/build.in
pin requirements/node.txt requirements/node.in
pin requirements/browser.txt requirements/browser.in
