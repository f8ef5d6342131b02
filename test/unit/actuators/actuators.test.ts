/** What of all that moves ends in which order. */
import { expect, it } from 'vitest';
import { Actuators } from '../../../src/actuators/actuators.ts';
import { type AgentConfig, configSchema } from '../../../src/config/schema/agent-config.ts';
import { silentLog } from '../../../src/host/log.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FewLines } from '../../support/few-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

interface Opened {
  readonly config: AgentConfig;
  readonly side: Actuators;
  readonly clock: FakeClock;
  readonly files: MemoryFiles;
  readonly lines: FewLines;
  readonly events: unknown[];
}

async function open(sensor: object, safe: object): Promise<Opened> {
  const [clock, files, lines, events] = [new FakeClock(), new MemoryFiles(), new FewLines(), [] as unknown[]];
  const config = configSchema.parse({
    version: 1,
    platform: { url: 'http://platform', accessToken: 'secret-token' },
    stateFolder: '/state',
    runFolder: '/run',
    sensors: [{ name: 'room', kind: 'host', period: '1s', ...sensor }],
    actuators: [{ name: 'fan', kind: 'gpio-output', line: 'GPIO17', safe }],
    rules: [
      {
        name: 'warm',
        when: { sensor: 'room', key: 'temperature', above: 30 },
        set: { actuator: 'fan', value: true },
        otherwise: false,
      },
    ],
  });
  const deps = {
    config,
    ports: lines.ports,
    clock,
    files,
    runProgram,
    log: silentLog,
    onRuleEvent: (event: unknown) => events.push(event),
    report: () => {},
    alerts: { raise: () => {}, clear: () => {} },
    localTime: () => undefined,
  };
  return { side: await Actuators.open(deps, new AbortController().signal), config, clock, files, lines, events };
}

it('rules learn nothing and move nothing from the moment of a stop on', async () => {
  const { side, clock, files, lines, events } = await open({}, { stop: false });
  const closing = side.close();
  side.rules.take('room', 'temperature', 40);
  await clock.advance(10_000);
  await closing;
  expect([
    events,
    lines.written.includes(1),
    files.contentOf('/state/outputs.json').toString().includes('"phase":"set"'),
  ]).toEqual([[], false, false]);
});

it.each([
  ['its period and deadline', { period: '1h', deadline: '30s' }, 3_630],
  ['its window too', { period: '10s', deadline: '2s', window: { length: '1h' } }, 3_612],
])('a rule loses its sensor when three values that were due did not come: %s', async (_what, sensor, nextWithinS) => {
  const { side, clock, lines } = await open(sensor, { start: false, noContact: { after: '10m', value: false } });
  side.rules.take('room', 'temperature', 40);
  await clock.advance(3 * nextWithinS * 1_000);
  expect(lines.written.at(-1)).toBe(1);
  await clock.advance(1_000);
  expect(lines.written.at(-1)).toBe(0);
  await side.close();
});

it('a rule goes on where a reload renames its actuator, until the restart that opens it', async () => {
  const { side, config, clock, lines, events } = await open({}, {});
  side.rules.take('room', 'temperature', 40);
  await clock.advance(2_000);
  const renamed = JSON.parse(JSON.stringify(config).replaceAll('"fan"', '"cabinetFan"')) as AgentConfig;
  side.configure(renamed);
  for (let n = 0; n < 3; n += 1) {
    side.rules.take('room', 'temperature', 40);
    await clock.advance(1_000);
  }
  expect([lines.written.at(-1), events]).toEqual([1, [{ rule: 'warm', on: true }]]);
  side.rules.take('room', 'temperature', 20);
  await clock.advance(2_000);
  expect(lines.written.at(-1)).toBe(0);
  await side.close();
});
