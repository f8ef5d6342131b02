/** What is told of an update that failed, and until when. */
import { expect, it } from 'vitest';
import { lastFailure, type UpdaterStatus } from '../../../src/firmware/updater-status.ts';

const ended = {
  title: 't',
  version: '2',
  from: '1',
  outcome: 'FAILED',
  reason: 'no room',
  startedAtMs: 1,
  endedAtMs: 5,
} as const;
const status = (more: Partial<UpdaterStatus>): UpdaterStatus => ({
  running: '1',
  state: 'idle',
  history: [ended],
  ...more,
});
const update = { title: 't', version: '3', from: '1', startedAtMs: 6 };

it('is the last one, with its end, while nothing has begun since', () => {
  expect(lastFailure(status({}))).toEqual({ title: 't', version: '2', reason: 'no room', endedAtMs: 5 });
  expect(lastFailure(status({ history: [{ ...ended, outcome: 'UPDATED' }, ended] }))).toBeUndefined();
  expect(lastFailure(status({ history: [] }))).toBeUndefined();
});

it('is none while another is under way, and that one as soon as it has failed', () => {
  expect(lastFailure(status({ state: 'downloading', update }))).toBeUndefined();
  expect(lastFailure(status({ state: 'failed', update: { ...update, reason: 'cut' } }))).toEqual({
    title: 't',
    version: '3',
    reason: 'cut',
  });
});
