import { beforeEach, describe, expect, it } from 'vitest';
import { reopeningDriver } from '../../../src/actuators/open-driver.ts';
import type { ActuatorConfigOf } from '../../../src/config/agent-config.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { FakeActuator } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const config: ActuatorConfigOf<'gpio-output'> = {
  ...{ name: 'relay', kind: 'gpio-output', enabled: true, desiredKey: 'relay', stateKey: 'relayState', restore: false },
  ...{ safe: {}, limits: {}, interlocks: [], line: 'GPIO17', activeLow: false, maxPulseMs: 1_000 },
};
let opened: FakeActuator[];
let isThere: boolean;

beforeEach(() => {
  opened = [];
  isThere = true;
});

const driver = () =>
  reopeningDriver(config, { ports: {} as Ports, clock: new FakeClock() }, async () => {
    if (!isThere) throw new Error('no such chip');
    const fresh = new FakeActuator();
    opened.push(fresh);
    return fresh;
  });

describe('a driver that reopens', () => {
  it('opens nothing before its first use, and then once', async () => {
    const relay = driver();
    expect(opened.length).toBe(0);
    await Promise.all([relay.write(true, never), relay.read?.(never)]);
    expect([opened.length, opened[0]?.told]).toEqual([1, [true]]);
  });

  it('opens again at the next use when the hardware was not there', async () => {
    isThere = false;
    const relay = driver();
    await expect(relay.write(true, never)).rejects.toThrow('no such chip');
    isThere = true;
    await relay.write(true, never);
    expect(opened.length).toBe(1);
  });

  it('keeps the line through single faults, and takes it anew after three in a row', async () => {
    const relay = driver();
    await relay.write(true, never);
    const first = opened[0] as FakeActuator;
    let fails = true;
    first.beforeWrite = () => {
      if (fails) throw new Error('gone');
    };
    for (const _time of [1, 2]) await expect(relay.write(false, never)).rejects.toThrow('gone');
    fails = false;
    await relay.write(false, never);
    fails = true;
    for (const _time of [1, 2]) await expect(relay.write(true, never)).rejects.toThrow('gone');
    expect([first.closed, opened.length]).toEqual([false, 1]);
    await expect(relay.write(true, never)).rejects.toThrow('gone');
    expect(first.closed).toBe(true);
    await relay.write(true, never);
    expect([opened.length, opened[1]?.told]).toEqual([2, [true]]);
  });

  it('gives the hardware back once', async () => {
    const relay = driver();
    await relay.write(true, never);
    await relay.close();
    await relay.close();
    expect(opened[0]?.closed).toBe(true);
    await driver().close();
    expect(opened.length).toBe(1);
  });
});
