#!/bin/sh
# Puts completions where each shell looks for them: completions.sh FROM PACKAGE-ROOT. A release without any is none the worse.
set -eu
[ -d "$1" ] || exit 0
put() { # put FILE TO
  [ ! -f "$1" ] || install -D -m 644 "$1" "$2"
}
put "$1/bash/turnstone" "$2/usr/share/bash-completion/completions/turnstone"
put "$1/zsh/_turnstone" "$2/usr/share/zsh/vendor-completions/_turnstone"
put "$1/fish/turnstone.fish" "$2/usr/share/fish/vendor_completions.d/turnstone.fish"
