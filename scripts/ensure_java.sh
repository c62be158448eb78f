#!/bin/sh
# Make sure that Spark finds Java 17 or later: silent when it does, installed by root on Debian and Ubuntu,
# otherwise one line to run and a stop. Nothing else is ever changed.
set -eu

oldest=17
newest_tried=23

say() { printf '%s\n' "$*" >&2; }

# 17 out of `openjdk version "17.0.12"`, 8 out of `java version "1.8.0_202"`, nothing when there is no Java.
version_of() {
    "$1" -version 2>&1 | sed -n 's/^.*version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*$/\2/p' | head -n 1
}

is_good() {
    [ -n "$1" ] && [ "$1" -ge "$oldest" ]
}

# Spark takes JAVA_HOME before the PATH, and so do we.
find_java() {
    if [ -n "${JAVA_HOME:-}" ]; then
        printf '%s\n' "$JAVA_HOME/bin/java"
    else
        command -v java || true
    fi
}

check() {
    java=$(find_java)
    version=
    if [ -n "$java" ] && [ -x "$java" ]; then
        version=$(version_of "$java")
    fi
    is_good "$version"
}

available() {
    apt-cache show "$1" 2>/dev/null | grep -q '^Package:'
}

first_available() {
    for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
        if available "$package"; then
            printf '%s\n' "$package"
            return 0
        fi
    done
    return 1
}

if check; then
    if [ "$version" -gt "$newest_tried" ]; then
        say "Note: Java $version is newer than what Spark was tried with here (17 and 21). If Spark fails, set JAVA_HOME to one of those."
    fi
    exit 0
fi

if [ -n "${JAVA_HOME:-}" ]; then
    say "Spark needs Java $oldest or later, and JAVA_HOME points to ${version:+Java }${version:-no Java at all} ($JAVA_HOME)."
    say "Set JAVA_HOME to a Java 17, or unset it, and try again."
    exit 1
fi

if [ -n "$version" ]; then
    say "Spark needs Java $oldest or later; the \`java\` on the PATH is version $version."
else
    say "Spark needs Java $oldest or later; there is none on the PATH."
fi

if ! command -v apt-get >/dev/null 2>&1; then
    if command -v dnf >/dev/null 2>&1; then
        say "Run this line, then try again:"
        say "  sudo dnf install -y java-17-openjdk-headless"
    elif command -v brew >/dev/null 2>&1; then
        say "Run this line, then try again:"
        say "  brew install openjdk@17 && export JAVA_HOME=\"\$(brew --prefix openjdk@17)\""
    else
        say "Install a Java 17 runtime with your system's package manager, then try again."
    fi
    exit 1
fi

if [ "$(id -u)" != 0 ]; then
    package=$(first_available || printf 'openjdk-17-jre-headless')
    say "Run this line, then try again (or run without Java: make demo ENGINE=duckdb):"
    say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $package"
    exit 1
fi

if ! apt-get update -qq; then
    say "\`apt-get update\` failed: see the lines above. Nothing was installed."
    exit 1
fi
if ! package=$(first_available); then
    say "No Java runtime is among this system's packages. Install a Java 17 and try again. Nothing was installed."
    exit 1
fi
say "Installing $package"
if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then
    say "\`apt-get install $package\` failed: see the lines above."
    exit 1
fi
if ! check; then
    say "$package is installed, but the \`java\` on the PATH is ${version:-not there}. Choose the new one with: update-alternatives --config java"
    exit 1
fi
