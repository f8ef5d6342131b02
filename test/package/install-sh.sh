# A machine where install.sh was first.
. /media/checks.sh

/media/first/install.sh --no-start
configure
mkdir -p /etc/systemd/system/turnstone.service.d
echo '[Service]' >/etc/systemd/system/turnstone.service.d/mine.conf

# --- the package is newer: it takes over what install.sh has put there
dpkg -i "$(deb 1.0.0)"
is current releases/1.0.0 "$(current)"
is 'the release' /usr/lib/turnstone "$(readlink /opt/turnstone/releases/1.0.0)"
is 'the way back' 1.0.0-rc1 "$(/opt/turnstone/releases/1.0.0-rc1/turnstone --version)"
is 'the guard' /usr/lib/turnstone/guard "$(readlink /opt/turnstone/guard)"
for gone in /etc/systemd/system/turnstone.service /etc/udev/rules.d/70-turnstone.rules /etc/sysusers.d/turnstone.conf /usr/local/bin/turnstone; do
  [ ! -e "$gone" ] || fail "$gone hides what is the package's"
done
is 'the enabled unit' /usr/lib/systemd/system/turnstone.service "$(realpath /etc/systemd/system/multi-user.target.wants/turnstone.service)"
[ -e /etc/systemd/system/turnstone.service.d/mine.conf ] || fail 'a drop-in of a person is gone'
grep -q a-token /etc/turnstone/turnstone.yaml || fail 'the configuration was replaced'
is_whole

# --- the same version by both: the other build stays as the way back
dpkg --purge turnstone
/media/first/install.sh --no-start
dpkg -i "$(deb 1.0.0~rc1)"
is current releases/1.0.0-rc1 "$(current)"
is 'the release' /usr/lib/turnstone "$(readlink /opt/turnstone/releases/1.0.0-rc1)"
is history '1.0.0-rc1+kept ' "$(history)"
is_whole

# --- what install.sh has installed is newer
dpkg --purge turnstone
/media/next/install.sh --no-start
refuses 'release 2.0.0, which install.sh has installed here, is newer than this package' dpkg -i "$(deb 1.0.0)"
is current releases/2.0.0 "$(current)"
is 'what runs' 2.0.0 "$(/usr/local/bin/turnstone --version)"
