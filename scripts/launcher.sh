#!/bin/sh
# Starts the agent of the release this file lies in. No process but Node comes of it: systemd watches the right one.
case $0 in
  /*) self=$0 ;;
  */*) self=$PWD/$0 ;;
  *) self=$(command -v "$0") ;;
esac
[ -L "$self" ] && self=$(readlink -f "$self")
here=${self%/*}

# A code cache is code: only a folder that belongs to who runs this is taken, so that root never loads what the service wrote.
cache=${CACHE_DIRECTORY:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/turnstone}
cache=${cache%%:*}
unset NODE_COMPILE_CACHE
if mkdir -p "$cache/compile" 2>/dev/null && [ -O "$cache" ] && [ -O "$cache/compile" ]; then
  export NODE_COMPILE_CACHE="$cache/compile"
fi

# What each saves of 106 MB resident, measured: two malloc arenas that give memory back early, 10 MB; WebAssembly (undici's HTTP parser)
# compiled once and simply, 9 MB; neither of the two middle compilers, 3 MB; a small young generation and one helper thread, the rest. And what is
# no longer used is collected before the heap grows: 6 MB after a quarter of an hour, for 0.12 % of a core.
export MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=65536
# A disk that hangs holds up to five threads: two of the outbox, one of the journal, two of state files. A relay over sysfs needs one more.
export UV_THREADPOOL_SIZE=8
node=$here/node
[ -x "$node" ] || node=node
exec "$node" --max-semi-space-size=1 --max-old-space-size=64 --v8-pool-size=1 --liftoff-only --no-sparkplug --no-maglev --optimize-for-size \
  "$here/main.mjs" "$@"
