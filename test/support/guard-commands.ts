/** The real boot guard as one process, with its real commands or with counted ones, so that it can be killed at any of them. */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GUARD, SED } from './guard-shell.ts';

const COMMANDS = ['sync', 'mv', 'rm', 'ln', 'readlink', 'dd', 'mkdir', 'cp', 'cat', 'sha256sum', 'date'];

/** Functions in the place of the commands: they count, and kill the guard and all that it started at one of them. */
const COUNTING = `
${SED.replace(/^sed\(\)/m, 'own_sed()')}
at_command() {
  echo "$1" >>"$TURNSTONE_ROOT/commands"
  count_read=0
  while read -r _; do count_read=$((count_read + 1)); done <"$TURNSTONE_ROOT/commands"
  [ "$DIE_AT" = 0 ] || [ "$count_read" -lt "$DIE_AT" ] || kill -9 0
}
sed() { at_command sed; own_sed "$@"; }
systemctl() { at_command systemctl; }
# What it runs is counted, too.
timeout() { at_command timeout; shift; "$@"; }
${COMMANDS.map((name) => `${name}() { at_command ${name}; command ${name} "$@"; }`).join('\n')}
guard=$1
shift
. "$guard"`;

/** A guard with its real commands, each a program; or, with their number, with counted ones, killed at one of them, at 0 at none. */
export async function guardAlone(
  root: string,
  command: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  await rm(join(root, 'commands'), { force: true });
  const child = spawn(
    'sh',
    environment.DIE_AT === undefined ? [GUARD, command] : ['-c', COUNTING, 'counting', GUARD, command],
    {
      detached: true,
      stdio: 'ignore',
      env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, TURNSTONE_ROOT: root, ...environment },
    },
  );
  await new Promise((resolve) => child.once('exit', resolve));
}
