/**
 * Process for one driver of a user's own: a Node without the agent's environment and files, with one socket to the agent. A driver that stands in a
 * native call or a loop holds up nothing but itself, and is killed. It ends with its socket; one that stands too ends with the service's cgroup.
 */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from './clock.ts';
import { JsonLink } from './json-link.ts';

export interface DriverProcess {
  readonly link: JsonLink;
  readonly pid: number | undefined;
  /** Resolves when the process has exited or could not be started: in words, with its exit code or signal. */
  readonly exited: Promise<string>;
  /** Resolves when the process has ended and what it printed is told, or when it could not be started. */
  readonly ended: Promise<void>;
  /** Calls back with what it prints, in pieces of at most 64 kB and ten a second; until then it waits to be read. */
  onPrint(listener: (text: string) => void): void;
  /** SIGKILL. Idempotent. */
  kill(): void;
}

/** Largest message: a port's largest piece, or readings of hundreds of keys. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
const LINK = 3;
/** A driver that prints without end waits itself, and leaves the agent its time. */
const NEXT_PIECE_AFTER_MS = 100;
/** As scripts/launcher.sh has them for the agent. */
const LEAN = [
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
  '--v8-pool-size=1',
  '--liftoff-only',
  '--no-sparkplug',
  '--no-maglev',
];

/** A bundle has the driver's side beside its main file, a checkout among the sources. */
export function driverEntry(): string {
  const here = import.meta.filename;
  return here.endsWith('.ts')
    ? join(dirname(here), '../sensors/module/child.ts')
    : join(dirname(here), 'module-driver.mjs');
}

export function startDriverProcess(clock: Pick<Clock, 'after'>, entry = driverEntry()): DriverProcess {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8', TZ } = process.env;
  const env = { PATH, LANG, ...(TZ !== undefined && { TZ }) };
  const child = spawn(process.execPath, [...LEAN, entry], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env });
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `its process ended with exit code ${code}` : `its process was ended by ${signal}`),
    );
    child.once('error', ({ message }) => resolve(`its process cannot be started: ${message}`));
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  const onPrint = (listener: (text: string) => void): void => {
    for (const stream of [child.stdout, child.stderr] as Readable[]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        stream.pause();
        clock.after(NEXT_PIECE_AFTER_MS, () => stream.resume());
        listener(text);
      });
      child.once('exit', () => stream.resume());
    }
  };
  return {
    link: new JsonLink(child.stdio[LINK] as Socket, MAX_MESSAGE_BYTES),
    pid: child.pid,
    exited,
    ended,
    onPrint,
    kill,
  };
}
