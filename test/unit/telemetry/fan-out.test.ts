import { beforeEach, describe, expect, it } from 'vitest';
import { EntryColumns } from '../../../src/outbox/format/entry-columns.ts';
import type { UploadAnswer } from '../../../src/platform/device-api.ts';
import { FanOut } from '../../../src/telemetry/fan-out.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const REFUSED: UploadAnswer = { kind: 'unauthorised', status: 401, text: 'no such token' };
const AWAY: UploadAnswer = { kind: 'busy', text: 'connection refused' };
const BROKEN: UploadAnswer = { kind: 'busy', status: 500, text: 'out of order' };

let clock: FakeClock;
let answers: Map<string, UploadAnswer>;
let slow: Set<string>;
let heldDevices: Set<string>;
let posted: Map<string, number[]>;
let moved: Map<string, number[]>;
let asked: string[];
let maxEntries: number;
let settling: string | undefined;

beforeEach(() => {
  clock = new FakeClock();
  [answers, slow, heldDevices, posted, moved, asked] = [new Map(), new Set(), new Set(), new Map(), new Map(), []];
  maxEntries = 100;
  settling = undefined;
});

function fanOut(): FanOut {
  return new FanOut({
    clock,
    limits: () => ({ maxEntries, maxBytes: 1_000_000 }),
    devices: {
      settling: () => settling,
      post: async (device, rows, signal) => {
        asked.push(device);
        if (slow.has(device)) {
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          return { kind: 'busy', text: 'timed out', cut: true };
        }
        const answer = answers.get(device) ?? ACCEPTED;
        if (answer.kind === 'accepted') posted.set(device, [...(posted.get(device) ?? []), ...rows.sequences]);
        return answer;
      },
    },
    held: {
      isHeld: (device) => heldDevices.has(device),
      move: async (device, rows) => {
        heldDevices.add(device);
        moved.set(device, [...(moved.get(device) ?? []), ...rows.sequences]);
      },
    },
  });
}

/** One entry of each device, again and again. */
function windowOf(devices: readonly string[], entries: number): EntryColumns {
  return EntryColumns.of(
    Array.from({ length: entries }, (_, row) => ({
      sequence: row + 1,
      device: devices[row % devices.length] as string,
      key: 'power',
      value: row,
      ts: 1_000 + row,
      class: 'regular' as const,
    })),
  );
}

const post = (window: EntryColumns, out = fanOut()): Promise<UploadAnswer> =>
  out.post(window, new AbortController().signal);

describe('a window', () => {
  it('goes to each of its devices, each with its own rows, in their order', async () => {
    expect(await post(windowOf(['a', 'b', 'c'], 9))).toEqual(ACCEPTED);
    expect(Object.fromEntries(posted)).toEqual({ a: [1, 4, 7], b: [2, 5, 8], c: [3, 6, 9] });
  });

  it('is posted in pieces of the size of a post', async () => {
    maxEntries = 2;
    await post(windowOf(['a', 'b'], 10));
    expect(asked.filter((device) => device === 'a')).toHaveLength(3);
    expect(posted.get('a')).toEqual([1, 3, 5, 7, 9]);
  });

  it('ends with what a refused device has in its own place', async () => {
    answers.set('b', REFUSED);
    expect(await post(windowOf(['a', 'b', 'c'], 9))).toEqual(ACCEPTED);
    expect(Object.fromEntries(moved)).toEqual({ b: [2, 5, 8] });
    expect([...posted.keys()]).toEqual(['a', 'c']);
  });

  it('of a single device that is refused ends there, too', async () => {
    answers.set('a', REFUSED);
    expect(await post(windowOf(['a'], 3))).toEqual(ACCEPTED);
    expect(moved.get('a')).toEqual([1, 2, 3]);
  });

  it('leaves a device at 500 behind where others pass, and stays where none does', async () => {
    answers.set('b', BROKEN);
    expect(await post(windowOf(['a', 'b'], 4))).toEqual(ACCEPTED);
    expect(moved.get('b')).toEqual([2, 4]);
    heldDevices.clear();
    moved.clear();
    answers.set('a', BROKEN);
    expect(await post(windowOf(['a', 'b'], 4))).toEqual(BROKEN);
    expect(moved.size).toBe(0);
  });

  it('does not try a device that has a place of its own', async () => {
    heldDevices.add('b');
    await post(windowOf(['a', 'b'], 4));
    expect(asked).toEqual(['a']);
    expect(moved.get('b')).toEqual([2, 4]);
  });

  it('is not tried while devices are being provisioned', async () => {
    settling = 'wait';
    expect(await post(windowOf(['a'], 1))).toMatchObject({ kind: 'busy', status: 0, text: 'wait' });
    expect(asked).toEqual([]);
  });
});

describe('while the platform is away', () => {
  it('nothing is moved, and few are asked', async () => {
    const devices = Array.from({ length: 100 }, (_, n) => `device${n}`);
    for (const device of devices) answers.set(device, AWAY);
    const out = fanOut();
    expect(await post(windowOf(devices, 200), out)).toEqual(AWAY);
    expect(asked.length).toBeLessThanOrEqual(8);
    asked = [];
    expect(await post(windowOf(devices, 200), out)).toEqual(AWAY);
    expect(asked).toHaveLength(1);
    expect(moved.size).toBe(0);
    answers.clear();
    expect(await post(windowOf(devices, 200), out)).toEqual(ACCEPTED);
    expect([...posted.values()].flat()).toHaveLength(200);
  });

  it('what had arrived before is not sent again', async () => {
    const out = fanOut();
    answers.set('b', { kind: 'portal', status: 302 });
    answers.set('c', AWAY);
    const first = await post(windowOf(['b', 'c'], 4), out);
    expect(first.kind).toBe('portal');
    answers.delete('c');
    answers.set('b', AWAY);
    // Now c passes, so that b is slower than others: it is moved.
    expect(await post(windowOf(['b', 'c'], 4), out)).toEqual(ACCEPTED);
    expect(posted.get('c')).toEqual([2, 4]);
    expect(moved.get('b')).toEqual([1, 3]);
  });
});

describe('a slow device', () => {
  it('is left behind after five seconds, and holds up nobody for longer', async () => {
    slow.add('b');
    const done = post(windowOf(['a', 'b', 'c'], 6));
    await clock.advance(4_999);
    expect(moved.size).toBe(0);
    expect([...posted.keys()]).toEqual(['a', 'c']);
    await clock.advance(1);
    expect(await done).toEqual(ACCEPTED);
    expect(moved.get('b')).toEqual([2, 5]);
  });

  it('is no slow line beside one that was slow for the moment', async () => {
    for (const device of ['b', 'c']) slow.add(device);
    const done = post(windowOf(['a', 'b', 'c'], 6));
    await clock.advance(4_999);
    slow.delete('c');
    await clock.advance(1);
    await clock.advance(5_000);
    expect(await done).toEqual(ACCEPTED);
    expect([...moved.keys()]).toEqual(['b']);
    expect(posted.get('c')).toEqual([3, 6]);
  });

  it('is a slow line where all are slow: the window may then take longer, and is smaller', async () => {
    for (const device of ['a', 'b']) slow.add(device);
    const out = fanOut();
    const first = post(windowOf(['a', 'b'], 4), out);
    await clock.advance(5_000);
    expect(await first).toMatchObject({ kind: 'busy', cut: true });
    const second = post(windowOf(['a', 'b'], 4), out);
    await clock.advance(9_999);
    expect(asked).toHaveLength(3);
    await clock.advance(1);
    expect(await second).toMatchObject({ kind: 'busy', cut: true });
    expect(moved.size).toBe(0);
  });
});
