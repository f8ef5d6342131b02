/** Telling where an update stands, on a disk that takes what is told, and on one that does not. */
import { describe, expect, it } from 'vitest';
import type { UpdateJournal } from '../../../src/firmware/update-journal.ts';
import { UpdateTelling } from '../../../src/firmware/update-telling.ts';
import type { UpdaterDeps } from '../../../src/firmware/updater-deps.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const update = { title: 'turnstone', version: '2.0.0', fingerprint: 'f' };
const journalIn = (state: UpdateJournal['state']): UpdateJournal => ({ state, update }) as unknown as UpdateJournal; // all that is told of it

describe('telling', () => {
  it('lets the update go on when the disk takes nothing for half a minute, and tells each state once all the same', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const reported: JsonObject[] = [];
    let take = (): void => {};
    const report = (values: JsonObject): Promise<void> => {
      reported.push(values);
      return new Promise((resolve) => {
        take = resolve;
      });
    };
    let journal = journalIn('downloading');
    const deps = {
      kind: 'software',
      config: { title: 'turnstone' },
      release: { runningVersion: '1.0.0' },
      report,
      clock,
    } as unknown as UpdaterDeps; // no others are asked
    const telling = new UpdateTelling(deps, () => journal);
    const first = telling.tell(signal);
    await clock.advance(29_000);
    const late = expect(first).rejects.toMatchObject({ code: 'firmware/not-told', recovery: 'retry' });
    await clock.advance(1_001);
    await late;
    journal = journalIn('downloaded');
    telling.stateChanged();
    const second = telling.tell(signal);
    take();
    await second;
    expect(reported).toHaveLength(1);
    const third = telling.tell(signal);
    await clock.advance(0);
    take();
    await third;
    expect(reported).toHaveLength(2);
    await telling.tell(signal);
    expect(reported).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it('ends at once when the agent stops', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const deps = { kind: 'software', report: () => new Promise(() => {}), clock } as unknown as UpdaterDeps; // no others are asked
    const telling = new UpdateTelling(deps, () => journalIn('downloading'));
    const told = expect(telling.tell(stop.signal)).rejects.toThrow('the disk does not take');
    stop.abort();
    await told;
  });
});
