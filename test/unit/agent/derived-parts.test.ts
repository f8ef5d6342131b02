/** Derived sensors in the whole of the hardware parts: their start, and the rules on a value that is refused. */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { HardwareParts } from '../../../src/agent/hardware-parts.ts';
import { thisMachine } from '../../../src/agent/machine.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import type { HostMetricsSource } from '../../../src/host/host-metrics.ts';
import { silentLog } from '../../../src/host/log.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
const FAULT = new AgentError('hardware/gpio-failed', 'pulled out', { recovery: 'retry' });
let clock: FakeClock;
let lines: FewLines;
let machine: HostMetricsSource;
let told: string[];
let heard: [string, unknown][];

// A driver is loaded when it is first asked for, which takes real time.
beforeAll(async () => {
  for (const kind of ['gpio-input', 'host', 'derived']) await import(`../../../src/sensors/${kind}/driver.ts`);
  await import('@marcbachmann/cel-js');
});
beforeEach(() => {
  clock = new FakeClock();
  lines = new FewLines();
  machine = { read: async () => [{ key: 'uptimeS', value: 5 }] };
  told = [];
  heard = [];
});

/** A contact that is read every second, a machine, and what is made of them. The pump goes by `contact`. */
function configured(values: string, machineSection = 'period: 1s'): Promise<AgentConfig> {
  return configOf(`${SMALLEST}
stateFolder: /state
runFolder: /run
sensors:
  - { name: contact, kind: gpio-input, line: FLOW, period: 1s }
  - { name: machine, kind: host, groups: [uptime], ${machineSection} }
  - { name: calculated, kind: derived, period: 2s, values: ${values}, keys: { made: { rename: contact, maxStep: { by: 1, per: 1s } } } }
actuators:
  - { name: pump, kind: gpio-output, line: PUMP, safe: { start: off, stop: off } }
rules:
  - { name: dry, when: { sensor: calculated, key: contact, above: 0 }, set: { actuator: pump, value: on }, sensorLost: off, lostAfter: 1d }
`);
}

async function open(config: AgentConfig): Promise<HardwareParts> {
  let parts: HardwareParts | undefined;
  parts = await HardwareParts.open(
    {
      config,
      log: silentLog,
      alerts: new AlertList(silentLog),
      keyOf: (key: string) => key,
      localTime: () => undefined,
      machine: {
        ...thisMachine,
        clock,
        files: new MemoryFiles(),
        openPorts: () => lines.ports,
        openHostMetrics: () => machine,
      },
      clientRpc: async () => null,
      report: () => {},
      reportSensor: (sensor, state) => told.push(`${sensor} ${state}`),
      onSamples: (samples) => {
        for (const { sensor, key, value } of samples) {
          heard.push([key, value]);
          parts?.actuators.rules.take(sensor, key === 'made' ? 'contact' : key, value);
        }
      },
    },
    never,
  );
  parts.sampler.start(never);
  return parts;
}

it('starts as long as the sensors of its keys do, and fails with them', async () => {
  const answer = Promise.withResolvers<void>();
  machine.read = async () => {
    await answer.promise;
    throw FAULT;
  };
  const parts = await open(await configured('{ made: uptimeS }'));
  await clock.advance(500);
  expect(told.filter((one) => one.startsWith('calculated'))).toEqual([]);
  expect(parts.sampler.states().find(({ name }) => name === 'calculated')?.state).toBe('starting');
  answer.resolve();
  await clock.advance(4_000);
  expect(told).toContain('calculated failing: uptimeS has not come yet');
  await parts.close();
});

it.each(['1s', '1h'])(
  'loses the rules on a value that is refused, while another value works, which comes every %s',
  async (every) => {
    lines.level = 1;
    const parts = await open(await configured('{ made: "state ? 1 : 0", up: uptimeS }', `period: ${every}`));
    await clock.advance(3_000);
    expect(lines.written.at(-1)).toBe(1);
    lines.level = FAULT;
    await clock.advance(4_000);
    expect(told.at(-1)).toBe('calculated failing in part: made: state is missing, as contact fails: pulled out');
    expect(lines.written.at(-1)).toBe(0);
    lines.level = 1;
    await clock.advance(4_000);
    expect([told.at(-1), lines.written.at(-1)]).toEqual(['calculated working', 1]);
    await parts.close();
  },
);

it('keeps the rules on a value of which a spike was left out', async () => {
  let uptimeS = 5;
  machine.read = async () => [{ key: 'uptimeS', value: uptimeS }];
  const parts = await open(await configured('{ made: uptimeS }'));
  await clock.advance(2_500);
  uptimeS = 500;
  await clock.advance(1_000);
  expect(told.at(-1)).toMatch(/^calculated failing in part: made: .*500 is more than 1 away/);
  expect(lines.written).toEqual([0, 1]);
  await parts.close();
});

it('gives no rate between values of two conversions, as after a reload', async () => {
  machine.read = async () => [{ key: 'uptimeS', value: clock.monotonicMs() / 1_000 }];
  const values = '{ made: uptimeS * 0, speed: rate(uptimeS) }';
  const parts = await open(await configured(values));
  await clock.advance(5_500);
  await parts.configure(await configured(values, 'period: 1s, keys: { uptimeS: { scale: 1000 } }'));
  await clock.advance(5_500);
  const speeds = heard.flatMap(([key, value]) => (key === 'speed' ? [Math.round(Number(value))] : []));
  expect(new Set(speeds)).toEqual(new Set([1, 1000]));
  await parts.close();
});
