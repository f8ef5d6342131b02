/** A meter that is swapped, and a sensor that moves to another device at a reload. */
import { describe, expect, it } from 'vitest';
import type { DeviceConfig } from '../../../../src/config/schema/devices.ts';
import { DeviceNames } from '../../../../src/devices/device-names.ts';
import { DEVICE_NAMES_FORMAT } from '../../../../src/devices/kept-names.ts';
import { silentLog } from '../../../../src/host/log.ts';
import type { TelemetryEntry } from '../../../../src/outbox/outbox.ts';
import { StateFile } from '../../../../src/store/state-file.ts';
import { DeadbandRules, type KeyRules } from '../../../../src/telemetry/deadband-rules.ts';
import { STANDING_STATES_FORMAT, StandingStates } from '../../../../src/telemetry/standing-states.ts';
import type { JsonValue } from '../../../../src/values/json.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';

async function rulesBench(rules: KeyRules) {
  const clock = new FakeClock();
  const files = new MemoryFiles();
  const entries: TelemetryEntry[] = [];
  let device = 'old';
  const standing = await StandingStates.open(
    new StateFile({ ...STANDING_STATES_FORMAT, path: '/state/standing.json', files, clock, log: silentLog }),
    clock,
  );
  const deadband = new DeadbandRules({
    clock,
    standing,
    rulesFor: () => rules,
    deviceOf: () => device,
    report: (more) => void entries.push(...more),
    identify: ({ key, value }) => {
      if (key === 'serial') device = String(value);
    },
  });
  const answer = (values: Readonly<Record<string, JsonValue>>): void =>
    void deadband.take(
      Object.entries(values).map(([key, value]) => ({
        sensor: 'meter',
        key,
        value,
        bootId: clock.bootId,
        monotonicMs: clock.monotonicMs(),
      })),
    );
  const read = (value: number): void =>
    void deadband.take([
      { sensor: 'meter', key: 'power', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() },
    ]);
  return {
    clock,
    read,
    answer,
    become: (next: string) => {
      device = next;
    },
    of: (one: string) =>
      entries.filter((entry) => entry.device === one).map(({ key, value }) => `${key}=${String(value)}`),
  };
}

describe('the device of a sensor becomes another one', () => {
  it('the new device gets its first value, though it lies within the deadband of the old one’s', async () => {
    const { clock, read, become, of } = await rulesBench({ deadband: 5 });
    read(100);
    become('new');
    for (let times = 0; times < 100; times += 1) {
      await clock.advance(60_000);
      read(101);
    }
    expect(of('old')).toEqual(['power=100']);
    expect(of('new')).toContain('power=101');
  });

  it.each([
    ['energy', 'serial'],
    ['serial', 'volume'],
  ])('an answer of %s and then %s is the new device’s as a whole', async (...keys) => {
    const { answer, of } = await rulesBench({});
    const values = (serial: string, value: number) =>
      Object.fromEntries(keys.map((key) => [key, key === 'serial' ? serial : value]));
    answer(values('old', 900));
    answer(values('new', 0));
    const value = keys.find((key) => key !== 'serial');
    expect([of('old').includes(`${value}=0`), of('new').includes(`${value}=0`)]).toEqual([false, true]);
  });

  it('an alarm that is still on is raised at the new device', async () => {
    const { clock, read, become, of } = await rulesBench({ alarms: [{ name: 'high', above: 50 } as never] });
    read(100);
    expect(of('old').some((one) => one.startsWith('power_alarm='))).toBe(true);
    become('new');
    for (let times = 0; times < 10; times += 1) {
      await clock.advance(60_000);
      read(100);
    }
    expect(of('old').at(-1)).toBe('power_alarm=ok');
    expect(of('new').filter((one) => one.startsWith('power_alarm='))).not.toEqual([]);
  });

  it('a value that waited for its interval goes to the device that it was read of', async () => {
    const { clock, read, become, of } = await rulesBench({ minIntervalMs: 60_000 });
    read(1);
    await clock.advance(1_000);
    read(2);
    become('new');
    await clock.advance(120_000);
    expect(of('new')).toEqual([]);
    expect(of('old')).toEqual(['power=1', 'power=2']);
  });
});

const SLOT = {
  name: 'meter',
  deviceName: '{gateway} {serialNumber}',
  serialNumber: { sensor: 'meter', key: 'serial' },
} as DeviceConfig;

async function namesBench() {
  const clock = new FakeClock();
  const file = new StateFile({
    ...DEVICE_NAMES_FORMAT,
    path: '/state/names.json',
    files: new MemoryFiles(),
    clock,
    log: silentLog,
  });
  const names = await DeviceNames.open({
    file,
    clock,
    log: silentLog,
    gatewayName: () => 'roof',
    matches: () => true,
  });
  names.configure([SLOT]);
  const read = (number: string, times = 2): void => {
    for (let time = 0; time < times; time += 1) names.observe('meter', 'serial', number);
  };
  return { names, read };
}

describe('names', () => {
  it('what was read of the first meter, before its number was, is not the next one’s', async () => {
    const { names, read } = await namesBench();
    // Two days without network: its first readings wait as `?meter`.
    expect(names.idOf('meter')).toBe('?meter');
    read('1111');
    expect(names.resolve('?meter')).toBe('roof 1111');
    read('2222');
    expect(names.resolve('?meter')).toBe('roof 1111');
  });

  it('a device that was removed and made anew still has its serial number', async () => {
    const { names, read } = await namesBench();
    read('1111');
    expect(names.serialNumberOf('roof 1111')).toBe('1111');
    names.forget('roof 1111');
    read('1111', 10);
    expect(names.idOf('meter')).toBe('roof 1111');
    expect(names.serialNumberOf('roof 1111')).toBe('1111');
  });

  it('a removed device that comes back to its slot is no new one of the day', async () => {
    const { names, read } = await namesBench();
    read('1111');
    names.forget('roof 1111');
    read('1111', 3);
    for (const number of ['2222', '3333', '4444', '5555', '6666']) read(number); // The five new devices of the day.
    expect(names.idOf('meter')).toBe('roof 6666');
    read('1111');
    expect(names.idOf('meter')).toBe('roof 1111');
  });

  it('a name of braces is no name at all, and is refused', async () => {
    const { names, read } = await namesBench();
    read('1111');
    expect(() => names.rename('roof 1111', '{}')).toThrow('more than braces');
    expect(names.nameOf('roof 1111')).toBe('roof 1111');
  });
});
