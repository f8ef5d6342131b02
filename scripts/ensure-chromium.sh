#!/usr/bin/env bash
# Installs Debian's chromium without windows when it is missing and this is root on a machine with apt; where Debian does not have that one
# yet, the whole chromium. Without either the page tests are skipped, and say so.
set -uo pipefail
[ -x /usr/bin/chromium-headless-shell ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  [ -x /usr/bin/chromium ] || echo 'set-up: no chromium, and only root can install it: the page tests will be skipped' >&2
  exit 0
fi
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$1" fonts-dejavu-core; }
echo 'set-up: Debian package chromium-headless-shell, for the page tests' >&2
log=$(mktemp)
if ! { apt-get update && { install chromium-headless-shell || [ -x /usr/bin/chromium ] || install chromium; }; } >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo 'set-up: chromium could not be installed: the page tests may be skipped' >&2
fi
rm -f "$log"
