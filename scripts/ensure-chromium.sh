#!/usr/bin/env bash
# Installs Debian's chromium when it is missing and this is root on a machine with apt. Without it the page tests are skipped, and say so.
set -uo pipefail
[ -x /usr/bin/chromium ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo 'set-up: no /usr/bin/chromium, and only root can install it: the page tests will be skipped' >&2
  exit 0
fi
echo 'set-up: Debian package chromium, for the page tests' >&2
log=$(mktemp)
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo 'set-up: chromium could not be installed: the page tests will be skipped' >&2
fi
rm -f "$log"
