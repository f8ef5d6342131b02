/** Answers over all places that keep entries, of which one may have none. */
import { expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { type KeptOutbox, KeptPlaces, type UnreadPlace } from '../../../src/outbox/kept-places.ts';
import type { RejectedEntry, ResolvedEntry } from '../../../src/outbox/outbox.ts';

const { signal } = new AbortController();
const rejectedOf = (device: string, sequence: number): RejectedEntry => ({
  sequence,
  device,
  key: 'power',
  value: 1,
  ts: 5,
  class: 'regular',
  answer: '400',
  atMs: 7,
});

/** Place with these entries; with `fault` it gives its first one and fails. */
function place(name: string, entries: readonly RejectedEntry[], fault?: string) {
  const sent: RejectedEntry[] = [];
  const expectWhole = (): void => {
    if (fault !== undefined) throw new AgentError('outbox/not-open', fault, { recovery: 'retry' });
  };
  const outbox: KeptOutbox = {
    status: () => expect.fail('nobody asks'),
    async *read() {
      yield* entries.slice(0, 1);
      expectWhole();
      yield* entries.slice(1);
    },
    rejected: async () => {
      expectWhole();
      return [...entries];
    },
    resendRejected: async (pick) => {
      expectWhole();
      sent.push(...entries.filter(pick));
      return entries.filter(pick).length;
    },
  };
  return { name, outbox, sent };
}

it('gives the entries of every place that can be read, and names the others', async () => {
  const places = new KeptPlaces(() => [
    place('gateway', [rejectedOf('self', 1), rejectedOf('self', 2)], 'EIO'),
    place('m1', [rejectedOf('m1', 3), rejectedOf('m1', 4)]),
  ]);
  const unread: UnreadPlace[] = [];
  const read: ResolvedEntry[] = [];
  for await (const entry of places.read({ heldOnly: true }, signal, (one) => unread.push(one))) read.push(entry);
  expect(read.map(({ sequence }) => sequence)).toEqual([1, 3, 4]);
  const faults = [{ place: 'gateway', why: 'EIO' }];
  expect(unread).toEqual(faults);
  expect(await places.rejected()).toMatchObject({ entries: [{ sequence: 3 }, { sequence: 4 }], unread: faults });
  expect(await places.resendRejected({})).toEqual({ resent: 2, missing: [], unread: faults });
});

it('fails when no place can be read', async () => {
  const places = new KeptPlaces(() => [place('gateway', [], 'EIO'), place('m1', [], 'ENOSPC')]);
  const read = async (): Promise<void> => {
    for await (const _ of places.read({ heldOnly: true }, signal, () => {})) expect.fail('an entry');
  };
  await expect(read()).rejects.toThrow('EIO');
  await expect(places.rejected()).rejects.toThrow('EIO');
  await expect(places.resendRejected({})).rejects.toThrow('EIO');
});

it('sends nothing again for a number of several places, until the device chooses one', async () => {
  const [own, shared] = [
    place('gateway', [rejectedOf('self', 1)]),
    place('m1', [rejectedOf('m1', 1), rejectedOf('m1', 2)]),
  ];
  const places = new KeptPlaces(() => [own, shared]);
  await expect(places.resendRejected({ sequences: [2, 1] })).rejects.toThrow(/1 is .*gateway, m1/);
  expect([...own.sent, ...shared.sent]).toEqual([]);
  expect(await places.resendRejected({ sequences: [1, 9], device: 'gateway' })).toEqual({
    resent: 1,
    missing: [9],
    unread: [],
  });
  expect([own.sent.length, shared.sent.length]).toEqual([1, 0]);
  expect(await places.resendRejected({ device: 'm1' })).toMatchObject({ resent: 2 });
});
