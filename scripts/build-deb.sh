#!/usr/bin/env bash
# Makes a Debian package of a release that is built: scripts/build-deb.sh RELEASE-FOLDER x64|arm64 [LEVEL]
# What is in it, and what its scripts do, is packaging/debian. LEVEL is that of the compression, 6 unless named; 0 and 1, for tests, leave the
# package as it is. Two builds of one commit are the same bytes. It lies beside the release, as turnstone_VERSION_ARCHITECTURE.deb.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$1
case $2 in x64) architecture=amd64 ;; arm64) architecture=arm64 ;; *) echo 'build-deb: x64 or arm64' >&2; exit 1 ;; esac
level=${3:-6}
[ "$level" -le 9 ] || level=6
compression="-Zxz -z$level"
[ "$level" -gt 1 ] || compression=-Znone

. "$root/scripts/as-root.sh"

if ! command -v dh_builddeb >/dev/null || ! command -v dpkg-buildpackage >/dev/null; then
  echo 'build-deb: installing the Debian packages debhelper and dpkg-dev' >&2
  as_root apt-get update -qq >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debhelper dpkg-dev >&2
fi

# The day of the commit; whoever builds from elsewhere names one.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1577836800)}
# The same split of the compressed data on every machine.
DPKG_DEB_THREADS_MAX=2
export SOURCE_DATE_EPOCH DPKG_DEB_THREADS_MAX DEB_COMPRESSION=$compression

work=$(mktemp -d)
log=$(mktemp)
trap 'rm -rf "$work" "$log"' EXIT
umask 022
"$root/scripts/dev.sh" node "$root/scripts/package-release.ts" "$folder" "$work/turnstone" "$SOURCE_DATE_EPOCH"
version=$(cd "$work/turnstone" && dpkg-parsechangelog --show-field Version)
sed -i "s/#VERSION#/$version/" "$work/turnstone/debian/turnstone.preinst"
echo "build-deb: package $version …" >&2
started=$SECONDS
if ! (cd "$work/turnstone" && dpkg-buildpackage -b -d -us -uc "-a$architecture") >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
echo "build-deb: package $version: $((SECONDS - started)) s" >&2
mv "$work/turnstone_${version}_$architecture.deb" "$(dirname "$folder")/"
echo "$(dirname "$folder")/turnstone_${version}_$architecture.deb" >&2
