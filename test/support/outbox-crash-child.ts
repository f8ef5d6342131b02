/**
 * The process that is killed: over each of its outboxes it appends as fast as it can and says so when an append resolved, and delivers to its
 * parent, who is the platform. Lines on stdout: `R` all open, `A <outbox> <first> <count>` appended and durable, `P <outbox> <value> <ts>` posted,
 * `D` all closed. Written at once, so that none is lost. The build that acknowledges first says `K <outbox>` when that is on the disk, and posts
 * once it has heard its number on stdin.
 */
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { type Clock, systemClock } from '../../src/host/clock.ts';
import { type Files, systemFiles } from '../../src/host/files.ts';
import type { Log } from '../../src/host/log.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { forgettingFiles } from './forgetting-files.ts';
import { DEFAULT_OUTBOX_SETTINGS } from './outbox-settings.ts';

export type CrashBuild = 'whole' | 'never-syncs' | 'acknowledges-first';

/** `power`: what was not synced dies with the process. `kill`: the kernel keeps it. */
export type CrashKind = 'power' | 'kill';

/** From the first value on each outbox takes its own, so many apart; without one they are only drained. */
const [folder = '', build = 'whole', kind = 'kill', outboxes = '1', firstValue = ''] = process.argv.slice(2);
const drainOnly = firstValue === '';
/** Not the log room's own, which would bring pino with it. */
const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** A second of housekeeping in 1 ms: the process lives for less than a tenth of one. */
const HASTE = 1_000;
const hastyClock: Clock = { ...systemClock, after: (ms, callback) => systemClock.after(ms / HASTE, callback) };
const LIMITS = { maxEntries: 200, maxBytes: 100_000 };
/** More than a life of an outbox uses: a value names one entry. */
const VALUES_EACH = 100_000;
const LANES = ['alarm', 'live', 'backlog'] as const;

/** Per outbox who waits for its next delivery state to be on the disk; and who waits for the platform. */
const onWritten = Array.from({ length: Number(outboxes) }, (): (() => void)[] => []);
const onAllowed = new Map<number, () => void>();
if (build === 'acknowledges-first') process.stdin.setEncoding('utf8').on('data', allow);

const opened = await Promise.all(Array.from({ length: Number(outboxes) }, (_none, index) => open(index)));
// A process that is killed would keep nothing of what it compiled.
flushCompileCache();
if (drainOnly) {
  for (const [index, outbox] of opened.entries()) {
    while (await deliver(index, outbox));
    await outbox.close();
  }
  say('D');
} else {
  say('R');
  for (const [index, outbox] of opened.entries()) {
    void append(index, outbox, Number(firstValue) + index * VALUES_EACH);
    // The platform of every other one is away while the process lives: the disk alone keeps its entries.
    if (index % 2 === 0 || build === 'acknowledges-first') void deliverAll(index, outbox);
  }
}

function open(index: number): Promise<Outbox> {
  return Outbox.open(
    {
      folder: join(folder, String(index)),
      // The last one has time. To the hasty one 3 ms are the 3 s for which a look into a lane waits for the disk.
      clock: drainOnly ? systemClock : hastyClock,
      log: silentLog,
      timeSync: { isSynchronised: () => true, onChange: () => () => {} },
      files: filesOf(index),
      // Small, so that segments are begun, sealed and unlinked in the short life of this process.
      settings: {
        ...DEFAULT_OUTBOX_SETTINGS,
        commitAgeMs: 3 * HASTE,
        maxBytes: 512 * 1024,
        retain: { forMs: 86_400_000, bytes: 64 * 1024 },
        minFreeBytes: 0,
      },
    },
    new AbortController().signal,
  );
}

function filesOf(index: number): Files {
  if (kind === 'power') return forgettingFiles(build === 'never-syncs' ? { broken: 'never-syncs' } : {});
  if (build !== 'acknowledges-first') return systemFiles;
  return {
    ...systemFiles,
    open: async (path, mode, options) => {
      const file = await systemFiles.open(path, mode, options);
      if (!basename(path).startsWith('delivered-')) return file;
      const write = async (bytes: Uint8Array, position: number): Promise<void> => {
        const waiting = onWritten[index]?.splice(0) ?? [];
        await file.write(bytes, position);
        for (const told of waiting) told();
      };
      return {
        write,
        read: (into, position) => file.read(into, position),
        datasync: () => file.datasync(),
        size: () => file.size(),
        truncate: (bytes) => file.truncate(bytes),
        close: () => file.close(),
      };
    },
  };
}

function allow(outboxes: string): void {
  for (const outbox of outboxes) onAllowed.get(Number(outbox))?.();
}

async function append(index: number, outbox: Outbox, first: number): Promise<void> {
  for (let value = first; ; ) {
    const count = 1 + (value % 7);
    const monotonicMs = systemClock.monotonicMs();
    const entryClass = value % 11 === 0 ? 'alarm' : 'regular';
    const own = { device: 'self', key: 'count', bootId: systemClock.bootId, monotonicMs, class: entryClass } as const;
    await outbox.append(Array.from({ length: count }, (_none, at) => ({ ...own, value: value + at })));
    say(`A ${index} ${value} ${count}`);
    value += count;
  }
}

async function deliverAll(index: number, outbox: Outbox): Promise<never> {
  for (;;) if (!(await deliver(index, outbox))) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function deliver(index: number, outbox: Outbox): Promise<boolean> {
  for (const lane of LANES) {
    const batch = await outbox.peek(lane, LIMITS);
    if (batch === undefined) continue;
    if (build === 'acknowledges-first') {
      const written = new Promise<void>((resolve) => onWritten[index]?.push(resolve));
      await outbox.acknowledge(batch);
      // A build that trusts its luck would let the state go to the disk while the platform is being asked.
      await written;
      const allowed = new Promise<void>((resolve) => onAllowed.set(index, resolve));
      say(`K ${index}`);
      await allowed;
    }
    say([...batch.entries].map(({ value, ts }) => `P ${index} ${value} ${ts}`).join('\n'));
    if (build !== 'acknowledges-first') await outbox.acknowledge(batch);
    return true;
  }
  return false;
}

function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      // A pipe that is full for a moment.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}
