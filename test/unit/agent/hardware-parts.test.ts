/** Movements under changed configurations, failing sensors and a stop. */
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { HardwareParts, type HardwarePartsDeps } from '../../../src/agent/hardware-parts.ts';
import { thisMachine } from '../../../src/agent/machine.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import type { Sample } from '../../../src/sensors/kind/sensor.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
const MINUTE_MS = 60_000;

let clock: FakeClock;
let files: MemoryFiles;
let told: unknown[];

// A driver is loaded when it is first asked for, which takes real time.
beforeAll(async () => {
  await import('../../../src/actuators/command/driver.ts');
  await import('../../../src/sensors/gpio-counter/driver.ts');
  await import('../../../src/sensors/gpio-input/driver.ts');
  await import('../../../src/sensors/process/driver.ts');
});
beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  told = [];
});

/** A rule that sets nothing at its end: what it does is seen by what it tells. */
function config(sensor: string, holdsFor: string): Promise<AgentConfig> {
  return configOf(`${SMALLEST}
stateFolder: /state
runFolder: /run
sensors:
  - { name: machine, kind: host, ${sensor} }
actuators:
  - { name: horn, kind: command, program: /bin/true, arguments: ["{value}"], valueType: boolean }
rules:
  - { name: hot, when: { sensor: machine, key: temperature, above: 70, for: ${holdsFor} }, set: { actuator: horn, value: on } }
`);
}

async function open(
  started: AgentConfig,
  machine: Partial<HardwarePartsDeps['machine']> = {},
  own: Partial<Pick<HardwarePartsDeps, 'idOf' | 'report'>> = {},
): Promise<HardwareParts> {
  const report = (entries: readonly TelemetryEntry[]): void => void told.push(...entries.map(({ value }) => value));
  const deps = {
    machine: { ...thisMachine, clock, files, ...machine },
    log: silentLog,
    keyOf: (key: string) => key,
    report,
    alerts: new AlertList(silentLog),
    localTime: () => undefined,
  };
  const onSamples = (samples: readonly Sample[]): void => {
    for (const { sensor, key, value } of samples) field?.actuators.rules.take(sensor, key, value);
  };
  const quiet = { onSamples, clientRpc: async () => null, reportSensor: () => {} };
  let field: HardwareParts | undefined;
  field = await HardwareParts.open({ ...deps, ...quiet, ...own, config: started }, never);
  return field;
}

const isHeld = (): boolean => files.contentOf('/state/outputs.json').includes('"phase":"set"');

describe('a rule whose sensor changes', () => {
  it('ends when the sensor is switched off', async () => {
    const field = await open(await config('period: 10s', '0s'));
    field.actuators.rules.take('machine', 'temperature', 80);
    await clock.advance(0);
    expect(isHeld()).toBe(true);
    await field.configure(await config('period: 10s, enabled: false', '0s'));
    expect(told).toContainEqual({ rule: 'hot', on: false });
    await field.close();
  });

  it('waits no longer when the sensor is another one now, and goes on waiting when it is the same', async () => {
    for (const [period, held] of [
      ['20s', false],
      ['10s, groups: [temperature]', false],
      ['10s', true],
    ] as const) {
      const field = await open(await config('period: 10s', '1m'));
      field.actuators.rules.take('machine', 'temperature', 80);
      await field.configure(await config(`period: ${period}`, '1m'));
      await clock.advance(MINUTE_MS / 2);
      field.actuators.rules.take('machine', 'temperature', 80);
      await clock.advance(MINUTE_MS / 2);
      expect(isHeld()).toBe(held);
      await field.close();
    }
  });

  it('waits no longer when its broker is another one now, and goes on waiting when the password is', async () => {
    const listening = (broker: string): Promise<AgentConfig> =>
      configOf(`${SMALLEST}
stateFolder: /state
runFolder: /run
brokers: [{ name: house, user: agent, ${broker} }]
sensors: [{ name: room, kind: mqtt, broker: house, topic: room, period: 1h }]
actuators:
  - { name: horn, kind: command, program: /bin/true, arguments: ["{value}"], valueType: boolean }
rules:
  - { name: hot, when: { sensor: room, key: temperature, above: 70, for: 1m }, set: { actuator: horn, value: on } }
`);
    for (const [broker, held] of [
      ['url: "mqtt://127.0.0.2:1", password: old', false],
      ['url: "mqtt://127.0.0.1:1", password: new', true],
    ] as const) {
      const field = await open(await listening('url: "mqtt://127.0.0.1:1", password: old'));
      field.actuators.rules.take('room', 'temperature', 80);
      await field.configure(await listening(broker));
      await clock.advance(MINUTE_MS);
      expect(isHeld()).toBe(held);
      await field.close();
    }
  });

  it('is known at the next start to have been on', async () => {
    const before = await open(await config('period: 10s', '0s'));
    before.actuators.rules.take('machine', 'temperature', 80);
    await before.close();
    files.cutPower(() => false);
    const after = await open(await config('period: 10s', '0s'));
    told = [];
    after.actuators.rules.take('machine', 'temperature', 20);
    expect(told).toEqual([{ rule: 'hot', on: false }]);
    await after.close();
  });
});

it('a rule’s events are kept under the device whose output it moves, also those of a rule that a reload brings', async () => {
  const devices: string[] = [];
  const base = await config('period: 10s', '0s');
  const attached = { ...base, actuators: base.actuators.map((one) => ({ ...one, device: 'meter1' })) };
  const idOf = (slot: string): string => `id of ${slot}`;
  const report = (entries: readonly TelemetryEntry[]): void => {
    devices.push(...entries.flatMap(({ key, device }) => (key === 'rule_hot' ? [device] : [])));
  };
  const field = await open({ ...attached, rules: [] }, {}, { idOf, report });
  await field.configure(attached);
  await clock.advance(0);
  for (const [count, temperature] of [80, 20].entries()) {
    field.actuators.rules.take('machine', 'temperature', temperature);
    // The output's program takes real time.
    await vi.waitFor(() => expect(devices).toHaveLength(count + 1));
  }
  await field.close();
  expect(devices).toEqual(['id of meter1', 'id of meter1']);
  const own = await open(base, {}, { idOf, report });
  own.actuators.rules.take('machine', 'temperature', 80);
  await vi.waitFor(() => expect(devices.at(-1)).toBe('self'));
  await own.close();
});

const pump = (sensor: string, rest = ''): Promise<AgentConfig> =>
  configOf(`${SMALLEST}
stateFolder: /state
runFolder: /run
sensors:
  - { name: flow, line: FLOW, period: 10s, ${sensor} }
actuators:
  - { name: pump, kind: gpio-output, line: PUMP, safe: { stop: off } }
${rest}`);

describe('a stop', () => {
  it('sets the safe states at once, whatever hangs: a sensor’s disk, hardware that is not given back', async () => {
    const lines = new FewLines();
    lines.closeOutput = () => new Promise(() => {});
    const field = await open(await pump('kind: gpio-counter'), { openPorts: () => lines.ports });
    field.sampler.start(never);
    await clock.advance(1_000);
    await field.actuators.control.set('pump', true, { by: 'local' }, never);
    lines.edge();
    files.faults = { delay: () => new Promise(() => {}) };
    let closed = false;
    void field.close().then(() => {
      closed = true;
    });
    await clock.advance(0);
    expect(lines.written).toEqual([1, 0]);
    await clock.advance(10_000);
    expect(closed).toBe(true);
  });

  it('leaves an output in its safe state whose rule was taken out while the agent stopped', async () => {
    const rule = `rules:
  - { name: dry, when: { sensor: flow, key: state, equal: true }, set: { actuator: pump, value: on }, otherwise: off }`;
    const lines = new FewLines();
    const machine = { openPorts: () => lines.ports };
    const before = await open(await pump('kind: gpio-input', rule), machine);
    before.actuators.rules.take('flow', 'state', true);
    await clock.advance(0);
    expect(lines.written).toEqual([1]);
    const closing = before.close();
    const configuring = before.configure(await pump('kind: gpio-input'));
    await clock.advance(10_000);
    await Promise.all([closing, configuring]);
    const after = await open(await pump('kind: gpio-input'), machine);
    await clock.advance(0);
    expect([lines.written.at(-1), after.actuators.control.find('pump')?.slots.rules]).toEqual([0, []]);
    await after.close();
  });
});

describe('a rule whose sensor fails', () => {
  const rule = `rules:
  - { name: dry, when: { sensor: flow, key: state, equal: true, for: 1m }, set: { actuator: pump, value: on } }`;

  it('waits for its time anew, though it fails but once', async () => {
    const lines = new FewLines();
    const field = await open(await pump('kind: gpio-input', rule), { openPorts: () => lines.ports });
    lines.level = 1;
    field.sampler.start(never);
    await clock.advance(15_000);
    lines.level = new AgentError('hardware/gpio-failed', 'pulled out', { recovery: 'retry' });
    await clock.advance(5_500);
    lines.level = 1;
    await clock.advance(MINUTE_MS - 5_000);
    expect(lines.written).toEqual([]);
    await clock.advance(10_000);
    expect(lines.written).toEqual([1]);
    await field.close();
  });

  it('waits no longer for its time, and its output goes off', async () => {
    const lines = new FewLines();
    const field = await open(await pump('kind: gpio-input', rule), { openPorts: () => lines.ports });
    field.sampler.start(never);
    lines.level = 1;
    await clock.advance(15_000);
    lines.level = new AgentError('hardware/gpio-failed', 'pulled out', { recovery: 'retry' });
    await clock.advance(10 * MINUTE_MS);
    expect(lines.written).toEqual([0]);
    await field.close();
  });
});

it('a changed program that a sensor and an output share waits for the restart', async () => {
  const begun: (readonly string[])[] = [];
  const share = { set: async () => {}, state: () => undefined, onMessage: () => () => {}, close: async () => {} };
  const programs = {
    open: (settings: { readonly arguments: readonly string[] }) => {
      begun.push(settings.arguments);
      return share;
    },
  };
  const openPorts = () => ({ programs, close: async () => {} }) as unknown as ReturnType<typeof thisMachine.openPorts>;
  const shared = (argument: string, period: string) =>
    configOf(`${SMALLEST}
stateFolder: /state
runFolder: /run
sensors:
  - { name: level, kind: process, program: /bin/cat, arguments: [${argument}], period: ${period} }
actuators:
  - { name: pump, kind: process, program: /bin/cat, arguments: [${argument}], valueType: boolean }
`);
  const field = await open(await shared('a', '10s'), { openPorts });
  field.sampler.start(never);
  const begins = async (...wanted: readonly string[]): Promise<void> =>
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(begun.flat()).toEqual(wanted);
    });
  await begins('a');
  await field.configure(await shared('b', '20s'));
  await begins('a', 'a');
  await field.close();
});
