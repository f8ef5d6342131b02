import { beforeEach, describe, expect, it } from 'vitest';
import { reopeningDriver } from '../../../src/actuators/open-driver.ts';
import type { ActuatorConfigOf } from '../../../src/config/schema/agent-config.ts';
import type { Ports } from '../../../src/hardware/ports.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { FakeActuator } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const config: ActuatorConfigOf<'gpio-output'> = {
  name: 'relay',
  kind: 'gpio-output',
  enabled: true,
  desiredKey: 'relay',
  stateKey: 'relayState',
  telemetry: true,
  restore: false,
  safe: {},
  limits: {},
  interlocks: [],
  operatorUntil: 'ruleChange',
  line: 'GPIO17',
  activeLow: false,
  maxPulseMs: 1_000,
};
let opened: FakeActuator[];
let isThere: boolean;

beforeEach(() => {
  opened = [];
  isThere = true;
});

const driver = () =>
  reopeningDriver(config, { ports: {} as Ports, clock: new FakeClock(), runProgram }, async () => {
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

  it('keeps the line through two faults of its first uses', async () => {
    const broken = new FakeActuator();
    broken.beforeWrite = () => {
      throw new Error('bus busy');
    };
    const relay = reopeningDriver(
      config,
      { ports: {} as Ports, clock: new FakeClock(), runProgram },
      async () => broken,
    );
    for (const isClosed of [false, false, true]) {
      await expect(relay.write(false, never)).rejects.toThrow('bus busy');
      expect(broken.closed).toBe(isClosed);
    }
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

  it('lets go of who gave up while its hardware is still being opened, and opens it once', async () => {
    let openings = 0;
    const relay = reopeningDriver(config, { ports: {} as Ports, clock: new FakeClock(), runProgram }, () => {
      openings += 1;
      return new Promise(() => {});
    });
    for (const _time of [1, 2]) {
      const end = new AbortController();
      const writing = relay.write(false, end.signal);
      end.abort();
      await expect(writing).rejects.toMatchObject({ code: 'hardware/deadline', recovery: 'retry' });
    }
    expect(openings).toBe(1);
  });

  it('counts faults anew once it was opened anew', async () => {
    const relay = driver();
    for (const round of [0, 1]) {
      await relay.write(true, never);
      const current = opened[round] as FakeActuator;
      current.beforeWrite = () => {
        throw new Error('gone');
      };
      for (const isClosed of [false, false, true]) {
        await expect(relay.write(true, never)).rejects.toThrow('gone');
        expect(current.closed).toBe(isClosed);
      }
    }
    expect(opened.length).toBe(2);
  });

  it('says that it cannot be asked when the driver has no way to', async () => {
    const relay = driver();
    await relay.write(true, never);
    (opened[0] as { read: unknown }).read = undefined;
    await expect(relay.read?.(never)).rejects.toMatchObject({ code: 'actuators/unreadable', recovery: 'drop' });
  });

  it('gives the hardware back once, also what was not there', async () => {
    const relay = driver();
    await relay.write(true, never);
    let closings = 0;
    (opened[0] as FakeActuator).close = async () => {
      closings += 1;
    };
    await relay.close();
    await relay.close();
    expect(closings).toBe(1);
    isThere = false;
    const gone = driver();
    const writing = gone.write(true, never).catch(() => {});
    await gone.close();
    await writing;
    isThere = true;
    await driver().close();
    expect(opened.length).toBe(1);
  });

  it('says what is wrong although its hardware hangs when it is given back', async () => {
    const clock = new FakeClock();
    const relay = reopeningDriver(config, { ports: {} as Ports, clock, runProgram }, async () => ({
      write: async () => {
        throw new Error('gone');
      },
      close: () => new Promise(() => {}),
    }));
    for (const _time of [1, 2]) await expect(relay.write(false, never)).rejects.toThrow('gone');
    const third = relay.write(false, never).catch((error: Error) => error.message);
    await clock.advance(500);
    expect(await third).toBe('gone');
  });
});
