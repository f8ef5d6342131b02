import { describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors.ts';
import { silentLog } from '../../../src/host/log.ts';
import { Sampler, type SamplerEntry } from '../../../src/sensors/sampler.ts';
import type { Reading, Sample, Sensor } from '../../../src/sensors/sensor.ts';
import type { SensorState } from '../../../src/sensors/sensor-state.ts';
import { FakeClock } from '../../support/fake-clock.ts';

interface Fixture {
  readonly clock: FakeClock;
  readonly sampler: Sampler;
  readonly samples: Sample[];
  readonly changes: { readonly state: SensorState; readonly error?: AgentError }[];
}

function fixture(entries: readonly SamplerEntry[], clock = new FakeClock({ monotonicMs: 10_000 })): Fixture {
  const samples: Sample[] = [];
  const changes: { state: SensorState; error?: AgentError }[] = [];
  const sampler = new Sampler(
    {
      clock,
      log: silentLog,
      onSamples: (taken) => samples.push(...taken),
      onStateChange: (state, error) => changes.push({ state, ...(error !== undefined && { error }) }),
    },
    entries,
  );
  return { clock, sampler, samples, changes };
}

function entry(name: string, read: (signal: AbortSignal) => Promise<readonly Reading[]>, more: Partial<SamplerEntry> = {}): SamplerEntry {
  const sensor: Sensor = { name, read, close: async () => {} };
  return { name, kind: 'test', periodMs: 1_000, deadlineMs: 500, align: false, revision: '1', open: async () => sensor, ...more };
}

const one = async (): Promise<readonly Reading[]> => [{ key: 'value', value: 1 }];
const never = new AbortController().signal;

describe('Sampler', () => {
  it('reads at once, then on the grid of the period, without drift however long a read takes', async () => {
    const clock = new FakeClock({ monotonicMs: 10_000 });
    const { sampler, samples } = fixture(
      [
        entry('slow', async (signal) => {
          await clock.sleep(137, signal);
          return [{ key: 'value', value: 1 }];
        }),
      ],
      clock,
    );
    sampler.start(never);
    await clock.advance(100_000);
    expect(samples).toHaveLength(100);
    expect(samples.map(({ monotonicMs }) => (monotonicMs - 137) % 1_000)).toEqual(samples.map(() => 0));
    expect(samples[0]).toMatchObject({ sensor: 'slow', key: 'value', value: 1, bootId: 'boot-1', monotonicMs: 10_137 });
    await sampler.close();
  });

  it('reads aligned sensors at whole multiples of the period of wall time', async () => {
    const clock = new FakeClock({ monotonicMs: 10_000, wallMs: 1_780_000_003_217 });
    const { sampler, samples } = fixture([entry('a', one, { align: true, periodMs: 10_000 })], clock);
    sampler.start(never);
    await clock.advance(60_000);
    const offset = 1_780_000_003_217 - 10_000;
    expect(samples).toHaveLength(6);
    expect(samples.map(({ monotonicMs }) => (monotonicMs + offset) % 10_000)).toEqual([0, 0, 0, 0, 0, 0]);
    await sampler.close();
  });

  it('goes on with the others when one hangs, and never starts a second read of it', async () => {
    let hanging = 0;
    const { clock, sampler, samples } = fixture([
      entry('good', one),
      entry('hangs', () => {
        hanging += 1;
        return new Promise(() => {});
      }),
    ]);
    sampler.start(never);
    await clock.advance(30_000);
    expect(samples.filter(({ sensor }) => sensor === 'good').length).toBeGreaterThanOrEqual(30);
    expect(hanging).toBe(1);
    expect(sampler.states()[1]).toMatchObject({
      state: 'failing',
      error: { code: 'hardware/deadline', message: expect.stringContaining('the read before has not ended') },
    });
    await clock.advance(1); // nothing is left waiting but the grid
    const closing = sampler.close();
    await clock.advance(5_000);
    await closing;
  });

  it('reports a failure once, retries with backoff, and reports that it works again', async () => {
    let works = false;
    let attempts = 0;
    const { clock, sampler, samples, changes } = fixture([
      entry('flaky', async () => {
        attempts += 1;
        if (!works) throw new AgentError('hardware/i2c-no-answer', 'nobody there', { recovery: 'retry' });
        return [{ key: 'value', value: 2 }];
      }),
    ]);
    sampler.start(never);
    await clock.advance(600_000);
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject({ state: { name: 'flaky', state: 'failing' }, error: { code: 'hardware/i2c-no-answer' } });
    expect(attempts).toBeGreaterThan(10);
    expect(attempts).toBeLessThan(60); // a period of 1 s, but at most every minute in the end
    works = true;
    await clock.advance(120_000);
    expect(changes).toHaveLength(2);
    expect(changes[1]?.state).toMatchObject({ state: 'working' });
    expect(samples.at(-1)).toMatchObject({ value: 2 });
    await sampler.close();
  });

  it('tries again at once what failed once, however seldom it is read', async () => {
    let attempts = 0;
    const { clock, sampler, samples } = fixture([
      entry(
        'minutely',
        async () => {
          attempts += 1;
          if (attempts === 1) throw new AgentError('hardware/deadline', 'not in time', { recovery: 'retry' });
          return [{ key: 'value', value: 2 }];
        },
        { periodMs: 60_000 },
      ),
    ]);
    sampler.start(never);
    await clock.advance(1_500);
    expect(samples).toHaveLength(1);
    await clock.advance(60_000);
    expect(samples).toHaveLength(2);
    await sampler.close();
  });

  it('does not leave a sensor dead for an hour that is read once an hour', async () => {
    let works = false;
    const { clock, sampler, samples } = fixture([
      entry(
        'hourly',
        async () => {
          if (!works) throw new AgentError('hardware/i2c-no-answer', 'nobody there', { recovery: 'retry' });
          return [{ key: 'value', value: 2 }];
        },
        { periodMs: 3_600_000 },
      ),
    ]);
    sampler.start(never);
    await clock.advance(300_000);
    works = true;
    await clock.advance(61_000);
    expect(samples).toHaveLength(1);
    await clock.advance(3_600_000);
    expect(samples).toHaveLength(2); // back on its grid
    await sampler.close();
  });

  it('opens a sensor again that cannot be opened, or that keeps failing', async () => {
    let opened = 0;
    let closed = 0;
    const { clock, sampler } = fixture([
      entry('late', one, {
        open: async () => {
          opened += 1;
          if (opened === 1) throw new AgentError('hardware/i2c-no-bus', 'not yet', { recovery: 'retry' });
          const read = async (): Promise<readonly Reading[]> => {
            throw new Error('still asleep');
          };
          return {
            name: 'late',
            read,
            close: async () => {
              closed += 1;
            },
          };
        },
      }),
    ]);
    sampler.start(never);
    await clock.advance(300_000);
    expect(opened).toBeGreaterThan(2);
    expect(closed).toBeGreaterThan(0);
    expect(sampler.states()[0]?.error).toEqual({ code: 'sensors/failed', message: 'still asleep' });
    await sampler.close();
    expect(closed).toBe(opened - 1);
  });

  it('lets go of a read at its deadline', async () => {
    const { clock, sampler } = fixture([
      entry(
        'slow',
        (signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })),
      ),
    ]);
    sampler.start(never);
    await clock.advance(501);
    expect(sampler.states()[0]).toMatchObject({ state: 'failing', failures: 1 });
    await sampler.close();
  });

  it('passes on what a sensor says by itself, at the time the source stamped', async () => {
    let say: (readings: readonly Reading[]) => void = () => {};
    const sensor: Sensor = {
      name: 'door',
      read: async () => [{ key: 'state', value: false }],
      subscribe: (listener) => {
        say = listener;
        return () => {
          say = () => {};
        };
      },
      close: async () => {},
    };
    const { clock, sampler, samples } = fixture([entry('door', one, { open: async () => sensor })]);
    sampler.start(never);
    await clock.advance(10);
    say([{ key: 'state', value: true, monotonicMs: 10_003.5 }]);
    expect(samples.map(({ value, monotonicMs }) => [value, monotonicMs])).toEqual([
      [false, 10_000],
      [true, 10_003.5],
    ]);
    await sampler.close();
    say([{ key: 'state', value: false }]);
    expect(samples).toHaveLength(2);
  });

  it('changes a period from now on, and keeps the sensor open', async () => {
    let opened = 0;
    const open = async (): Promise<Sensor> => {
      opened += 1;
      return { name: 'a', read: one, close: async () => {} };
    };
    const { clock, sampler, samples } = fixture([entry('a', one, { open })]);
    sampler.start(never);
    await clock.advance(5_500);
    expect(samples).toHaveLength(6);
    await sampler.configure([entry('a', one, { open, periodMs: 100 })]);
    await clock.advance(1_000);
    expect(samples.length).toBeGreaterThanOrEqual(16);
    expect(opened).toBe(1);
    await sampler.close();
  });

  it('changes only what changed when the configuration is read again', async () => {
    const events: string[] = [];
    const tracked = (name: string, more: Partial<SamplerEntry> = {}): SamplerEntry =>
      entry(name, one, {
        open: async () => {
          events.push(`open ${name}`);
          return { name, read: one, close: async () => void events.push(`close ${name}`) };
        },
        ...more,
      });
    const { clock, sampler } = fixture([tracked('kept'), tracked('gone'), tracked('changed')]);
    sampler.start(never);
    await clock.advance(10);
    events.length = 0;
    await sampler.configure([tracked('kept', { periodMs: 5_000 }), tracked('changed', { revision: '2' }), tracked('new')]);
    await clock.advance(10);
    expect(events.sort()).toEqual(['close changed', 'close gone', 'open changed', 'open new']);
    expect(sampler.states().map(({ name, periodMs }) => [name, periodMs])).toEqual([
      ['kept', 5_000],
      ['changed', 1_000],
      ['new', 1_000],
    ]);
    await sampler.close();
  });

  it('reads once on demand, for the caller alone', async () => {
    const { clock, sampler, samples } = fixture([entry('a', one)]);
    expect(await sampler.readNow('a', never)).toMatchObject([{ sensor: 'a', key: 'value', value: 1, monotonicMs: clock.monotonicMs() }]);
    expect(samples).toEqual([]);
    await expect(sampler.readNow('b', never)).rejects.toThrow(/there is no sensor b; there are a/);
    await sampler.close();
  });

  it('never asks a driver twice at once, on demand or by schedule', async () => {
    const clock = new FakeClock();
    let atOnce = 0;
    let most = 0;
    const { sampler, samples } = fixture(
      [
        entry('a', async (signal) => {
          atOnce += 1;
          most = Math.max(most, atOnce);
          await clock.sleep(300, signal);
          atOnce -= 1;
          return [{ key: 'value', value: 1 }];
        }),
      ],
      clock,
    );
    sampler.start(never);
    await clock.advance(100);
    const demanded = [sampler.readNow('a', never), sampler.readNow('a', never)];
    await clock.advance(5_000);
    expect((await Promise.all(demanded)).map(([sample]) => sample?.value)).toEqual([1, 1]);
    expect(most).toBe(1);
    expect(samples.length).toBeGreaterThanOrEqual(5);
    expect(sampler.states()[0]).toMatchObject({ state: 'working', failures: 0 });
    await sampler.close();
  });

  it('reports statistics of each window instead of every reading', async () => {
    const values = Array.from({ length: 30 }, (_, at) => at + 1);
    const { clock, sampler, samples } = fixture([
      entry('fast', async () => [{ key: 'level', value: values.shift() ?? 0, unit: 'm' }], {
        periodMs: 100,
        window: { lengthMs: 1_000, statistics: ['mean', 'min', 'max', 'count'] },
      }),
    ]);
    sampler.start(never);
    await clock.advance(2_050);
    expect(samples.map(({ key, value }) => [key, value])).toEqual([
      ['level_mean', 5.5],
      ['level_min', 1],
      ['level_max', 10],
      ['level_count', 10],
      ['level_mean', 15.5],
      ['level_min', 11],
      ['level_max', 20],
      ['level_count', 10],
    ]);
    await sampler.close();
  });

  it('leaves no timer behind when it is closed', async () => {
    const { clock, sampler } = fixture([entry('a', one), entry('b', () => Promise.reject(new Error('no')))]);
    sampler.start(never);
    await clock.advance(3_000);
    await sampler.close();
    await sampler.close();
    await clock.advance(1);
    expect(clock.pending).toBe(0);
  });
});
