#!/bin/sh
# Starts the release that runs on this machine; before the package is configured, the package's own.
for release in /opt/turnstone/current /usr/lib/turnstone; do
  [ ! -x "$release/turnstone" ] || exec "$release/turnstone" "$@"
done
echo 'turnstone: no release is installed; install the package again: sudo apt reinstall turnstone' >&2
exit 1
