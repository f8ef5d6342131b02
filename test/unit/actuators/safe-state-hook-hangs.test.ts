/** What the stop hook sets while some of the hardware hangs. */
import { beforeAll, expect, it } from 'vitest';
import { setSafeStates } from '../../../src/actuators/safe-state-hook.ts';
import type { ActuatorConfigOf } from '../../../src/config/schema/agent-config.ts';
import type { GpioPort, OutputRequest } from '../../../src/hardware/gpio-port.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const relay = (name: string, crash: boolean, interlocks: readonly string[] = []): ActuatorConfigOf<'gpio-output'> => ({
  name,
  kind: 'gpio-output',
  enabled: true,
  desiredKey: name,
  stateKey: `${name}State`,
  telemetry: true,
  restore: false,
  safe: { crash },
  limits: {},
  operatorUntil: 'ruleChange',
  interlocks: interlocks.map((other) => ({ with: other, gapMs: 0 })),
  line: name,
  activeLow: false,
  maxPulseMs: 1_000,
});
// A driver is loaded when it is first asked for, which takes real time.
beforeAll(() => import('../../../src/actuators/gpio-output/driver.ts'));

const hang = (): Promise<never> => new Promise(() => {});

it('what is well is set, on too unless what hangs excludes it, and what hangs is named', async () => {
  const clock = new FakeClock();
  const written: string[] = [];
  const gpio: Partial<GpioPort> = {
    openOutput: async ({ line }: OutputRequest) => ({
      write: async (level) => {
        if (line === 'heater' || line === 'horn') await hang();
        written.push(`${String(line)} ${level}`);
      },
      read: async () => (line === 'heater' ? await hang() : written.includes(`${String(line)} 1`) ? 1 : 0),
      close: async () => {
        if (line === 'pump') await hang();
      },
    }),
  };
  const switchedOff = [relay('pump', false), relay('heater', false)];
  const configs = [...switchedOff, relay('cooler', true, ['heater']), relay('horn', true), relay('fan', true)];
  // Nothing else is asked for.
  const ports = { gpio } as Partial<Ports> as Ports;
  const end = new AbortController();
  const marks = { left: new Map(), remove: () => true };
  const setting = setSafeStates(configs, 'crash', { ports, clock, runProgram, marks }, end.signal);
  await clock.advance(7_000);
  expect(written).toEqual(['pump 0', 'fan 1']);
  end.abort();
  await clock.advance(1_000);
  expect((await setting).map(({ name, fault }) => [name, fault])).toEqual([
    ['pump', undefined],
    ['heater', expect.stringContaining('no answer')],
    ['cooler', expect.stringContaining('never on together with heater')],
    ['horn', expect.stringContaining('no answer')],
    ['fan', undefined],
  ]);
});

it.each<[string, boolean, boolean, boolean]>([
  ['is taken already', true, false, false],
  ['is not taken yet', false, false, true],
  ['is taken beside what is on', true, true, true],
])('what is to be on and %s is told as that', async (_what, lampOn, sirenOn, isFault) => {
  const clock = new FakeClock();
  const written: string[] = [];
  const gpio: Partial<GpioPort> = {
    openOutput: async ({ line }: OutputRequest) => ({
      write: async (level) => void written.push(`${String(line)} ${level}`),
      read: async () => {
        if (line === 'siren' && !sirenOn) throw new Error('does not say');
        return line === 'siren' || lampOn ? 1 : 0;
      },
      close: async () => {},
    }),
  };
  const siren = { ...relay('siren', false), safe: {} };
  // Nothing else is asked for.
  const ports = { gpio } as Partial<Ports> as Ports;
  const marks = { left: new Map(), remove: () => true };
  const setting = setSafeStates(
    [relay('lamp', true, ['siren']), siren],
    'crash',
    { ports, clock, runProgram, marks },
    new AbortController().signal,
  );
  await clock.advance(3_000);
  const fault = expect.stringContaining('never on together with siren');
  expect([await setting, written]).toEqual([[{ name: 'lamp', value: true, ...(isFault ? { fault } : {}) }], []]);
});
