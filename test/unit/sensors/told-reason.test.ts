/** The log and the telemetry of a failing sensor give the reason that its status gives. */
import { expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import type { Log } from '../../../src/host/log.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Refusal, Sensor } from '../../../src/sensors/kind/sensor.ts';
import { Sampler } from '../../../src/sensors/sampler.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const fault = (reason: string): AgentError => new AgentError('test/broken', reason, { recovery: 'retry' });

/** A sensor that fails, or leaves its value out, for the reason of the moment; undefined: it works. */
function sensorWith(reasonOf: () => string | undefined, partly: boolean) {
  const clock = new FakeClock({ monotonicMs: 10_000 });
  const told: string[] = [];
  const logged: string[] = [];
  const sensor: Sensor = {
    name: 'tank',
    read: async () => {
      const reason = partly ? undefined : reasonOf();
      if (reason !== undefined) throw fault(reason);
      return [{ key: 'level', value: 1 }];
    },
    refused: (): readonly Refusal[] => {
      const reason = partly ? reasonOf() : undefined;
      return reason === undefined ? [] : [{ key: 'flow', fault: fault(reason) }];
    },
    close: async () => {},
  };
  const log: Log = {
    ...silentLog,
    warn: (fields: object) => void logged.push((fields as { readonly reason: string }).reason),
  };
  const sampler = new Sampler(
    {
      clock,
      log,
      onSamples: () => {},
      onStateChange: ({ refused }, error) => told.push(error?.message ?? refused[0]?.message ?? 'works'),
    },
    [
      {
        name: 'tank',
        kind: 'test',
        periodMs: 1_000,
        deadlineMs: 500,
        align: false,
        revision: '1',
        open: async () => sensor,
      },
    ],
  );
  sampler.start(new AbortController().signal);
  const shown = (): string | undefined =>
    sampler.states()[0]?.error?.message ?? sampler.states()[0]?.refused[0]?.message;
  return { clock, sampler, told, logged, shown };
}

it.each([
  { name: 'fails', partly: false },
  { name: 'leaves a value out', partly: true },
])('a sensor that $name for another reason tells it to all, and each reason once', async ({ partly }) => {
  let reason: string | undefined = 'no answer';
  const { clock, sampler, told, logged, shown } = sensorWith(() => reason, partly);
  await clock.advance(5_000);
  expect([told, logged, shown()]).toEqual([['no answer'], ['no answer'], 'no answer']);
  reason = 'no permission';
  await clock.advance(300_000);
  expect([told, logged, shown()]).toEqual([
    ['no answer', 'no permission'],
    ['no answer', 'no permission'],
    'no permission',
  ]);
  reason = undefined;
  await clock.advance(120_000);
  expect([told.at(-1), shown()]).toEqual(['works', undefined]);
  reason = 'no permission';
  await clock.advance(120_000);
  expect(logged).toEqual(['no answer', 'no permission', 'no permission']);
  await sampler.close();
});

it.each([
  { name: 'fails', partly: false },
  { name: 'leaves a value out', partly: true },
])(
  'a sensor that $name for two reasons in turn tells a few of them, and the one that stays',
  async ({ partly }) => {
    let reads = 0;
    let stays: string | undefined;
    const { clock, sampler, told, shown } = sensorWith(() => stays ?? `reason ${reads++ % 2}`, partly);
    await clock.advance(24 * 3_600_000);
    expect(told.length).toBeGreaterThan(5);
    expect(told.length).toBeLessThan(100);
    stays = 'it is gone';
    await clock.advance(3 * 3_600_000);
    expect([told.at(-1), shown()]).toEqual(['it is gone', 'it is gone']);
    await sampler.close();
  },
  60_000,
);
