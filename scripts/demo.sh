#!/usr/bin/env bash
# A local platform, a simulated board and the agent, live in this terminal; --help says what can be asked of it.
exec "$(dirname "${BASH_SOURCE[0]}")/dev.sh" node "$(dirname "${BASH_SOURCE[0]}")/demo.ts" "$@"
