#!/usr/bin/env bash
# The lab: the real kernel's GPIO, I2C and serial, real systemd and real power cuts, in QEMU guests.
#
#   scripts/lab.sh [TEST-FILTER]          every lab test, with as many power cuts as CI has time for
#   scripts/lab.sh --full [TEST-FILTER]   the same with full counts; without a filter it writes test/lab/last-run.json
#   scripts/lab.sh --shell                a prompt in a booted guest; Ctrl-A X or `exit` ends it
#   scripts/lab.sh --prepare              installs what is missing, and leaves the kernel being built in the background
#
# Needs root (or sudo without a password) only to install Debian packages that are missing. The kernel is built once into LAB_CACHE
# (default ~/.cache/turnstone-lab), which any number of checkouts may share.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export LAB_CACHE=${LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/turnstone-lab}

die() { printf 'lab: %s\n' "$*" >&2; exit 1; }
. "$root/scripts/as-root.sh"
apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@"; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

install_packages() {
  command -v apt-get >/dev/null || die 'this needs a Debian machine'
  [ "$(uname -m)" = x86_64 ] || die 'the guest is an x86-64 machine; so must the host be'
  local wanted missing=() package log
  wanted=(qemu-system-x86 mosquitto perl-base systemd systemd-sysv udev dbus dmsetup e2fsprogs i2c-tools kmod iproute2 xz-utils make gcc flex bison bc libelf-dev libssl-dev)
  compgen -G '/usr/src/linux-source-6.*.tar.xz' >/dev/null || wanted+=(linux-source-6.12)
  for package in "${wanted[@]}"; do installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "lab: Debian packages ${missing[*]}" >&2
  log=$(mktemp)
  { apt update && apt install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || { cat "$log" >&2; die 'packages are missing'; }
  rm -f "$log"
}

mode=${1:-}
export LAB_RUN=ci
case $mode in
  --full) LAB_RUN=full; shift ;;
  --shell | --prepare) ;;
  -*) die 'usage: scripts/lab.sh [--full] [TEST-FILTER] | --shell | --prepare' ;;
esac
install_packages
if [ "$mode" = --prepare ]; then
  # Whoever needs it meanwhile waits for the same build.
  test/lab/build-kernel.sh "$LAB_CACHE" >/dev/null 2>&1 </dev/null &
  exit 0
fi
LAB_KERNEL=$(test/lab/build-kernel.sh "$LAB_CACHE")
export LAB_KERNEL
[ "$mode" != --shell ] || exec scripts/dev.sh node test/lab/shell.ts

mkdir -p .lab
export LAB_FIGURES=$root/.lab/figures
rm -f "$LAB_FIGURES"
[ $# -gt 0 ] || export LAB_WHOLE=1
scripts/dev.sh vitest run --config test/lab/vitest.config.ts "$@"
