# Read by the cases: what they look at. Each check ends the case with words.
set -eu
fail() { printf 'not so: %s\n' "$*" >&2; exit 1; }
is() { # is WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || fail "$1 is \"$3\", expected \"$2\""
}
current() { readlink /opt/turnstone/current; }
history() { tr '\n' ' ' </var/lib/turnstone-guard/history; }
is_whole() { # every file as dpkg has put it there
  found=$(dpkg -V turnstone 2>&1 | grep -v ' /usr/share/doc/' || true)
  is 'what dpkg -V tells' '' "$found"
  for release in /opt/turnstone/current /opt/turnstone/releases/*; do
    [ -x "$release/turnstone" ] || fail "$release leads nowhere"
  done
}
refuses() { # refuses WORDS COMMAND…
  words=$1
  shift
  if "$@" >/tmp/said 2>&1; then fail "$* was done"; fi
  grep -qF "$words" /tmp/said || { cat /tmp/said; fail "$* did not say: $words"; }
}
deb() { ls "/media/repo/turnstone_$1_"*.deb; }
configure() {
  cat >/etc/turnstone/turnstone.yaml <<YAML
version: 1
platform: { url: "http://127.0.0.1:9", accessToken: a-token }
sensors: [{ name: machine, kind: host, period: 10s }]
YAML
}
over_the_platform() { # over_the_platform ID VERSION SOURCE: the agent's request, and the root helper's answer
  install -d -o turnstone -g turnstone /var/lib/turnstone/firmware
  cp /media/next.tar.zst /var/lib/turnstone/firmware/image
  printf 'request=swap\nid=%s\nversion=%s\nsource=%s\n' "$1" "$2" "$3" >/var/lib/turnstone/firmware/request
  # The restart of the service fails here; the swap is done before.
  /opt/turnstone/guard/node /opt/turnstone/guard/root-helper.mjs request || true
}
