#!/usr/bin/env bash
# Installs, upgrades, goes back with, removes and purges the Debian package in a Debian of its own, where systemd does not run.
#   test/package/package.sh          Debian 12
#   test/package/package.sh --full   Debian 13 too, /opt as another file system, and lintian
# --again takes the packages of the last run. A name filters the cases: test/package/package.sh --again bookworm-life
# The systems are made once, in build/package. To be run by root. Ends with one line: N passed, N failed, N skipped.
set -uo pipefail
# Each job is a process group, so that what a case has started ends with it.
set -m
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
mkdir -p "$out" "$work/mounts"
if ! mount -t tmpfs tmpfs "$work/mounts" 2>/dev/null; then
  echo 'package: left out: nothing can be mounted here' >&2
  echo '0 passed, 0 failed, 3 skipped'
  exit 0
fi
umount "$work/mounts"

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

base() { # base SUITE: with what the package needs, so that no network is needed after
  [ ! -e "$work/$1.made" ] || return 0
  rm -rf "${work:?}/$1"
  debootstrap --variant=minbase --include=ca-certificates,zstd,systemd-standalone-sysusers "$1" "$work/$1" >"$work/$1.log" 2>&1 || return 1
  rm -f "$work/$1"/var/cache/apt/archives/*.deb
  # A machine is thrown away after its case: it need not outlive a power cut.
  echo force-unsafe-io >"$work/$1/etc/dpkg/dpkg.cfg.d/test"
  touch "$work/$1.made"
}

build() { # build VERSION [--deb]
  "$root/scripts/build-release.sh" --level 1 --out "$out" --key "$work/key.pem" --release "$@" >"$work/build.log" 2>&1 || {
    cat "$work/build.log"
    echo '0 passed, 1 failed, 0 skipped'
    exit 1
  }
}

remove() { # remove MACHINE
  local mounted
  for mounted in opt proc; do
    if mountpoint -q "$1/$mounted"; then umount "$1/$mounted" || return; fi
  done
  rm -rf --one-file-system "$1"
}
leave() {
  local job machine
  for job in $(jobs -p); do kill -- "-$job" 2>/dev/null; done
  wait
  for machine in "$work"/machine-*; do [ ! -d "$machine" ] || remove "$machine"; done
}
trap leave EXIT
trap 'exit 130' INT TERM

tell() { # tell STATUS NAME
  if [ "$1" = 0 ]; then passed=$((passed + 1)); echo "ok: $2"; else failed=$((failed + 1)); echo "FAILED: $2"; fi
}
arch_name() { case $(uname -m) in aarch64) echo arm64 ;; *) echo x64 ;; esac; }

case_in() { # case_in SUITE CASE NAME: on a fresh machine
  local machine=$work/machine-$1-$3
  [ ! -d "$machine" ] || remove "$machine" || return
  cp -a "$work/$1" "$machine"
  mkdir -p "$machine/media/repo"
  mount -t proc proc "$machine/proc" || return
  [ "$3" != other-file-system ] || mount -t tmpfs -o size=600m tmpfs "$machine/opt" || return
  "$root/scripts/repo.sh" "$out" "$machine/media/repo" >"$machine/media/repo.log" || return
  sed -n "s,file:$machine,file:,p" "$machine/media/repo.log" | grep '^deb ' >"$machine/media/turnstone.list"
  cp -a "$out/turnstone-2.0.0-linux-$(arch_name)" "$machine/media/next"
  cp -a "$out/turnstone-1.0.0-rc1-linux-$(arch_name)" "$machine/media/first"
  cp "$out/turnstone-2.0.0-linux-$(arch_name).tar.zst" "$machine/media/next.tar.zst"
  cp "$here"/*.sh "$machine/media/"
  cp -r "$root/packaging/raspberry-pi" "$machine/media/"
  chroot "$machine" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh "/media/$2.sh" || return
  remove "$machine"
}

declare -A names=()
start() { # start SUITE CASE [NAME]: at most two at a time
  local name=${3:-$2}
  if [ -n "$only" ] && [ "$only" != "$name" ] && [ "$only" != "$1-$name" ]; then skipped=$((skipped + 1)); return; fi
  [ ${#names[@]} -lt 2 ] || finish
  case_in "$1" "$2" "$name" >"$work/$1-$name.log" 2>&1 &
  names[$!]="$1-$name"
}
finish() { # finish: one case that has ended
  local job status=0
  wait -n -p job "${!names[@]}" || status=$?
  tell "$status" "${names[$job]} ($SECONDS s after the start)"
  [ "$status" = 0 ] || tail -n 40 "$work/${names[$job]}.log"
  unset "names[$job]"
}

[ -f "$work/key.pem" ] || openssl genpkey -algorithm ed25519 -out "$work/key.pem"
suites=(bookworm)
[ "$full" = no ] || suites+=(trixie)
# While the network is waited for, releases are built.
(for suite in "${suites[@]}"; do base "$suite"; done) &
systems=$!
if [ "$again" = no ]; then
  rm -rf "$out" && mkdir -p "$out"
  build 1.0.0-rc1 --deb
  build 1.0.0 --deb
  build 2.0.0
fi
wait "$systems"

for suite in "${suites[@]}"; do
  if [ ! -e "$work/$suite.made" ]; then
    tail -n 20 "$work/$suite.log"
    echo "package: left out: no system of $suite could be made" >&2
    skipped=$((skipped + 4))
    continue
  fi
  start "$suite" life
  start "$suite" install-sh
  start "$suite" first-boot
  if [ "$full" = yes ]; then start "$suite" life other-file-system; else skipped=$((skipped + 1)); fi
done
while [ ${#names[@]} -gt 0 ]; do finish; done

if [ "$full" = yes ]; then
  # As a release is packed, twice.
  for time in one other; do
    mkdir -p "$work/$time"
    cp -a "$out/turnstone-1.0.0-linux-$(arch_name)" "$work/$time/"
    "$root/scripts/build-deb.sh" "$work/$time/turnstone-1.0.0-linux-$(arch_name)" "$(arch_name)" 1>&2
  done
  deb=turnstone_1.0.0_$(dpkg --print-architecture).deb
  cmp "$work/one/$deb" "$work/other/$deb"
  tell $? 'two packages of one release are the same bytes'
  lintian --allow-root --fail-on error,warning "$work/one/$deb"
  tell $? 'lintian: no error, no warning'
  test "$(grep -c '^turnstone:' "$root/packaging/debian/turnstone.lintian-overrides")" -le 6
  tell $? 'lintian: at most six overrides'
  rm -rf "${work:?}/one" "${work:?}/other"
else
  skipped=$((skipped + 7))
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
