#!/bin/sh
# Installs Turnstone on this machine, out of an unpacked release or, from a checkout, out of what `npm run build` and build-release.sh made.
#   install.sh [--with NAME[,NAME]] [--no-start] [--allow-downgrade] [--trust-key FILE.pem]
#   install.sh --uninstall [--purge]
# --with opens the service's sandbox for what some kinds need, by drop-ins: sysfs, iio, can, bluetooth, input, usb. They stay when it runs again
# without. --with-sysfs is --with sysfs.
# Safe to run again: settings and data are kept, and nothing newer makes way for something older: neither `current` nor units, guard and
# helper, unless --allow-downgrade says so. Those three change only here, never by an update; what a person wants otherwise in a unit
# belongs in a drop-in (systemctl edit turnstone), which stays. TURNSTONE_ROOT installs into another file system root.
set -eu

root=${TURNSTONE_ROOT:-}
home=$root/opt/turnstone
settings=$root/etc/turnstone
state=$root/var/lib/turnstone
guard_state=$root/var/lib/turnstone-guard
units=$root/etc/systemd/system
here=$(cd "$(dirname "$0")" && pwd)
DROPINS='sysfs iio can bluetooth input usb'
UNITS='turnstone.service turnstone-helper.path turnstone-helper.service turnstone-guard.service turnstone-guard.timer'

say() { printf '%s\n' "$*"; }
die() { printf 'install: %s\n' "$*" >&2; exit 1; }

uninstall=no purge=no with='' start=yes trust='' adopt_options=''
while [ $# -gt 0 ]; do
  case $1 in
    --uninstall) uninstall=yes ;;
    --purge) purge=yes ;;
    --with) [ $# -ge 2 ] || die "--with needs a name: $DROPINS"; with="$with,$2"; shift ;;
    --with-sysfs) with=$with,sysfs ;;
    --no-start) start=no ;;
    --allow-downgrade) adopt_options=--allow-downgrade ;;
    --trust-key) [ $# -ge 2 ] || die '--trust-key needs a file'; trust=$2; shift ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) die "unknown option $1" ;;
  esac
  shift
done

dropin() { # dropin NAME: its file
  case $1 in sysfs) printf 'sysfs-gpio-pwm.conf' ;; *) printf 'turnstone-%s.conf' "$1" ;; esac
}
wanted=''
IFS=,
for name in $with; do
  case " $DROPINS " in *" $name "*) wanted="$wanted $name" ;; *) [ -z "$name" ] || die "--with: no $name; there is $DROPINS" ;; esac
done
unset IFS

[ "$(id -u)" = 0 ] || [ -n "$root" ] || die 'to be run by root: sudo ./install.sh'
# systemd runs here, and not only its tools in a container or an image.
live=no
[ -z "$root" ] && [ -d /run/systemd/system ] && live=yes

# Units, guard and helper have one owner.
if [ -e "$root/usr/lib/turnstone/manifest.json" ]; then
  if [ "$uninstall" = yes ]; then die 'the Debian package turnstone is what is installed here; remove it: sudo apt remove turnstone'; fi
  die 'the Debian package turnstone is installed here. As an update that can be taken back: sudo turnstone firmware install RELEASE.tar.zst;
  instead of the package: sudo apt remove turnstone (settings and data stay), then this again'
fi

remove() {
  if [ "$live" = yes ]; then
    systemctl disable --now turnstone.service turnstone-helper.path turnstone-guard.timer 2>/dev/null || true
    systemctl stop turnstone-trial.timer 2>/dev/null || true
  fi
  # Nothing is left that would end a trial: the file that is in place stays. Under the name of the way back another file is somebody's.
  staged=$settings/.turnstone.yaml.on-trial way_back=$settings/.turnstone.yaml.before-trial
  if cmp -s "$way_back" "$guard_state/configuration/before"; then rm -f "$way_back"; fi
  rm -f "$guard_state/configuration/state" "$staged" "$staged.tmp" "$way_back.tmp"
  for unit in $UNITS; do rm -f "$units/$unit" "$units/multi-user.target.wants/$unit" "$units/timers.target.wants/$unit"; done
  for name in $DROPINS; do rm -f "$units/turnstone.service.d/$(dropin "$name")"; done
  if [ "$purge" = yes ]; then rm -rf "$units/turnstone.service.d"; else rmdir "$units/turnstone.service.d" 2>/dev/null || true; fi
  rm -rf "$home" "$root/var/cache/turnstone"
  rm -f "$root/etc/udev/rules.d/70-turnstone.rules" "$root/etc/sysusers.d/turnstone.conf" "$root/usr/local/bin/turnstone"
  [ "$live" = no ] || systemctl daemon-reload
  if [ "$purge" = yes ]; then
    rm -rf "$state" "$guard_state" "$settings"
    if [ -z "$root" ]; then userdel turnstone 2>/dev/null || true; fi
    say 'removed, with configuration, credentials and data'
  else
    say "removed; configuration and data stay in $settings and $state (--purge removes them too)"
  fi
}
if [ "$uninstall" = yes ]; then
  remove
  exit 0
fi

# --- which release: this folder's own, or the newest that a checkout has built
if [ -f "$here/manifest.json" ]; then
  release=$here
else
  case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) die "no release is built for $(uname -m)" ;; esac
  checkout=$(dirname "$here")
  version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$checkout/package.json")
  release=$checkout/build/release/turnstone-$version-linux-$arch
  [ -f "$release/manifest.json" ] || die "nothing is built yet: run scripts/build-release.sh first"
fi
"$release/node" --version >/dev/null 2>&1 || die "the runtime of this release does not start on this machine ($(uname -m), $(uname -s))"
if [ -n "$trust" ]; then "$release/node" "$release/guard/root-helper.mjs" check-key "$trust" || die "$trust is not to be trusted"; fi

# --- user and groups
install -d -m 755 "$root/etc/sysusers.d" "$root/etc/udev/rules.d" "$units"
install -m 644 "$release/systemd/turnstone.sysusers" "$root/etc/sysusers.d/turnstone.conf"
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers ${root:+--root="$root"} "${root:-}/etc/sysusers.d/turnstone.conf"
elif [ -n "$root" ]; then
  # The other tools would make the users of this machine.
  die "users of another root ($root) are made by systemd-sysusers, which is not here"
else
  for group in gpio i2c dialout iio input plugdev; do getent group "$group" >/dev/null || groupadd --system "$group"; done
  id turnstone >/dev/null 2>&1 || useradd --system --user-group --home-dir /var/lib/turnstone --shell /usr/sbin/nologin turnstone
  usermod --append --groups gpio,i2c,dialout turnstone
fi
own() { # own OWNER MODE PATH…: by number, so that it holds for another root too
  numbers=$(sed -n "s/^${1%%:*}:[^:]*:\([0-9]*\):\([0-9]*\):.*/\1:\2/p" "$root/etc/passwd")
  [ "${1##*:}" != turnstone ] || [ "${1%%:*}" != root ] || numbers=0:$(sed -n 's/^turnstone:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")
  mode=$2
  shift 2
  [ "$(id -u)" != 0 ] || chown "$numbers" "$@"
  chmod "$mode" "$@"
}

# --- folders and settings; what a person has changed stays. What lies in the state folder is the service's own, and trusted for nothing:
# the agent makes its folders there itself, and no link in it is followed here.
install -d -m 755 "$home" "$guard_state" "$guard_state/configuration" "$guard_state/configuration/history"
install -d "$settings" "$settings/credentials" "$settings/trusted-keys" "$state"
own root:turnstone 750 "$settings"
own root:root 700 "$settings/credentials"
own root:root 755 "$settings/trusted-keys"
own turnstone:turnstone 750 "$state"
# A command that was run as root once has left files there that the service cannot write.
[ "$(id -u)" != 0 ] || find "$state/" -xdev -mindepth 1 -user 0 '(' -type d -o -links 1 ')' -execdir chown -h "$numbers" '{}' +
for file in turnstone.example.yaml provisioning.example.yaml turnstone.schema.json; do
  [ ! -f "$release/config/$file" ] || [ -e "$settings/$file" ] || install -m 644 "$release/config/$file" "$settings/$file"
done
fresh=no
if [ ! -e "$settings/turnstone.yaml" ]; then
  fresh=yes
  if [ -f "$settings/provisioning.example.yaml" ]; then cp "$settings/provisioning.example.yaml" "$settings/turnstone.yaml"
  elif [ -f "$settings/turnstone.example.yaml" ]; then cp "$settings/turnstone.example.yaml" "$settings/turnstone.yaml"; fi
fi
[ ! -e "$settings/turnstone.yaml" ] || own root:turnstone 640 "$settings/turnstone.yaml"
if [ -n "$trust" ]; then install -m 644 "$trust" "$settings/trusted-keys/$(basename "$trust" .pem).pem"
elif [ -f "$release/signing-key.pem" ] && [ -z "$(ls "$settings/trusted-keys")" ]; then
  install -m 644 "$release/signing-key.pem" "$settings/trusted-keys/release.pem"
  say 'updates signed by the key of this release are trusted from now on'
fi

# --- the release, through the same helper that updates use; then guard and units
current=$("$release/node" "$release/guard/root-helper.mjs" adopt "$release" $adopt_options) || die 'the release was not installed'
newest=no
cmp -s "$release/manifest.json" "$home/releases/$current/manifest.json" && newest=yes
[ "$newest" = yes ] || say 'the newer release stays, with its units, guard and helper; only what is missing is added'
put() { # put MODE FROM TO: whole or not at all; an older release replaces nothing
  if [ "$newest" = no ] && [ -e "$3" ]; then return 0; fi
  cp "$2" "$3.new"
  chmod "$1" "$3.new"
  mv -f "$3.new" "$3"
}
install -d -m 755 "$home/guard"
for file in boot-guard set-safe-states leave-identity narrow-devices; do put 755 "$release/guard/$file" "$home/guard/$file"; done
put 644 "$release/guard/root-helper.mjs" "$home/guard/root-helper.mjs"
for file in turnstone.example.yaml provisioning.example.yaml turnstone.schema.json; do
  [ ! -f "$release/config/$file" ] || put 644 "$release/config/$file" "$settings/$file"
done
# The guard's Node is another name of the release's file: no second 90 MB, and it stays when the release goes.
if ! [ "$home/releases/$current/node" -ef "$home/guard/node" ]; then
  ln -f "$home/releases/$current/node" "$home/guard/node.new" 2>/dev/null || cp "$home/releases/$current/node" "$home/guard/node.new"
  mv -f "$home/guard/node.new" "$home/guard/node"
fi
for unit in $UNITS; do put 644 "$release/systemd/$unit" "$units/$unit"; done
# One that is there is this release's too.
for name in $DROPINS; do
  file=$(dropin "$name")
  case " $wanted " in *" $name "*) ;; *) [ -e "$units/turnstone.service.d/$file" ] || continue ;; esac
  install -d -m 755 "$units/turnstone.service.d"
  put 644 "$release/systemd/$file" "$units/turnstone.service.d/$file"
done
put 644 "$release/systemd/70-turnstone.rules" "$root/etc/udev/rules.d/70-turnstone.rules"
install -d -m 755 "$root/usr/local/bin"
ln -sfn /opt/turnstone/current/turnstone "$root/usr/local/bin/turnstone"
sync

if [ "$live" = yes ]; then
  if command -v udevadm >/dev/null; then udevadm control --reload && udevadm trigger --subsystem-match=gpio --subsystem-match=i2c-dev --subsystem-match=tty --subsystem-match=pwm --subsystem-match=iio || true; fi
  systemctl daemon-reload
  systemctl enable turnstone.service turnstone-helper.path turnstone-guard.timer
  systemctl start turnstone-helper.path turnstone-guard.timer
  if [ "$start" = yes ] && [ "$fresh" = no ]; then systemctl restart turnstone.service; fi
fi
say "turnstone $current is installed in /opt/turnstone"
if [ "$fresh" = yes ]; then say 'next: edit /etc/turnstone/turnstone.yaml, then: sudo systemctl start turnstone'; fi
