/**
 * A program for the guest: opens an outbox on the disk under test, delivers what an earlier life left, then appends and delivers until
 * it is cut off. The far end of its socket is the platform and the witness; a line is answered before anything is built on it.
 *
 *   drained                       all that was there has been delivered
 *   appending [first, last]       from here on these may exist
 *   resolved  [first, last]       their append has resolved
 *   delivered [numbers]           then they are acknowledged
 */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { OutboxConfig } from '../../../src/config/schema/agent-config.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { Outbox } from '../../../src/outbox/outbox.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';
import { numberedEntry, numberOf } from '../numbered-entries.ts';

export interface AppendRun {
  readonly folder: string;
  /** The first number that was never used. */
  readonly from: number;
  /** Stop by itself after so many appends. */
  readonly appends?: number;
  /** The witness's address; without one nothing is delivered. */
  readonly witness?: { readonly host: string; readonly port: number };
  /** A dm-log-writes device that is told of each resolved append. */
  readonly markOn?: string;
}

const LANES = ['alarm', 'live', 'backlog'] as const;
const LIMITS = { maxEntries: 500, maxBytes: 65_536 };
const MAX_ENTRIES_AT_ONCE = 20;

/** Small segments and quick commits, so that every kind of write happens often; the time of day counts as known. */
export const SMALL_SEGMENTS: OutboxConfig = {
  ...DEFAULT_OUTBOX_SETTINGS,
  commitAgeMs: 50,
  maxBytes: 4_000_000,
  retain: { forMs: 86_400_000, bytes: 500_000 },
  minFreeBytes: 0,
};
export const KNOWN_TIME = { isSynchronised: () => true, onChange: () => () => {} };

export async function openOutbox(folder: string): Promise<Outbox> {
  const deps = {
    folder,
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
    settings: SMALL_SEGMENTS,
    timeSync: KNOWN_TIME,
  };
  return await Outbox.open(deps, AbortSignal.timeout(30_000));
}

/** Delivers everything that waits; returns how many entries that were. */
export async function deliverAll(
  outbox: Outbox,
  deliver: (numbers: readonly number[]) => Promise<void>,
): Promise<number> {
  let count = 0;
  for (const lane of LANES) {
    for (let batch = await outbox.peek(lane, LIMITS); batch !== undefined; batch = await outbox.peek(lane, LIMITS)) {
      await deliver([...batch.entries].map(numberOf));
      await outbox.acknowledge(batch);
      count += batch.entries.length;
    }
  }
  return count;
}

async function appendUntilCut({
  folder,
  from,
  appends = Number.POSITIVE_INFINITY,
  witness,
  markOn,
}: AppendRun): Promise<void> {
  const tell = witness === undefined ? async (): Promise<void> => {} : await connectWitness(witness);
  const outbox = await openOutbox(folder);
  await deliverAll(outbox, (numbers) => tell('delivered', numbers));
  await tell('drained', []);
  let next = from;
  for (let append = 0; append < appends; append += 1) {
    const count = 1 + ((append * 7) % MAX_ENTRIES_AT_ONCE);
    const numbers = Array.from({ length: count }, (_, index) => next + index);
    next += count;
    const range = [numbers[0] ?? 0, numbers.at(-1) ?? 0];
    await tell('appending', range);
    await outbox.append(numbers.map((number) => numberedEntry(number, systemClock)));
    await tell('resolved', range);
    if (markOn !== undefined) execFileSync('dmsetup', ['message', markOn, '0', 'mark', `resolved-${range.join('-')}`]);
    if (witness !== undefined && append % 3 === 0)
      await deliverAll(outbox, (delivered) => tell('delivered', delivered));
  }
  await outbox.close();
}

async function connectWitness(address: { readonly host: string; readonly port: number }) {
  const socket = connect(address);
  await once(socket, 'connect');
  const answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  return async (word: string, numbers: readonly number[]): Promise<void> => {
    socket.write(`${JSON.stringify({ word, numbers })}\n`);
    if ((await answers.next()).done) throw new Error('the witness is gone');
  };
}

if (import.meta.main) {
  await appendUntilCut(JSON.parse(process.argv[2] ?? '{}') as AppendRun);
  process.exit(0);
}
