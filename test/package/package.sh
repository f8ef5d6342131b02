#!/usr/bin/env bash
# Installs, upgrades, goes back with, removes and purges the Debian package in a Debian of its own, where systemd does not run.
#   test/package/package.sh          Debian 12
#   test/package/package.sh --full   Debian 13 too, /opt as another file system, and lintian
# --again takes the packages of the last run. A name filters the cases: test/package/package.sh --again life
# The systems are made once, in build/package. To be run by root. Ends with one line: N passed, N failed, N skipped.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ "$(id -u)" = 0 ] || exec sudo -n "$0" "$@"
here=$root/test/package
work=$root/build/package
out=$work/release
full=no again=no only=''
for option in "$@"; do
  case $option in
    --full) full=yes ;;
    --again) again=yes ;;
    [a-z]*) only=$option ;;
    *) echo "package: unknown option $option" >&2; exit 2 ;;
  esac
done
passed=0 failed=0 skipped=0
mkdir -p "$out"

missing=()
command -v debootstrap >/dev/null || missing+=(debootstrap debian-archive-keyring)
command -v apt-ftparchive >/dev/null || missing+=(apt-utils)
command -v dh_builddeb >/dev/null || missing+=(debhelper dpkg-dev)
[ "$full" = no ] || command -v lintian >/dev/null || missing+=(lintian)
if [ ${#missing[@]} -gt 0 ]; then
  echo "package: installing ${missing[*]}" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi

[ -f "$work/key.pem" ] || openssl genpkey -algorithm ed25519 -out "$work/key.pem"
build() { "$root/scripts/build-release.sh" --level 1 --out "$out" --key "$work/key.pem" --release "$@" >"$work/build.log" 2>&1 || { cat "$work/build.log"; echo '0 passed, 1 failed, 0 skipped'; exit 1; }; }
if [ "$again" = no ]; then
  rm -rf "$out" && mkdir -p "$out"
  build 1.0.0-rc1 --deb
  build 1.0.0 --deb
  build 2.0.0
fi

base() { # base SUITE: with what the package needs, so that no network is needed after
  [ ! -e "$work/$1.made" ] || return 0
  rm -rf "${work:?}/$1"
  debootstrap --variant=minbase --include=ca-certificates,zstd,systemd-standalone-sysusers "$1" "$work/$1" >"$work/$1.log" 2>&1 || { tail -n 20 "$work/$1.log"; return 1; }
  rm -f "$work/$1"/var/cache/apt/archives/*.deb
  touch "$work/$1.made"
}

clean() {
  local left
  for left in "$work"/machine-*; do
    [ -d "$left" ] || continue
    mountpoint -q "$left/opt" && umount "$left/opt"
    mountpoint -q "$left/proc" && umount "$left/proc"
    mountpoint -q "$left/proc" || rm -rf --one-file-system "$left"
  done
}
trap clean EXIT

tell() { # tell STATUS NAME
  if [ "$1" = 0 ]; then passed=$((passed + 1)); echo "ok: $2"; else failed=$((failed + 1)); echo "FAILED: $2"; fi
}

case_in() { # case_in SUITE CASE [NAME]: on a fresh machine
  local machine=$work/machine-$$
  [ -z "$only" ] || [ "$only" = "${3:-$2}" ] || { skipped=$((skipped + 1)); return; }
  local began=$SECONDS
  clean
  cp -a "$work/$1" "$machine"
  mkdir -p "$machine/media/repo"
  mount -t proc proc "$machine/proc"
  [ "${3:-}" != other-file-system ] || mount -t tmpfs -o size=600m tmpfs "$machine/opt"
  "$root/scripts/repo.sh" "$out" "$machine/media/repo" >"$work/repo.log" || { tell 1 "$1: repo"; return; }
  sed -n "s,file:$machine,file:,p" "$work/repo.log" | grep '^deb ' >"$machine/media/turnstone.list"
  cp -a "$out/turnstone-2.0.0-linux-$(arch_name)" "$machine/media/next"
  cp -a "$out/turnstone-1.0.0-rc1-linux-$(arch_name)" "$machine/media/first"
  cp "$out/turnstone-2.0.0-linux-$(arch_name).tar.zst" "$machine/media/next.tar.zst"
  cp "$here"/*.sh "$machine/media/"
  cp -r "$root/packaging/raspberry-pi" "$machine/media/" 2>/dev/null
  if chroot "$machine" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive SUITE="$1" sh "/media/$2.sh" >"$work/case.log" 2>&1; then
    tell 0 "$1: ${3:-$2} ($((SECONDS - began)) s)"
  else
    tail -n 40 "$work/case.log"
    tell 1 "$1: ${3:-$2}"
  fi
}
arch_name() { case $(uname -m) in aarch64) echo arm64 ;; *) echo x64 ;; esac; }

suites=(bookworm)
[ "$full" = no ] || suites+=(trixie)
for suite in "${suites[@]}"; do
  if ! base "$suite"; then tell 1 "$suite: a system to try it in"; continue; fi
  case_in "$suite" life
  case_in "$suite" install-sh
  case_in "$suite" first-boot
  [ "$full" = no ] || case_in "$suite" life other-file-system
done
if [ "$full" = yes ]; then
  quiet=()
  # The man page comes with the release.
  [ -d "$out/turnstone-1.0.0-linux-$(arch_name)/man" ] || quiet=(--suppress-tags no-manual-page)
  lintian --allow-root --fail-on error,warning "${quiet[@]}" "$out/turnstone_1.0.0_$(dpkg --print-architecture).deb"
  tell $? 'lintian: no error, no warning'
  test "$(grep -c '^turnstone:' "$root/packaging/debian/turnstone.lintian-overrides")" -le 6
  tell $? 'lintian: at most six overrides'
else
  skipped=$((skipped + 6))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
