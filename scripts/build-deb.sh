#!/usr/bin/env bash
# Makes a Debian package of a release that is built: scripts/build-deb.sh RELEASE-FOLDER VERSION x64|arm64
# It carries the compressed bundle alone (the unpacked release lies once on the disk, in /opt/turnstone), and its maintainer scripts hand
# it to install.sh, so that the same root helper installs it and `current` never moves to an older release. Two builds are the same bytes.
set -euo pipefail
folder=$1
version=$2
case $3 in x64) architecture=amd64 ;; arm64) architecture=arm64 ;; *) echo 'build-deb: x64 or arm64' >&2; exit 1 ;; esac
command -v dpkg-deb >/dev/null || { echo 'build-deb: dpkg-deb is needed' >&2; exit 1; }

package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
chmod 755 "$package"
install -d "$package/DEBIAN" "$package/usr/lib/turnstone" "$package/usr/share/doc/turnstone"
install -m 644 "$folder.tar.zst" "$package/usr/lib/turnstone/release.tar.zst"
install -m 755 "$folder/install.sh" "$package/usr/lib/turnstone/install.sh"
cat "$folder/LICENSE" "$folder/LICENSE.node" "$folder/LICENSES.txt" >"$package/usr/share/doc/turnstone/copyright"
chmod 644 "$package/usr/share/doc/turnstone/copyright"

cat >"$package/DEBIAN/control" <<CONTROL
Package: turnstone
Version: $(printf '%s' "$version" | sed 's/-/~/')
Architecture: $architecture
Maintainer: Turnstone maintainers <maintainers@turnstone.invalid>
Installed-Size: $(($(stat -c %s "$folder.tar.zst") / 1024))
Depends: libc6 (>= 2.28), libstdc++6, zstd
Recommends: systemd, udev
Section: net
Priority: optional
Description: device agent for Linux gateways
 Turns pins, buses and serial ports into telemetry that is never lost, and
 remote commands into actuator movements that happen once.
CONTROL

cat >"$package/DEBIAN/postinst" <<'POSTINST'
#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
lib=${TURNSTONE_ROOT:-}/usr/lib/turnstone
unpacked=$(mktemp -d "${TURNSTONE_ROOT:-}/var/tmp/turnstone.XXXXXX")
trap 'rm -rf "$unpacked"' EXIT
# The self-test runs as the service's own user.
chmod 755 "$unpacked"
zstd -dcq "$lib/release.tar.zst" | tar -x -C "$unpacked"
"$unpacked/install.sh"
POSTINST
cat >"$package/DEBIAN/prerm" <<'PRERM'
#!/bin/sh
set -e
[ "$1" = remove ] || exit 0
"${TURNSTONE_ROOT:-}/usr/lib/turnstone/install.sh" --uninstall
PRERM
cat >"$package/DEBIAN/postrm" <<'POSTRM'
#!/bin/sh
set -e
[ "$1" = purge ] || exit 0
root=${TURNSTONE_ROOT:-}
rm -rf "$root/etc/turnstone" "$root/var/lib/turnstone" "$root/var/lib/turnstone-guard" "$root/etc/systemd/system/turnstone.service.d"
[ -n "$root" ] || userdel turnstone 2>/dev/null || true
POSTRM
chmod 755 "$package"/DEBIAN/p*

# Of the bundle's own entries: the same day for every build.
export SOURCE_DATE_EPOCH=1577836800
find "$package" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Znone --build "$package" "$(dirname "$folder")/turnstone_${version}_$architecture.deb" >&2
