import { describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Reading, ReadingsListener, Refusal, Sample, Sensor } from '../../../src/sensors/kind/sensor.ts';
import type { SensorState } from '../../../src/sensors/sampler.ts';
import { Sampler, type SamplerEntry } from '../../../src/sensors/sampler.ts';
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

function entry(
  name: string,
  read: (signal: AbortSignal) => Promise<readonly Reading[]>,
  more: Partial<SamplerEntry> = {},
): SamplerEntry {
  const sensor: Sensor = { name, read, close: async () => {} };
  return {
    name,
    kind: 'test',
    periodMs: 1_000,
    deadlineMs: 500,
    align: false,
    revision: '1',
    open: async () => sensor,
    ...more,
  };
}

const one = async (): Promise<readonly Reading[]> => [{ key: 'value', value: 1 }];
const never = new AbortController().signal;

describe('Sampler', () => {
  it('tells a sensor with events when its readings are kept, and of those that are lost', async () => {
    const clock = new FakeClock({ monotonicMs: 10_000 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const outcomes: (Promise<void> | undefined)[] = [promise, undefined, Promise.reject(new Error('lost'))];
    outcomes[2]?.catch(() => {});
    let listener: ReadingsListener = () => {};
    const sensor: Sensor = {
      name: 'event',
      speaksByItself: true,
      read: async () => [],
      subscribe: (one) => {
        listener = one;
        return () => {};
      },
      close: async () => {},
    };
    const sampler = new Sampler({ clock, log: silentLog, onSamples: () => outcomes.shift() }, [
      entry('event', one, { open: async () => sensor }),
    ]);
    sampler.start(never);
    await clock.advance(0);
    const kept = listener([{ key: 'value', value: 1 }]);
    let isKept = false;
    void kept?.then(() => {
      isKept = true;
    });
    await clock.advance(5_000);
    expect(isKept).toBe(false);
    resolve();
    await kept;
    expect(listener([{ key: 'value', value: 1 }])).toBeUndefined();
    await expect(listener([{ key: 'value', value: 1 }])).rejects.toThrow('lost');
    await sampler.close();
    // Whoever speaks now is not heard, and so it is not kept.
    await expect(listener([{ key: 'value', value: 1 }])).rejects.toMatchObject({ code: 'sensors/closed' });
  });

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

  it('says since when a sensor fails, and keeps its last reading and the time of it', async () => {
    const clock = new FakeClock({ monotonicMs: 10_000 });
    let isThere = true;
    const read = async (): Promise<readonly Reading[]> => {
      if (!isThere) throw new Error('no answer');
      return [{ key: 'value', value: 1 }];
    };
    const { sampler } = fixture([entry('roof', read), entry('dead', () => Promise.reject(new Error('no')))], clock);
    const times = () => sampler.states().map(({ failingSinceMs, lastReadAtMs }) => [failingSinceMs, lastReadAtMs]);
    sampler.start(never);
    await clock.advance(2_500);
    expect(times()).toEqual([
      [undefined, 12_000],
      [10_000, undefined],
    ]);
    isThere = false;
    // Long enough to be opened anew.
    await clock.advance(30_000);
    expect(times()[0]).toEqual([13_000, 12_000]);
    expect(sampler.states()[0]?.readings).toMatchObject([{ key: 'value', value: 1, monotonicMs: 12_000 }]);
    isThere = true;
    await clock.advance(60_000);
    expect(times()[0]?.[0]).toBeUndefined();
    await sampler.close();
  });

  it('shows a thousand readings of a sensor, however many keys it makes up', async () => {
    let read = 0;
    const keys = async (): Promise<readonly Reading[]> => {
      read += 1;
      return Array.from({ length: 300 }, (_none, at) => ({ key: `${read}-${at}`, value: at }));
    };
    const { clock, sampler, samples } = fixture([entry('line', keys)]);
    sampler.start(never);
    await clock.advance(4_500);
    expect(samples).toHaveLength(1_500);
    const shown = sampler.states()[0]?.readings.map(({ key }) => key) ?? [];
    expect([shown.length, shown[0], shown.at(-1)]).toEqual([1_000, '2-200', '5-299']);
    await sampler.close();
  });

  it('keeps to its grid, and to its waits, when it is configured anew as it was, or with another deadline or window', async () => {
    const broken = async (): Promise<readonly Reading[]> => {
      asked.push(clock.monotonicMs());
      throw new AgentError('test/broken', 'it is broken', { recovery: 'retry' });
    };
    const asked: number[] = [];
    const hourly = (more: Partial<SamplerEntry> = {}): SamplerEntry[] => [
      entry('hourly', one, { periodMs: 3_600_000, ...more }),
      entry('broken', broken, { periodMs: 3_600_000, ...more }),
    ];
    const { clock, sampler, samples } = fixture(hourly());
    sampler.start(never);
    await clock.advance(600_000);
    const askedBefore = asked.length;
    const window = { lengthMs: 3_600_000, statistics: ['count'] } as const;
    for (const more of [{}, { deadlineMs: 700 }, { window }, {}]) {
      await sampler.configure(hourly(more));
      await clock.advance(1);
    }
    expect(samples.map(({ monotonicMs }) => monotonicMs)).toEqual([10_000]);
    expect(asked).toHaveLength(askedBefore);
    await clock.advance(3_000_000);
    expect(samples.map(({ monotonicMs }) => monotonicMs)).toEqual([10_000, 3_610_000]);
    await sampler.configure(hourly({ periodMs: 1_800_000 }));
    await clock.advance(1);
    expect(samples).toHaveLength(3);
    await sampler.close();
  });

  it('reads once more, and keeps its grid, when something else is made of its readings; what is aligned waits', async () => {
    const clock = new FakeClock({ monotonicMs: 10_000, wallMs: 1_780_000_000_000 });
    const used = (use: unknown): SamplerEntry[] => [
      entry('free', one, { periodMs: 60_000, use }),
      entry('aligned', one, { periodMs: 60_000, align: true, use }),
    ];
    const { sampler, samples } = fixture(used({ above: 1 }), clock);
    const readAtMs = (name: string) =>
      samples.filter(({ sensor }) => sensor === name).map(({ monotonicMs }) => monotonicMs - 10_000);
    sampler.start(never);
    await clock.advance(61_000);
    const aligned = readAtMs('aligned').length;
    for (const use of [{ above: 2 }, { above: 2 }]) {
      await sampler.configure(used(use));
      await clock.advance(500);
    }
    expect(readAtMs('free')).toEqual([0, 60_000, 61_000]);
    expect(readAtMs('aligned')).toHaveLength(aligned);
    await clock.advance(60_000);
    expect(readAtMs('free')).toEqual([0, 60_000, 61_000, 120_000]);
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

  it('says that a sensor works with its first read, as an earlier run may have said that it fails, and then only when that changes', async () => {
    const { clock, sampler, changes } = fixture([entry('a', one)]);
    sampler.start(never);
    await clock.advance(10_000);
    expect(changes.map(({ state }) => [state.name, state.state])).toEqual([['a', 'working']]);
    await sampler.close();
  });

  it('goes on with the others when one hangs, never starts a second read of an opening, nor more than two further openings', async () => {
    const reads: number[] = [];
    const open = async (): Promise<Sensor> => {
      const at = reads.push(0) - 1;
      const read = (): Promise<never> => {
        reads[at] = (reads[at] ?? 0) + 1;
        return new Promise(() => {});
      };
      return { name: 'hangs', read, close: async () => {} };
    };
    const { clock, sampler, samples } = fixture([entry('good', one), entry('hangs', one, { open })]);
    sampler.start(never);
    await clock.advance(2_000);
    expect(reads).toEqual([1]);
    await clock.advance(600_000);
    expect(samples.filter(({ sensor }) => sensor === 'good').length).toBeGreaterThanOrEqual(600);
    expect(reads).toEqual([1, 1, 1]);
    expect(sampler.states()[1]).toMatchObject({
      state: 'failing',
      error: { code: 'hardware/deadline', message: expect.stringContaining('the read before has not ended') },
    });
    await clock.advance(1); // nothing is left waiting but the grid
    const closing = sampler.close();
    await clock.advance(5_000);
    await closing;
  });

  it.each(['reads, once', 'opens, once', 'reads, and never closes'])(
    'reads a sensor again that hangs when it %s',
    async (when) => {
      const events: string[] = [];
      let firstOpens = (): void => {};
      const open = async (): Promise<Sensor> => {
        const isFirst = events.push('open') === 1;
        if (isFirst && when === 'opens, once') await new Promise<void>((resolve) => (firstOpens = resolve));
        return {
          name: 'tank',
          read: isFirst ? () => new Promise(() => {}) : one,
          close: async () => {
            events.push('close');
            if (when === 'reads, and never closes') await new Promise(() => {});
          },
        };
      };
      const { clock, sampler, samples } = fixture([entry('tank', one, { open })]);
      sampler.start(never);
      await clock.advance(60_000);
      expect(samples.length).toBeGreaterThan(40);
      expect(sampler.states()[0]).toMatchObject({ state: 'working' });
      firstOpens(); // late: it is given back, and takes nobody's place
      await clock.advance(10_000);
      expect(events.toSorted()).toEqual(['close', 'open', 'open']);
      expect(samples.length).toBeGreaterThan(50);
      const closing = sampler.close();
      await clock.advance(5_000);
      await closing;
    },
  );

  it('gives up no read for good: what ends after all makes room to open anew', async () => {
    const end: (() => void)[] = [];
    const read = () => new Promise<never>((_resolve, reject) => end.push(() => reject(new Error('at last'))));
    const { clock, sampler } = fixture([
      entry('tank', one, { open: async () => ({ name: 'tank', read, close: async () => {} }) }),
    ]);
    sampler.start(never);
    await clock.advance(600_000);
    expect(end).toHaveLength(3);
    end[0]?.();
    await clock.advance(600_000);
    expect(end).toHaveLength(4);
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
    expect(changes[0]).toMatchObject({
      state: { name: 'flaky', state: 'failing' },
      error: { code: 'hardware/i2c-no-answer' },
    });
    expect(attempts).toBeGreaterThan(10);
    expect(attempts).toBeLessThan(60); // a period of 1 s, but at most every minute in the end
    works = true;
    await clock.advance(120_000);
    expect(changes).toHaveLength(2);
    expect(changes[1]?.state).toMatchObject({ state: 'working' });
    expect(samples.at(-1)).toMatchObject({ value: 2 });
    await sampler.close();
  });

  it('delivers the others of a read in which one value is refused, says which once, and says when it is back', async () => {
    const fault = new AgentError('sensors/out-of-range', 'at its end', { recovery: 'retry' });
    let refused: readonly Refusal[] = [{ key: 'level', fault }];
    const sensor: Sensor = { name: 'tank', read: one, refused: () => refused, close: async () => {} };
    const { clock, sampler, samples, changes } = fixture([entry('tank', one, { open: async () => sensor })]);
    sampler.start(never);
    await clock.advance(5_000);
    expect(samples.length).toBeGreaterThanOrEqual(5);
    expect(changes.map(({ state }) => [state.state, state.refused])).toEqual([
      ['working', [{ key: 'level', code: 'sensors/out-of-range', message: 'at its end' }]],
    ]);
    refused = [];
    await clock.advance(5_000);
    expect(changes.at(-1)?.state).toMatchObject({ state: 'working', refused: [] });
    expect(changes).toHaveLength(2);
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
        (signal) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
          ),
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
    await sampler.configure([
      tracked('kept', { periodMs: 5_000 }),
      tracked('changed', { revision: '2' }),
      tracked('new'),
    ]);
    await clock.advance(10);
    expect(events.sort()).toEqual(['close changed', 'close gone', 'open changed', 'open new']);
    expect(sampler.states().map(({ name, periodMs }) => [name, periodMs])).toEqual([
      ['kept', 5_000],
      ['changed', 1_000],
      ['new', 1_000],
    ]);
    await sampler.close();
  });

  describe('a driver that never closes', () => {
    const stuck = (name: string, more: Partial<SamplerEntry> = {}): SamplerEntry =>
      entry(name, one, { open: async () => ({ name, read: one, close: () => new Promise(() => {}) }), ...more });

    it('keeps what a changed configuration wants from being read for no longer than a moment', async () => {
      const { clock, sampler, samples } = fixture([stuck('stuck'), entry('changed', one)]);
      sampler.start(never);
      await clock.advance(3_000);
      const configuring = sampler.configure([
        stuck('stuck', { revision: '2' }),
        entry('changed', one, { revision: '2' }),
        entry('new', one),
      ]);
      samples.length = 0;
      await clock.advance(10_000);
      await configuring;
      expect([...new Set(samples.map(({ sensor }) => sensor))].sort()).toEqual(['changed', 'new', 'stuck']);
      const closing = sampler.close();
      await clock.advance(10_000);
      await closing;
    });

    it('keeps a stop from ending for no longer than a moment, be a read under way as well', async () => {
      const hung = entry('hung', () => new Promise(() => {}), { deadlineMs: 3_600_000 });
      const { clock, sampler } = fixture([stuck('stuck'), hung]);
      sampler.start(never);
      await clock.advance(3_000);
      let closed = false;
      void sampler.close().then(() => {
        closed = true;
      });
      await clock.advance(5_000);
      expect(closed).toBe(true);
    });
  });

  it('closes what it can of a driver that fails to end its subscription', async () => {
    let closed = 0;
    const stray: Sensor = {
      name: 'own',
      read: one,
      subscribe: () => () => {
        throw new Error('no such listener');
      },
      close: async () => {
        closed += 1;
      },
    };
    const { clock, sampler } = fixture([entry('own', one, { open: async () => stray })]);
    sampler.start(never);
    await clock.advance(100);
    await sampler.close();
    expect(closed).toBe(1);
  });

  it('has the last of several configurations in force, and never holds the same hardware twice', async () => {
    const clock = new FakeClock();
    const open = new Map<string, number>();
    let most = 0;
    const slow = (name: string, more: Partial<SamplerEntry> = {}): SamplerEntry =>
      entry(name, one, {
        open: async () => {
          open.set(name, (open.get(name) ?? 0) + 1);
          most = Math.max(most, ...open.values());
          const close = async (): Promise<void> => {
            await clock.sleep(300, never);
            open.set(name, (open.get(name) ?? 0) - 1);
          };
          return { name, read: one, close };
        },
        ...more,
      });
    const { sampler, samples } = fixture([slow('changed'), slow('kept'), slow('gone')], clock);
    sampler.start(never);
    await clock.advance(3_000);
    const first = sampler.configure([
      slow('changed', { revision: '2' }),
      slow('kept'),
      slow('gone', { revision: '2' }),
    ]);
    await clock.advance(10);
    const demanded = sampler.readNow('changed', never);
    const second = sampler.configure([slow('changed', { revision: '3' }), slow('kept', { periodMs: 60_000 })]);
    await clock.advance(5_000);
    await Promise.all([first, second, demanded]);
    samples.length = 0;
    await clock.advance(60_000);
    expect(sampler.states().map(({ name, periodMs }) => [name, periodMs])).toEqual([
      ['changed', 1_000],
      ['kept', 60_000],
    ]);
    expect(['changed', 'kept', 'gone'].map((name) => samples.filter(({ sensor }) => sensor === name).length)).toEqual([
      60, 1, 0,
    ]);
    expect(most).toBe(1);
    const closing = sampler.close();
    await clock.advance(1_000);
    await closing;
    expect([...open.values()]).toEqual([0, 0, 0]);
  });

  it('gives back at once what is open only after it was closed', async () => {
    const hardware = Promise.withResolvers<void>();
    const events: string[] = [];
    const late: Sensor = {
      name: 'late',
      read: async () => {
        events.push('read');
        return [];
      },
      close: async () => void events.push('close'),
    };
    const open = async (): Promise<Sensor> => {
      await hardware.promise;
      return late;
    };
    const { clock, sampler } = fixture([entry('late', one, { open })]);
    sampler.start(never);
    await clock.advance(100);
    const closing = sampler.close();
    await clock.advance(5_000);
    await closing;
    hardware.resolve();
    await clock.advance(0);
    expect(events).toEqual(['close']);
  });

  it('begins nothing new when it was closed meanwhile', async () => {
    const { clock, sampler, samples } = fixture([entry('a', one)]);
    sampler.start(never);
    await clock.advance(100);
    const configuring = sampler.configure([entry('a', one, { revision: '2' })]);
    await sampler.close();
    await configuring;
    await sampler.configure([entry('b', one)]);
    samples.length = 0;
    await clock.advance(60_000);
    expect(samples).toEqual([]);
  });

  it('reads once on demand, for the caller alone', async () => {
    const { clock, sampler, samples } = fixture([entry('a', one)]);
    expect(await sampler.readNow('a', never)).toMatchObject([
      { sensor: 'a', key: 'value', value: 1, monotonicMs: clock.monotonicMs() },
    ]);
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
    await clock.advance(890);
    demanded.push(sampler.readNow('a', never), sampler.readNow('a', never)); // just before the schedule's own
    await clock.advance(5_000);
    expect((await Promise.all(demanded)).map(([sample]) => sample?.value)).toEqual([1, 1, 1, 1]);
    expect(most).toBe(1);
    expect(samples.length).toBeGreaterThanOrEqual(5);
    expect(sampler.states()[0]).toMatchObject({ state: 'working', failures: 0 });
    await sampler.close();
  });

  it('says of a driver that hangs why it cannot be read on demand, soon after its deadline', async () => {
    const { clock, sampler } = fixture([entry('hung', () => new Promise(() => {}))]);
    sampler.start(never);
    await clock.advance(100);
    const demanded = sampler.readNow('hung', never).catch((error: Error) => error.message);
    await clock.advance(5_000);
    expect(await demanded).toMatch(/the read before has not ended/);
    const closed = sampler.close();
    await clock.advance(60_000);
    await closed;
  });

  it('counts the reads that were left out because one took too long', async () => {
    const { clock, sampler } = fixture([]);
    const slow = async (signal: AbortSignal): Promise<readonly Reading[]> => {
      await clock.sleep(2_500, signal);
      return [{ key: 'value', value: 1 }];
    };
    await sampler.configure([entry('slow', slow, { deadlineMs: 3_000 }), entry('quick', one)]);
    sampler.start(never);
    await clock.advance(5_900);
    expect(sampler.states().map(({ missed }) => missed)).toEqual([4, 0]);
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

  describe('a window', () => {
    const hourly = (more: Partial<SamplerEntry> = {}, read = one): SamplerEntry =>
      entry('tank', read, {
        periodMs: 60_000,
        window: { lengthMs: 3_600_000, statistics: ['mean', 'count'] },
        ...more,
      });

    it('that an orderly stop cuts is handed over with what it has, at the time of its last reading', async () => {
      const { clock, sampler, samples } = fixture([hourly()]);
      sampler.start(never);
      await clock.advance(600_001);
      expect(samples).toEqual([]);
      await clock.advance(30_000);
      await sampler.close();
      await sampler.close();
      expect(samples.map(({ key, value, monotonicMs }) => [key, value, monotonicMs])).toEqual([
        ['value_mean', 1, 610_000],
        ['value_count', 11, 610_000],
      ]);
    });

    it('is handed over too when the sensor is taken away, or gets another window', async () => {
      const { clock, sampler, samples } = fixture([hourly()]);
      sampler.start(never);
      await clock.advance(120_001);
      await sampler.configure([hourly({ window: { lengthMs: 7_200_000, statistics: ['count'] } })]);
      expect(samples.splice(0).map(({ key, value }) => [key, value])).toEqual([
        ['value_mean', 1],
        ['value_count', 3],
      ]);
      await clock.advance(120_000);
      await sampler.configure([]);
      expect(samples.map(({ key }) => key)).toEqual(['value_count']);
      await sampler.close();
    });

    it('carries the time of its own end, though its end is seen only with the next reading', async () => {
      let works = true;
      const { clock, sampler, samples } = fixture([
        hourly({}, async () => {
          if (!works) throw new Error('wire off');
          return [{ key: 'value', value: 1 }];
        }),
      ]);
      sampler.start(never);
      await clock.advance(1_800_000);
      works = false;
      await clock.advance(4 * 3_600_000);
      works = true;
      await clock.advance(120_000);
      expect(samples.map(({ monotonicMs }) => monotonicMs)).toEqual([3_600_000, 3_600_000]);
      await sampler.close();
    });

    it('on a wall clock ends when that goes back to before it began', async () => {
      const clock = new FakeClock({ monotonicMs: 10_000, wallMs: Date.UTC(2030, 0, 1) });
      const { sampler, samples } = fixture([hourly({ align: true })], clock);
      sampler.start(never);
      await clock.advance(600_000);
      clock.stepWall(-365 * 86_400_000);
      await clock.advance(120_000);
      expect(samples.map(({ key, monotonicMs }) => [key, monotonicMs < 740_000 && monotonicMs >= 550_000])).toEqual([
        ['value_mean', true],
        ['value_count', true],
      ]);
      await sampler.close();
    });
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
