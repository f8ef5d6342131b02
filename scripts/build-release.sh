#!/usr/bin/env bash
# Makes a release: scripts/build-release.sh [--arch x64|arm64] [--key signing-key.pem] [--release VERSION] [--deb] [--level N] [--json]
# Signs another file, such as a configuration: scripts/build-release.sh --key signing-key.pem --sign FILE
# A key is made with: openssl genpkey -algorithm ed25519 -out signing-key.pem
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

. "$root/scripts/as-root.sh"

arch=x64
[ "$(uname -m)" = aarch64 ] && arch=arm64
own=$arch
deb=no
sign=no
level=22
out=$root/build/release
release=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json")
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=$2; arguments+=("$1" "$2"); shift ;;
    -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
    --deb) deb=yes ;;
    --sign) sign=yes; arguments+=("$1" "${2:?--sign needs a file}"); shift ;;
    --level) level=$2; arguments+=("$1" "$2"); shift ;;
    --out) out=$2; arguments+=("$1" "$2"); shift ;;
    --release) release=$2; arguments+=("$1" "$2"); shift ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

[ "$sign" = no ] || exec "$root/scripts/dev.sh" node "$root/scripts/sign-file.ts" "${arguments[@]}"

if [ "$arch" = arm64 ] && [ "$own" != arm64 ] && ! command -v aarch64-linux-gnu-g++ >/dev/null; then
  echo 'build-release: installing the Debian package g++-aarch64-linux-gnu' >&2
  as_root apt-get update -qq >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++-aarch64-linux-gnu >&2
fi

"$root/scripts/dev.sh" node "$root/scripts/build-release.ts" "${arguments[@]}"
[ "$deb" = no ] || "$root/scripts/build-deb.sh" "$out/turnstone-$release-linux-$arch" "$arch" "$level"
