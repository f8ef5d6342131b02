#!/usr/bin/env bash
# Installs what tests need from Debian when it is missing and this is root on a machine with apt: a chromium without windows (the whole one where
# Debian does not have that yet) for the pages, tmux for the journeys, mosquitto for the MQTT campaign, and the small
# programs of docs/drivers.md for its recipes. Without them those tests are skipped, and say so.
set -uo pipefail
has_chromium() { [ -x /usr/bin/chromium-headless-shell ]; }
has_tmux() { command -v tmux >/dev/null; }
has_mosquitto() { [ -x /usr/sbin/mosquitto ]; }
has_drivers() { [ -x /usr/bin/rtl_433 ] && [ -x /usr/bin/candump ] && [ -x /usr/sbin/snmpd ] && [ -x /usr/bin/snmpget ]; }
has_chromium && has_tmux && has_mosquitto && has_drivers && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  has_chromium || [ -x /usr/bin/chromium ] || echo 'set-up: no chromium, and only root can install it: the page tests will be skipped' >&2
  has_tmux || echo 'set-up: no tmux, and only root can install it: the journeys will be skipped' >&2
  has_mosquitto || echo 'set-up: no mosquitto, and only root can install it: the MQTT campaign will be skipped' >&2
  has_drivers || echo 'set-up: no rtl_433, candump or snmpd, and only root can install them: their recipes will be skipped' >&2
  exit 0
fi
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }
log=$(mktemp)
apt-get update >"$log" 2>&1
if ! has_chromium; then
  echo 'set-up: Debian package chromium-headless-shell, for the page tests' >&2
  if ! { install chromium-headless-shell fonts-dejavu-core || [ -x /usr/bin/chromium ] || install chromium fonts-dejavu-core; } >>"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo 'set-up: chromium could not be installed: the page tests may be skipped' >&2
  fi
fi
if ! has_tmux; then
  echo 'set-up: Debian package tmux, for the journeys' >&2
  install tmux >>"$log" 2>&1 || echo 'set-up: tmux could not be installed: the journeys will be skipped' >&2
fi
if ! has_mosquitto; then
  echo 'set-up: Debian package mosquitto, for the MQTT campaign' >&2
  # Its service is not for tests, which run it by themselves.
  install mosquitto >>"$log" 2>&1 || echo 'set-up: mosquitto could not be installed: the MQTT campaign will be skipped' >&2
fi
if ! has_drivers; then
  echo 'set-up: Debian packages rtl-433, can-utils, snmpd and snmp, for the recipes of drivers' >&2
  # Their services are not for tests, which run them by themselves. gpsd-clients brings a whole desktop: its recipe runs where somebody has installed it.
  install rtl-433 can-utils snmpd snmp >>"$log" 2>&1 || echo 'set-up: programs of drivers could not be installed: their recipes will be skipped' >&2
fi
rm -f "$log"
