# From the first installation to the purge.
. /media/checks.sh

# --- installed by apt, out of the folder that `npm run repo` makes
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
cp /media/turnstone.list /etc/apt/sources.list.d/
apt-get update -qq
apt-get install -y -qq --no-install-recommends "turnstone=1.0.0~rc1"
is current releases/1.0.0-rc1 "$(current)"
is 'the release' /usr/lib/turnstone "$(readlink /opt/turnstone/releases/1.0.0-rc1)"
is 'what runs' 1.0.0-rc1 "$(turnstone --version)"
is 'owner of the runtime' 'turnstone: /usr/lib/turnstone/node' "$(dpkg -S /usr/lib/turnstone/node)"
is 'runtimes on the disk' 1 "$(find / -xdev -type f -size +50M -name node -not -path '/media/*' | wc -l)"
is 'mode of the settings' 'root:turnstone 750' "$(stat -c '%U:%G %a' /etc/turnstone)"
is 'mode of the credentials' 'root:root 700' "$(stat -c '%U:%G %a' /etc/turnstone/credentials)"
is 'mode of the configuration' 'root:turnstone 640' "$(stat -c '%U:%G %a' /etc/turnstone/turnstone.yaml)"
is 'mode of the state' 'turnstone:turnstone 750' "$(stat -c '%U:%G %a' /var/lib/turnstone)"
is groups 'turnstone dialout gpio i2c' "$(id -Gn turnstone | tr ' ' '\n' | sort | sed 's/^turnstone$/0turnstone/' | sort | sed 's/^0//' | tr '\n' ' ' | sed 's/ $//')"
for wanted in multi-user.target.wants/turnstone.service multi-user.target.wants/turnstone-helper.path timers.target.wants/turnstone-guard.timer; do
  [ -e "/etc/systemd/system/$wanted" ] || fail "$wanted is not enabled"
done
for name in sysfs-gpio-pwm turnstone-iio turnstone-can turnstone-bluetooth turnstone-input turnstone-usb; do
  [ -f "/usr/share/turnstone/$name.conf" ] || fail "the drop-in $name is not there"
done
dpkg-query -W -f '${Conffiles}' turnstone | grep -q /etc/turnstone/trusted-keys/release.pem || fail 'the key is no conffile'
is_whole

# --- the next version: what ran before is the way back, of the same bytes on the disk
configure
apt-get upgrade -y -qq
is current releases/1.0.0 "$(current)"
is 'what runs' 1.0.0 "$(turnstone --version)"
is 'the way back' 1.0.0-rc1 "$(/opt/turnstone/releases/1.0.0-rc1/turnstone --version)"
[ ! -L /opt/turnstone/releases/1.0.0-rc1 ] || fail 'the way back is a link'
is history '1.0.0-rc1 ' "$(history)"
grep -q a-token /etc/turnstone/turnstone.yaml || fail 'the configuration was replaced'
is_whole

# --- backwards only when told
refuses 'is newer than this package' dpkg -i "$(deb 1.0.0~rc1)"
is 'installed' 1.0.0 "$(dpkg-query -W -f '${Version}' turnstone)"
is current releases/1.0.0 "$(current)"
is_whole
TURNSTONE_ALLOW_DOWNGRADE=1 dpkg -i "$(deb 1.0.0~rc1)"
is current releases/1.0.0-rc1 "$(current)"
is 'the way back' 1.0.0 "$(/opt/turnstone/releases/1.0.0/turnstone --version)"
is_whole

# --- cut short between unpacking and configuring: what ran before is what starts
dpkg --unpack "$(deb 1.0.0)"
is current releases/1.0.0-rc1 "$(current)"
is 'what starts' 1.0.0-rc1 "$(/opt/turnstone/current/turnstone --version)"
dpkg --configure turnstone
is current releases/1.0.0 "$(current)"
is_whole

# --- the same again
dpkg -i "$(deb 1.0.0)"
is current releases/1.0.0 "$(current)"
is 'the release' /usr/lib/turnstone "$(readlink /opt/turnstone/releases/1.0.0)"
is_whole

# --- an update over the platform, its way back by the boot guard, and once more, confirmed
over_the_platform one 2.0.0 image
is current releases/2.0.0 "$(current)"
is_whole
for start in 1 2 3 4; do /opt/turnstone/guard/boot-guard starting; done
is "current after start $start" releases/1.0.0 "$(current)"
is_whole
over_the_platform two 2.0.0 image
is current releases/2.0.0 "$(current)"
# The package is replaced while its release is what the trial goes back to.
dpkg -i "$(deb 1.0.0)"
is current releases/2.0.0 "$(current)"
for start in 1 2 3 4; do /opt/turnstone/guard/boot-guard starting; done
is "current after start $start" releases/1.0.0 "$(current)"
over_the_platform three 2.0.0 image
echo id=three >/var/lib/turnstone/firmware/confirmed
/opt/turnstone/guard/boot-guard starting
is current releases/2.0.0 "$(current)"
is 'what runs' 2.0.0 "$(turnstone --version)"
is_whole
# The packaged release can be asked for again.
over_the_platform four 1.0.0 kept
is current releases/1.0.0 "$(current)"
is_whole

# --- the other installer
refuses 'the Debian package turnstone is installed here' /media/next/install.sh
refuses 'sudo apt remove turnstone' /media/next/install.sh --uninstall

# --- removed, installed again, purged
apt-get remove -y -qq turnstone
[ ! -e /opt/turnstone ] || fail '/opt/turnstone is left'
[ ! -e /usr/lib/turnstone ] || fail '/usr/lib/turnstone is left'
grep -q a-token /etc/turnstone/turnstone.yaml || fail 'the configuration is gone'
apt-get install -y -qq --no-install-recommends turnstone
is 'what runs' 1.0.0 "$(turnstone --version)"
[ -e /etc/systemd/system/multi-user.target.wants/turnstone.service ] || fail 'the service is not enabled again'
is_whole
apt-get purge -y -qq turnstone
is 'what is left' '' "$(find / -xdev -name '*turnstone*' -not -path '/media/*' -not -path '/proc/*' -not -path '/root/*' -not -path '/var/lib/apt/*' -not -path '/etc/apt/*' -not -path '/var/log/*' -not -path '/var/cache/*')"
