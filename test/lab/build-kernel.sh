#!/usr/bin/env bash
# Builds the lab's kernel into the cache and prints its folder: test/lab/build-kernel.sh CACHE
# The folder is keyed by the source package's version and the fragment's hash, and holds bzImage, every module and the config. Two
# that ask at once build once; a build that was interrupted leaves nothing that looks finished.
set -euo pipefail

cache=$1
fragment=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/kernel.config

archive=$(ls -v /usr/src/linux-source-6.*.tar.xz 2>/dev/null | tail -n 1)
[ -n "$archive" ] || { echo 'lab: no linux-source package under /usr/src' >&2; exit 1; }
package=$(basename "$archive" .tar.xz)
version=$(dpkg-query -W -f '${Version}' "$package")
key=$(printf '%s' "$version" | tr -c '0-9A-Za-z.+-' _)-$(sha256sum "$fragment" | cut -c 1-16)
kernel=$cache/kernel-$key

mkdir -p "$cache"
exec 8>"$cache/kernel-$key.lock"
flock 8
if [ ! -e "$kernel/bzImage" ]; then
  started=$SECONDS
  echo "lab: building the kernel $version (once, some minutes)" >&2
  work=$cache/build-$key
  rm -rf "$work" "$kernel.new"
  mkdir -p "$work" "$kernel.new"
  # Sources of other architectures and of graphics drivers are a third of the tree; Kconfig files must stay.
  tar -xf "$archive" -C "$work" --strip-components=1 --exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/net/ethernet/*.[ch]' \
    --exclude='*/drivers/net/wireless/*.[ch]' --exclude='*/sound/*.[ch]' --exclude='*/arch/arm*/*.[chS]' --exclude='*/arch/*/*.dts*'
  {
    cd "$work"
    make tinyconfig
    scripts/kconfig/merge_config.sh -m .config "$fragment"
    make olddefconfig
    while IFS= read -r line; do
      grep -qx "$line" .config || echo "lab: this source has no $line" >&2
    done < <(grep '^CONFIG_' "$fragment")
    nice -n 15 make -j"${LAB_JOBS:-2}" bzImage modules
  } >"$work/build.log" || { tail -n 40 "$work/build.log" >&2; exit 1; }
  cp arch/x86/boot/bzImage .config "$kernel.new/"
  find . -name '*.ko' -exec cp -t "$kernel.new/" '{}' +
  cd "$cache"
  mv "$kernel.new" "$kernel"
  rm -rf "$work"
  echo "lab: kernel built in $((SECONDS - started)) s" >&2
fi
echo "$kernel"
