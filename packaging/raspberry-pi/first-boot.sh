#!/bin/bash
# Runs once, as root, at the first boot of a Raspberry Pi OS card that prepare-card.sh has prepared: wifi, package, configuration.
# It takes all from the folder that it lies in, on the boot partition, and removes the secrets there. What it did: /var/log/turnstone-first-boot.log
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ -n "${TURNSTONE_FIRST_BOOT_QUIET:-}" ] || exec >>/var/log/turnstone-first-boot.log 2>&1
say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }
setting() { sed -n "s/^$1=//p" "$here/settings" 2>/dev/null | head -n 1; }
failed=no

wifi() {
  ssid=$(setting ssid) key=$(setting wifi-key) country=$(setting country)
  [ -n "$ssid" ] || return 0
  folder=/etc/NetworkManager/system-connections
  install -d -m 700 "$folder"
  (umask 077
    printf '[connection]\nid=turnstone\ntype=wifi\n\n[wifi]\nmode=infrastructure\nssid=%s\n\n' "$ssid"
    [ -z "$key" ] || printf '[wifi-security]\nkey-mgmt=wpa-psk\npsk=%s\n\n' "$key"
    printf '[ipv4]\nmethod=auto\n\n[ipv6]\nmethod=auto\n') >"$folder/turnstone.nmconnection"
  chmod 600 "$folder/turnstone.nmconnection"
  if [ -n "$country" ] && command -v raspi-config >/dev/null; then raspi-config nonint do_wifi_country "$country"; fi
  if command -v rfkill >/dev/null; then rfkill unblock wifi || true; fi
  say "wifi $ssid is set"
}

package() {
  if [ -d "$here/repo" ]; then
    install -d /usr/local/share/turnstone-repo
    cp "$here/repo/"* /usr/local/share/turnstone-repo/
    echo 'deb [trusted=yes] file:/usr/local/share/turnstone-repo ./' >/etc/apt/sources.list.d/turnstone.list
    # The other sources need a network, which may not be there yet.
    lists='-o Dir::Etc::SourceList=/etc/apt/sources.list.d/turnstone.list -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0'
    apt-get $lists update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends turnstone
  else
    DEBIAN_FRONTEND=noninteractive dpkg -i "$here"/turnstone_*.deb
  fi
}

configuration() {
  install -d -m 750 /etc/turnstone
  if [ -f "$here/turnstone.yaml" ]; then
    install -m 640 "$here/turnstone.yaml" /etc/turnstone/turnstone.yaml
  elif [ -n "$(setting url)" ]; then
    install -d -m 700 /etc/turnstone/credentials
    (umask 077; setting token >/etc/turnstone/credentials/token)
    cat >/etc/turnstone/turnstone.yaml <<YAML
# yaml-language-server: \$schema=./turnstone.schema.json
version: 1

platform:
  url: "$(setting url)"
  accessTokenCredential: turnstone_token

sensors:
  - name: machine
    kind: host
    period: 10s
YAML
  fi
}

wifi
configuration
package || { failed=yes; say 'the package was not installed; after the boot: sudo dpkg --configure -a, or install it by hand'; }
# Once only, and no secret stays where every computer can read the card.
rm -f "$here/settings" "$here/turnstone.yaml"
for line in "${here%/*}/cmdline.txt"; do
  [ ! -f "$line" ] || sed -i 's| systemd\.run[^ ]*||g; s| systemd\.unit=kernel-command-line\.target||' "$line"
done
[ "$failed" = yes ] || say 'turnstone is installed; it starts with the next boot'
exit 0
