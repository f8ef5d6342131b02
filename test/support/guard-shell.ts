/**
 * The real boot guard, run again and again by one shell. Each run is a process of its own, but none of them begins by starting a program: a test
 * process of many megabytes is slow to leave, and most of a run's time are the dozens of `sed` that look for one line in a file of four.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const GUARD = join(import.meta.dirname, '../../systemd/boot-guard');

/** Replaces `sed` for the guard, in the shell's own words: `-n 1p`, and `-n s/^KEY=//p [FILE]`. Anything else is still the program's. */
export const SED = `
sed_line() {
  while IFS= read -r sed_read || [ -n "$sed_read" ]; do
    case $sed_read in "$1="*) printf '%s\\n' "\${sed_read#*=}" ;; esac
  done
}
sed() {
  case "$1 $2" in
    '-n 1p') IFS= read -r sed_read && printf '%s\\n' "$sed_read" ;;
    '-n s/^'[a-z]*'=//p')
      sed_key=\${2#s/^}
      if [ -n "\${3:-}" ]; then sed_line "\${sed_key%%=*}" <"$3"; else sed_line "\${sed_key%%=*}"; fi
      ;;
    *) command sed "$@" ;;
  esac
}`;

/** Reads three lines for each run: the root, the guard's command, and EXIT_STATUS with SERVICE_RESULT; prints the exit code. */
const SERVER = `
guard=$1
usual=$PATH
${SED}
while read -r TURNSTONE_ROOT && read -r turn && read -r EXIT_STATUS SERVICE_RESULT; do
  export TURNSTONE_ROOT EXIT_STATUS SERVICE_RESULT
  PATH=$TURNSTONE_ROOT/bin:$usual
  (set -- "$turn"; . "$guard") </dev/null 2>/dev/null
  echo $?
done`;

interface Shell {
  readonly child: ChildProcess;
  /** The first is of the run that was asked for first. */
  readonly waiting: ((exitCode: number) => void)[];
}

let shell: Shell | undefined;

/**
 * @param ended what systemd says of a stop: EXIT_STATUS, and SERVICE_RESULT behind a blank.
 * @throws when the guard ended with anything but 0, which would keep the agent from starting.
 */
export async function runGuard(root: string, command: string, ended = ''): Promise<void> {
  shell ??= startShell();
  const { child, waiting } = shell;
  child.stdin?.write(`${root}\n${command}\n${ended}\n`);
  const exitCode = await new Promise<number>((resolve) => waiting.push(resolve));
  if (exitCode !== 0) throw new Error(`the boot guard ended with ${exitCode}`);
}

function startShell(): Shell {
  const child = spawn('sh', ['-c', SERVER, 'guards', GUARD], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: Shell['waiting'] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(Number(line)));
  void once(child, 'exit').then(() => {
    for (const tell of waiting.splice(0)) tell(-1);
    shell = undefined;
  });
  // It ends when this process does.
  child.unref();
  return { child, waiting };
}
