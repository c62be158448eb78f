#!/bin/sh
# Make a virtual environment with the first Python 3.11 or later on the PATH: ensure_venv.sh DIRECTORY
# On Debian the module `venv` may lack its half (ensurepip): root installs it, others are told the line.
set -eu

venv=$1

say() { printf '%s\n' "$*" >&2; }

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in python3 python3.13 python3.12 python3.11 python3.14 python; do
        if command -v "$candidate" >/dev/null 2>&1 && is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

make_venv() {
    "$python" -m venv "$venv" && "$venv/bin/python" -m pip --version >/dev/null
}

# Two checkouts with one environment would each make it run the other's code, and `rm` would take both.
refuse_shared() {
    say "$venv is not an environment of this checkout: $1."
    say "Remove it (rm $venv, or rm -r $venv), and run this again: a new one is made here."
    exit 1
}

if [ -L "$venv" ]; then
    refuse_shared "it is a link to $(readlink "$venv")"
fi
if [ -f "$venv/bin/activate" ]; then
    here=$(CDPATH='' cd "$venv" && pwd -P)
    said=$(sed -n 's/^ *VIRTUAL_ENV=["'"'"']\{0,1\}\([^"'"'"']*\)["'"'"']\{0,1\}$/\1/p' "$venv/bin/activate" | sed -n '/^\//p' | sed -n 1p)
    if [ -n "$said" ] && [ "$(CDPATH='' cd "$said" 2>/dev/null && pwd -P)" != "$here" ]; then
        refuse_shared "it was made for $said"
    fi
fi

if [ -x "$venv/bin/python" ] && is_new_enough "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

if ! python=$(find_python); then
    say "LakeLogic needs Python 3.11 or later, and there is none on the PATH (looked for python3, python3.11 … python3.14)."
    exit 1
fi

rm -rf "$venv"
say "Making $venv with $("$python" --version 2>&1)"
if output=$(make_venv 2>&1); then
    exit 0
fi
rm -rf "$venv"

package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
if ! command -v apt-get >/dev/null 2>&1; then
    say "$output"
    say "\`$python -m venv\` does not work here; install the venv module of your Python and try again."
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    say "Python's venv module is incomplete on this machine. Run this line, then try again:"
    say "  sudo apt-get update && sudo apt-get install -y $package"
    exit 1
fi
say "Installing $package"
apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package" >/dev/null
if ! output=$(make_venv 2>&1); then
    rm -rf "$venv"
    say "$output"
    say "\`$python -m venv\` still does not work; see the lines above."
    exit 1
fi
