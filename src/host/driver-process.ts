/**
 * Process for one driver of a user's own: a Node without the agent's environment and files, with one socket to the agent. A driver that stands in a
 * native call or a loop holds up nothing but itself, and is killed. It ends with its socket; one that stands too ends with the service's cgroup.
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { JsonLink } from './json-link.ts';

export interface DriverProcess {
  readonly link: JsonLink;
  readonly pid: number | undefined;
  /** Resolves when the process has ended, or could not be started. */
  readonly ended: Promise<void>;
  /** SIGKILL. Idempotent. */
  kill(): void;
}

/** Of one message: a port's largest piece, or readings of hundreds of keys. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
const LINK = 3;
/** As scripts/launcher.sh has them for the agent. */
const LEAN = ['--max-semi-space-size=1', '--max-old-space-size=64', '--v8-pool-size=1', '--liftoff-only', '--no-sparkplug', '--no-maglev'];

/** A bundle has the driver's side beside its main file, a checkout among the sources. */
export function driverEntry(): string {
  const here = import.meta.filename;
  return here.endsWith('.ts') ? join(dirname(here), '../sensors/module/child.ts') : join(dirname(here), 'module-driver.mjs');
}

export function startDriverProcess(entry = driverEntry()): DriverProcess {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8', TZ } = process.env;
  const env = { PATH, LANG, ...(TZ !== undefined && { TZ }) };
  // What it prints goes to the journal, beside the agent's own lines.
  const child = spawn(process.execPath, [...LEAN, entry], { stdio: ['ignore', 2, 2, 'pipe'], env });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  return { link: new JsonLink(child.stdio[LINK] as Socket, MAX_MESSAGE_BYTES), pid: child.pid, ended, kill };
}
