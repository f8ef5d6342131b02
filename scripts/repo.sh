#!/usr/bin/env bash
# Makes a folder that apt takes packages from, out of the Debian packages of releases: scripts/repo.sh [FROM [TO]]
# FROM is build/release, TO is build/repo. Nothing is signed: serve it where only you can write. Prints the line for sources.list.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
from=${1:-$root/build/release}
to=${2:-$root/build/repo}

. "$root/scripts/as-root.sh"

shopt -s nullglob
packages=("$from"/turnstone_*.deb)
[ ${#packages[@]} -gt 0 ] || { echo "repo: no package lies in $from; make one first: scripts/build-release.sh --deb" >&2; exit 1; }
if ! command -v apt-ftparchive >/dev/null; then
  echo 'repo: installing the Debian package apt-utils' >&2
  as_root apt-get update -qq >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends apt-utils >&2
fi

mkdir -p "$to"
rm -f "$to"/turnstone_*.deb "$to"/Packages* "$to/Release"
for package in "${packages[@]}"; do ln -f "$package" "$to/" 2>/dev/null || cp "$package" "$to/"; done
chmod 644 "$to"/turnstone_*.deb
cd "$to"
apt-ftparchive packages . >Packages
gzip -9nk Packages
apt-ftparchive -o APT::FTPArchive::Release::Origin=turnstone -o APT::FTPArchive::Release::Label=turnstone release . >Release.new
mv Release.new Release

to=$(pwd)
cat <<WORDS
$to holds ${#packages[@]} package(s). On the gateway, in /etc/apt/sources.list.d/turnstone.list:

deb [trusted=yes] file:$to ./

Where a web server gives the folder out, its address stands in place of file:$to.
trusted=yes: apt takes what lies there without a signature. Whoever can write to the folder, or to the line between, is root on the gateway.
WORDS
