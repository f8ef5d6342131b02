#!/bin/sh
# Puts completions where each shell looks for them: completions.sh FROM PACKAGE-ROOT. A release without any is none the worse.
set -eu
[ -d "$1" ] || exit 0
put() { # put FILE TO
  [ ! -f "$1" ] || install -D -m 644 "$1" "$2"
}
for name in turnstone.bash turnstone; do put "$1/$name" "$2/usr/share/bash-completion/completions/turnstone"; done
for name in turnstone.zsh _turnstone; do put "$1/$name" "$2/usr/share/zsh/vendor-completions/_turnstone"; done
put "$1/turnstone.fish" "$2/usr/share/fish/vendor_completions.d/turnstone.fish"
