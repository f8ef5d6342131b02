#!/usr/bin/env bash
# The slow tests of releases: built, installed, updated, packaged; and built for the other architecture and run under emulation.
# Installs the Debian packages it needs. A name filters: scripts/test-release.sh bundle
# Ends with one line: N passed, N failed, N skipped.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

. "$root/scripts/as-root.sh"

missing=()
command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
command -v zstd >/dev/null || missing+=(zstd)
command -v systemd-analyze >/dev/null || missing+=(systemd)
# Here, as two releases that are built side by side would each install them.
command -v dh_builddeb >/dev/null && command -v dpkg-buildpackage >/dev/null || missing+=(debhelper dpkg-dev)
if [ ${#missing[@]} -gt 0 ]; then
  echo "test-release: installing ${missing[*]}" >&2
  as_root apt-get update -qq >&2
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi
cd "$root"
mkdir -p build
rm -f build/tests-release.json
status=0
reporters=(--reporter=default --reporter=json --outputFile.json="$root/build/tests-release.json")
./scripts/dev.sh vitest run --config test/release/vitest.config.ts "${reporters[@]}" "$@" || status=$?
[ -s build/tests-release.json ] || { echo '0 passed, 1 failed, 0 skipped'; exit 1; }
./scripts/dev.sh node -p "const r=JSON.parse(fs.readFileSync('build/tests-release.json'));\`\${r.numPassedTests} passed, \${r.numFailedTests} failed, \${r.numPendingTests} skipped\`"
exit "$status"
