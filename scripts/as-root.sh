# Sourced: as_root CMD [ARG…] runs a command as root, or says which one a person has to run, where sudo asks for a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"
  else
    printf 'this needs root, and sudo is not there or asks for a password; run it yourself, and then this again:\n  sudo %s\n' "$*" >&2
    return 1
  fi
}
