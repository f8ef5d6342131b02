/** Which sums and counts are of a whole window: neither the wall clock nor a reading that is missing makes a part look whole. */
import { beforeEach, describe, expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Reading, Refusal, Sample } from '../../../src/sensors/kind/sensor.ts';
import { Sampler, type SamplerEntry } from '../../../src/sensors/sampler.ts';
import { SensorWindow } from '../../../src/sensors/window.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const MINUTE_MS = 60_000;
const BEGAN_MS = Date.UTC(2030, 0, 1);
const never = new AbortController().signal;

let clock: FakeClock;
let sampler: Sampler;
let entry: SamplerEntry;
/** How many readings each window has; those of a part as a text. */
let counts: unknown[];
/** Runs in a read before it gives. */
let before: () => unknown;
let refused: readonly Refusal[];
let speak: (readings: readonly Reading[]) => void;

const flow: readonly Reading[] = ['flow', 'level'].map((key) => ({ key, value: 1 }));

/** Read at every full second. The first window of which every reading was taken begins now. */
async function start(more: Partial<SamplerEntry> = {}, speaksByItself = false): Promise<void> {
  const onSamples = (samples: readonly Sample[]): void => {
    for (const { key, value, isPart } of samples)
      if (key === 'flow_count') counts.push(isPart === true ? `${value}` : value);
  };
  const sensor = {
    name: 'tank',
    speaksByItself,
    refused: () => refused,
    close: async () => {},
    read: async () => {
      await before();
      return flow.filter(({ key }) => refused.every((one) => one.key !== key));
    },
    subscribe: (listener: typeof speak) => {
      speak = listener;
      return () => {};
    },
  };
  entry = {
    name: 'tank',
    kind: 'test',
    periodMs: 1_000,
    deadlineMs: 800,
    align: true,
    revision: '1',
    window: { lengthMs: MINUTE_MS, statistics: ['count'] },
    open: async () => sensor,
    ...more,
  };
  sampler = new Sampler({ clock, log: silentLog, onSamples }, [entry]);
  sampler.start(never);
  await clock.advance(MINUTE_MS);
  counts = [];
}

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: MINUTE_MS, wallMs: BEGAN_MS - MINUTE_MS });
  [before, refused, counts] = [() => {}, [], []];
});

async function wait(seconds: number): Promise<void> {
  await clock.advance(seconds * 1_000);
}

describe('a window on the wall clock', () => {
  it.each<readonly [string, readonly (readonly [afterS: number, stepS: number])[], readonly unknown[]]>([
    ['that does not step', [], [60, 60, 60]],
    ['that goes forward within it', [[20.5, 30]], ['30', 60, 60]],
    ['that goes back within it', [[20.5, -10]], ['70', 60]],
    ['that goes back to before it', [[20.5, -30]], ['21', '9', 60, 60]],
    ['that goes forward past its end', [[40.5, 30]], ['41', '49', 60]],
    ['that goes forward past its end and a whole one', [[40.5, 90]], ['41', '49', 60]],
    ['that goes forward between its last reading and the next', [[59.5, 30]], ['60', '30', 60]],
    ['that steps by nothing to speak of', [[20.5, 0.3]], [60, 60, 60]],
    ['that steps by little, often', [10.5, 20, 10].map((afterS) => [afterS, 0.3]), ['60', 60, 60]],
    [
      'that is set right again within it',
      [
        [20.5, 20],
        [10, -20],
      ],
      [60, 60, 60],
    ],
  ])('%s', async (_which, steps, expected) => {
    await start();
    let leftS = 180.2;
    for (const [afterS, stepS] of steps) {
      await wait(afterS);
      clock.stepWall(stepS * 1_000);
      leftS -= afterS;
    }
    await wait(leftS);
    expect(counts).toEqual(expected);
  });

  it('that is read more often tolerates less', async () => {
    await start({ periodMs: 100, deadlineMs: 80 });
    await wait(20.05);
    clock.stepWall(300);
    await wait(100);
    expect(counts).toEqual(['597', 600]);
  });
});

describe.each([true, false])('a window, aligned: %j,', (align) => {
  const fail = (): never => {
    throw new AgentError('sensors/failed', 'CRC', { recovery: 'retry' });
  };

  it('is a part when a read within failed, and the next one is whole', async () => {
    await start({ align });
    await wait(30.5);
    before = fail;
    await wait(1);
    before = () => {};
    await wait(90);
    expect(counts).toEqual([expect.any(String), 60]);
  });

  it('is whole when the first read after it failed, and the next one is a part', async () => {
    await start({ align });
    await wait(59.5);
    before = fail;
    await wait(1);
    before = () => {};
    await wait(121);
    expect(counts).toEqual([60, expect.any(String), 60]);
  });

  it('and the one after it are parts when a read was under way at the end of the first and failed', async () => {
    await start({ align, deadlineMs: 1_000 });
    await wait(58.5);
    before = () => clock.sleep(60_000, never);
    await wait(0.6);
    before = () => {};
    await wait(122);
    expect(counts).toEqual([expect.any(String), expect.any(String), 60]);
  });

  it.each([1_000, 1_050])('is a part when a read within came too late for the next one, by %d ms', async (tookMs) => {
    await start({ align, deadlineMs: 1_200 });
    await wait(30.5);
    before = () => clock.sleep(tookMs, never);
    await wait(1);
    before = () => {};
    await wait(90);
    expect(counts).toEqual([expect.any(String), 60]);
  });

  it.each<readonly [string, unknown]>([
    ['level', 60],
    ['flow', '59'],
  ])('is a part for a value that a read within did not give, and for no other: %s', async (key, expected) => {
    await start({ align });
    await wait(30.5);
    refused = [{ key, fault: new AgentError('sensors/failed', 'CRC', { recovery: 'retry' }) }];
    await wait(1);
    refused = [];
    await wait(90);
    expect(counts).toEqual([expected, 60]);
  });

  it('that gets another period goes on as another one', async () => {
    await start({ align });
    await wait(30.5);
    await sampler.configure([{ ...entry, periodMs: 2_000 }]);
    await wait(90);
    expect(counts).toEqual([expect.any(String), expect.any(String), 30]);
  });
});

it('a window is a part when it has a reading more, as something else is made of them', async () => {
  await start({ align: false });
  await wait(30.5);
  await sampler.configure([{ ...entry, use: 'another' }]);
  await wait(90);
  expect(counts).toEqual(['61', 60]);
});

describe('a window of a sensor that speaks by itself', () => {
  it('is a part when it was not alive within, and not when it was only slow to say so', async () => {
    await start({ align: false, deadlineMs: 1_000 }, true);
    const minute = async (): Promise<void> => {
      for (let s = 0; s < 60; s += 1) {
        await wait(1);
        speak(flow);
      }
    };
    await minute();
    await minute();
    counts = [];
    before = () => clock.sleep(1_050, never);
    await wait(0.5);
    before = () => {};
    await minute();
    before = () => {
      throw new Error('unplugged');
    };
    await wait(2);
    before = () => {};
    await minute();
    await minute();
    expect(counts).toEqual([60, expect.any(String), 60]);
  });

  it('is a part when the clock steps by much of it, however seldom the sensor has to be alive', async () => {
    await start({ periodMs: MINUTE_MS, deadlineMs: 1_000 }, true);
    for (let s = 0; s < 180; s += 1) {
      speak(flow);
      await wait(1);
      if (s === 90) clock.stepWall(30_000);
    }
    expect(counts.slice(1)).toEqual(['31', 59]);
  });
});

describe('statistics are stamped', () => {
  const stampsOf = (readings: readonly Reading[] = []): unknown[] =>
    readings.map(({ key, monotonicMs }) => [key, monotonicMs]);
  const open = (): SensorWindow =>
    SensorWindow.of({ align: true, periodMs: 1_000, window: { lengthMs: MINUTE_MS, statistics: ['last'] } }, clock) ??
    expect.fail();

  it('with nothing before their last reading, though the clock steps past the end', async () => {
    const window = open();
    window.addReadings([{ key: 'flow', value: 1 }]);
    await clock.advance(40_000);
    window.addReadings([{ key: 'flow', value: 2 }]);
    clock.stepWall(50_000);
    await clock.advance(1_000);
    expect(stampsOf(window.addReadings([{ key: 'flow', value: 3 }]))).toEqual([['flow_last', MINUTE_MS + 40_000]]);
  });

  it('with the last reading of a window that was cut, and what comes after that is a part', async () => {
    const window = SensorWindow.of(
      { align: false, periodMs: 1_000, window: { lengthMs: MINUTE_MS, statistics: ['sum'] } },
      clock,
    );
    const partsOf = (readings: readonly Reading[] = []): unknown[] =>
      readings.map(({ isPart = false, monotonicMs }) => [isPart, monotonicMs]);
    const given: unknown[] = [];
    for (let s = 0; s < 240; s += 10) {
      if (s === 90) {
        given.push(...partsOf(window?.cut()));
        window?.miss(clock.monotonicMs());
      }
      given.push(...partsOf(window?.addReadings([{ key: 'flow', value: 1 }])));
      await clock.advance(10_000);
    }
    expect(given).toEqual([
      [true, 2 * MINUTE_MS],
      [true, 2 * MINUTE_MS + 20_000],
      [true, 3 * MINUTE_MS],
      [false, 4 * MINUTE_MS],
    ]);
  });
});
