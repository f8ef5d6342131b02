/** Words for what is written a day. */
import { expect, it } from 'vitest';
import { writesStatus } from '../../../src/status/shape/writes-status.ts';

const HOUR_MS = 3_600_000;

it('tells what the agent writes by its run, and what the disk takes by the time since boot', () => {
  const written = { own: 2e6, disk: { name: 'mmcblk0', bytes: 100e6 } };
  expect(writesStatus(written, { nowMs: 10 * HOUR_MS, startedAtMs: 8 * HOUR_MS })).toEqual({
    agentBytesPerDay: 24e6,
    disk: { name: 'mmcblk0', bytesPerDay: 240e6 },
    words: 'the agent writes 24MB a day, the disk mmcblk0 takes 240MB a day',
  });
});

it('tells of the agent alone where the disk is not known', () => {
  const { words, disk } = writesStatus({ own: 1e6 }, { nowMs: HOUR_MS, startedAtMs: 0 });
  expect([words, disk]).toEqual(['the agent writes 24MB a day', undefined]);
});

it('gives no figure before an hour of running', () => {
  const words = 'what is written a day is not known yet';
  const written = { own: 1e6, disk: { name: 'mmcblk0', bytes: 100e6 } };
  expect(writesStatus(written, { nowMs: 9 * HOUR_MS - 1, startedAtMs: 8 * HOUR_MS })).toEqual({ words });
  expect(writesStatus(undefined, { nowMs: 9 * HOUR_MS, startedAtMs: 0 })).toEqual({ words });
});
