#!/bin/bash
# Prepares a freshly written Raspberry Pi OS card, so that the agent is there at its first boot:
#   prepare-card.sh BOOT-PARTITION --package FILE.deb|REPO-FOLDER (--url URL --token-file FILE | --config turnstone.yaml)
#                   [--ssid NAME --wifi-key-file FILE] [--country DE]
# A provisioning file is a --config. Where the imager has left a firstrun.sh of its own, that runs too.
set -euo pipefail
die() { printf 'prepare-card: %s\n' "$*" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
boot=${1:-}
[ -f "$boot/cmdline.txt" ] || die 'the first word is the boot partition of the card, the folder with cmdline.txt'
shift
package='' url='' token='' config='' ssid='' key='' country=''
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || die "$1 needs a value"
  case $1 in
    --package) package=$2 ;;
    --url) url=$2 ;;
    --token-file) token=$(head -n 1 "$2") ;;
    --config) config=$2 ;;
    --ssid) ssid=$2 ;;
    --wifi-key-file) key=$(head -n 1 "$2") ;;
    --country) country=$2 ;;
    *) die "unknown option $1" ;;
  esac
  shift 2
done
[ -e "$package" ] || die '--package: a .deb, or the folder that npm run repo has made'
[ -n "$config" ] || { [ -n "$url" ] && [ -n "$token" ]; } || die 'either --config, or --url and --token-file'
case $url in *[\"\\]*) die '--url holds a quotation mark or a backslash' ;; esac

target=$boot/turnstone
rm -rf "$target"
mkdir -p "$target"
cp "$here/first-boot.sh" "$target/"
if [ -d "$package" ]; then cp -rL "$package" "$target/repo"; else cp "$package" "$target/"; fi
[ -z "$config" ] || cp "$config" "$target/turnstone.yaml"
printf '%s=%s\n' url "$url" token "$token" ssid "$ssid" wifi-key "$key" country "$country" >"$target/settings"
if [ -f "$boot/firstrun.sh" ]; then
  # Before its last lines, which remove it and end it.
  grep -q turnstone/first-boot.sh "$boot/firstrun.sh" ||
    sed -i '0,/^rm -f .*firstrun\.sh/s//bash "$(dirname "$(readlink -f "$0")")\/turnstone\/first-boot.sh"\n&/' "$boot/firstrun.sh"
  grep -q turnstone/first-boot.sh "$boot/firstrun.sh" || die "$boot/firstrun.sh is not of the imager's form; call turnstone/first-boot.sh in it by hand"
else
  where=/boot/firmware
  sed -i "1s|\$| systemd.run=$where/turnstone/first-boot.sh systemd.run_success_action=reboot systemd.unit=kernel-command-line.target|" "$boot/cmdline.txt"
fi
sync
echo 'the card is prepared: put it into the Pi and switch it on. It starts twice; after that the agent runs'
