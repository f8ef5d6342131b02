/**
 * How long an actuator command takes while every sync of the outbox hangs for two seconds: the time from the request on a socket to the reply,
 * with the actuator's line written through a thread of the pool in between, as sysfs and serial lines are. The process is slowed from
 * outside, in the thread that syncs, as by a card that hangs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/host/clock.ts';
import { slowSync } from '../../support/slow-sync.ts';
import { Corpus } from '../corpus.ts';
import { inFolder, median, nextBatch, openBenchOutbox } from './bench-outbox.ts';

const SYNC_MS = 2_000;
const RUNS = 5;
/** Commands of one run, which lasts as long as two syncs. */
const COMMANDS = 40;
const BETWEEN_COMMANDS_MS = 100;
/** Until the first append got through: by then the folder, the table of boots and the first segment each had their syncs. */
const FIRST_APPEND_WITHIN_MS = 60_000;

export interface CommandDelay {
  /** The slowest of a run's commands, median of the runs. */
  readonly commandDelayMs: number;
  /** How long a commit took meanwhile: the proof that syncs did hang. */
  readonly appendMs: number;
}

export async function measureCommandDelay(): Promise<CommandDelay> {
  return inFolder(async (folder) => {
    const socketPath = join(folder, 'commands.sock');
    const env = { ...process.env, ...(await slowSync(folder, SYNC_MS)) };
    const child = spawn(process.execPath, [import.meta.filename, folder, socketPath], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(child.stdout, 'data');
      const socket = createConnection(socketPath);
      await once(socket, 'connect');
      const deadlineMs = systemClock.monotonicMs() + FIRST_APPEND_WITHIN_MS;
      while ((await ask(socket, 'appendMs')) === '0' && systemClock.monotonicMs() < deadlineMs)
        await delay(BETWEEN_COMMANDS_MS);
      const worst: number[] = [];
      for (let run = 0; run < RUNS; run += 1) worst.push(await slowestOf(socket));
      const appendMs = Number(await ask(socket, 'appendMs'));
      socket.destroy();
      return { commandDelayMs: median(worst), appendMs };
    } finally {
      child.kill('SIGKILL');
    }
  });
}

async function slowestOf(socket: Socket): Promise<number> {
  let slowest = 0;
  for (let command = 0; command < COMMANDS; command += 1) {
    const started = systemClock.monotonicMs();
    await ask(socket, 'set');
    slowest = Math.max(slowest, systemClock.monotonicMs() - started);
    await delay(BETWEEN_COMMANDS_MS);
  }
  return slowest;
}

async function ask(socket: Socket, line: string): Promise<string> {
  socket.write(`${line}\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString().trim();
}

/** The slowed process: appends all the time, delivers, and serves commands. */
async function serve(folder: string, socketPath: string): Promise<void> {
  const outbox = await openBenchOutbox(join(folder, 'outbox'), { commitAgeMs: 100 });
  const corpus = new Corpus(systemClock.bootId);
  let appendMs = 0;
  const append = async (): Promise<void> => {
    const started = systemClock.monotonicMs();
    await outbox.append(corpus.entries(10));
    appendMs = Math.max(appendMs, systemClock.monotonicMs() - started);
  };
  setInterval(() => void append(), 50);
  outbox.onAppended(
    () =>
      void nextBatch(outbox, { maxEntries: 2_000, maxBytes: 256_000 }).then(
        (batch) => batch && outbox.acknowledge(batch),
      ),
  );
  const server = createServer((socket) => {
    socket.on('data', (line) => {
      if (line.toString().trim() === 'appendMs') socket.write(`${Math.round(appendMs)}\n`);
      else void writeFile(join(folder, 'line-value'), '1').then(() => socket.write('done\n'));
    });
  });
  server.listen(socketPath, () => console.log('ready'));
}

if (import.meta.main) await serve(process.argv[2] ?? '', process.argv[3] ?? '');
