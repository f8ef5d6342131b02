# A prepared card at its first boot, as far as that goes without a boot.
. /media/checks.sh

boot=/boot/firmware
mkdir -p "$boot"
echo a-token >/tmp/token
echo 'a wifi key' >/tmp/key
prepare() {
  echo 'console=tty1 root=PARTUUID=1-02 rootwait' >"$boot/cmdline.txt"
  bash /media/raspberry-pi/prepare-card.sh "$boot" "$@"
}
refuses 'either --config' prepare --package "$(deb 1.0.0)"

# --- a package, a token, wifi
prepare --package "$(deb 1.0.0)" --url http://127.0.0.1:9 --token-file /tmp/token --ssid 'a net' --wifi-key-file /tmp/key
grep -q ' systemd.run=/boot/firmware/turnstone/first-boot.sh ' "$boot/cmdline.txt" || fail 'the kernel is not told'
bash "$boot/turnstone/first-boot.sh"
cat /var/log/turnstone-first-boot.log
is 'what the kernel is told after' 'console=tty1 root=PARTUUID=1-02 rootwait' "$(cat "$boot/cmdline.txt")"
is 'what runs' 1.0.0 "$(turnstone --version)"
is 'the token' a-token "$(cat /etc/turnstone/credentials/token)"
is 'mode of the token' 600 "$(stat -c %a /etc/turnstone/credentials/token)"
is 'mode of the configuration' 'root:turnstone 640' "$(stat -c '%U:%G %a' /etc/turnstone/turnstone.yaml)"
is 'mode of the wifi' 600 "$(stat -c %a /etc/NetworkManager/system-connections/turnstone.nmconnection)"
is 'files with a secret on the card' '' "$(grep -rlE 'a-token|a wifi key' "$boot" || true)"
[ -e /etc/systemd/system/multi-user.target.wants/turnstone.service ] || fail 'the service is not enabled'
is_whole

# --- the imager's own script, and a repository folder
apt-get purge -y -qq turnstone
printf '#!/bin/bash\nset +e\ntouch /tmp/ran\nrm -f /boot/firmware/firstrun.sh\nexit 0\n' >"$boot/firstrun.sh"
printf 'version: 1\nplatform: { url: "http://127.0.0.1:9", accessToken: b-token }\nsensors: [{ name: machine, kind: host, period: 10s }]\n' >/tmp/turnstone.yaml
prepare --package /media/repo --config /tmp/turnstone.yaml
bash "$boot/firstrun.sh"
[ -e /tmp/ran ] || fail 'what the imager wants was not done'
is 'what runs' 1.0.0 "$(turnstone --version)"
grep -q b-token /etc/turnstone/turnstone.yaml || fail 'the configuration is not there'
[ ! -e "$boot/turnstone/turnstone.yaml" ] || fail 'the configuration is left on the card'
