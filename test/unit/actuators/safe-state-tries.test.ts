/** How "off" that the hardware refuses is tried again: when, for how long, for whom, and what is said of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorSlot, type Movement } from '../../../src/actuators/actuator-slot.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import { SafeStates, stopValue } from '../../../src/actuators/safe-states.ts';
import { english } from '../../../src/names/sentences.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const NONE = { changedAtMs: undefined, switchedOnAtMs: [] };

let clock: FakeClock;
let moves: (Movement & { readonly atMs: number })[];
let alarms: (readonly [string, string | undefined])[];
let infos: object[];
let warnings: { readonly tries: number; readonly error: string }[];
/** Thrown instead of moving. */
let refusal: Error | undefined;
let states: SafeStates;
let driver: FakeActuator;
let slot: ActuatorSlot;

function pin(name: string): ActuatorSlot {
  const record = new PinRecord({ settings: relaySettings(name, { deadlineMs: 60_000 }), clock, history: NONE });
  driver = new FakeActuator();
  const made: ActuatorSlot = new ActuatorSlot({
    record,
    driver,
    clock,
    onChange: () => states.update(made),
    onDue: () => {},
  });
  record.learn(false);
  return made;
}

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: 100_000 });
  [moves, alarms, infos, warnings] = [[], [], [], []];
  refusal = undefined;
  const log = {
    debug: () => {},
    error: () => {},
    info: (fields: object) => void infos.push(fields),
    warn: (fields: object) => void warnings.push(fields as never),
  };
  states = new SafeStates({
    clock,
    log,
    move: async (one, movement) => {
      moves.push({ ...movement, atMs: clock.monotonicMs() - 100_000 });
      if (refusal !== undefined) throw refusal;
      await one.move(movement, never);
    },
    onAlarm: (actuator, told) => alarms.push([actuator, told && english(told)]),
  });
  slot = pin('pin');
});

const refuses = (value?: boolean): void => {
  driver.beforeWrite = (told) => {
    if (value === undefined || told === value) throw new Error('bus busy');
  };
};
const times = (): readonly number[] => moves.map(({ atMs }) => atMs);

describe('off that is refused', () => {
  it('is tried again soon and then every two seconds, in the name of whoever asked', async () => {
    refuses(false);
    driver.shown = true;
    slot.record.learn(true);
    await slot.move({ value: false, by: 'rpc' }, never).catch(() => {});
    expect(alarms).toEqual([['pin', 'pin does not switch off: bus busy']]);
    await clock.advance(7_200);
    expect(times()).toEqual([100, 300, 700, 1_500, 3_100, 5_100, 7_100]);
    expect(moves[0]).toMatchObject({ value: false, by: 'rpc', urgent: true, repeats: true });
    expect([slot.record.writes, infos]).toEqual([1, []]);
    driver.beforeWrite = () => {};
    await clock.advance(2_000);
    expect([driver.told, alarms.slice(1)]).toEqual([[false], [['pin', undefined]]]);
    expect(clock.pending).toBe(0);
  });

  it('is over when a try was not answered and the hardware shows that it is off', async () => {
    refuses(false);
    slot.record.learn(true);
    driver.shown = true;
    await slot.move({ value: false, by: 'rpc' }, never).catch(() => {});
    expect(alarms.length).toBe(1);
    driver.shown = false;
    await clock.advance(10_000);
    expect([times(), alarms.slice(1)]).toEqual([[100], [['pin', undefined]]]);
  });

  it('is one alarm, whoever else asks for it meanwhile', async () => {
    refuses(false);
    slot.record.learn(true);
    driver.shown = true;
    await slot.move({ value: false, by: 'rpc' }, never).catch(() => {});
    await slot.move({ value: false, by: 'local' }, never).catch(() => {});
    await clock.advance(2_000);
    expect(alarms).toEqual([['pin', 'pin does not switch off: bus busy']]);
  });

  it('whose state is not known says so, where no fault is known', async () => {
    slot.record.want(false, 'rule');
    slot.record.lose('CRC');
    states.update(slot);
    expect(alarms).toEqual([['pin', 'pin does not switch off: CRC']]);
    await clock.advance(100);
    expect([driver.told, alarms.at(-1)]).toEqual([[false], ['pin', undefined]]);
    slot.record.want(false, 'rule');
    slot.record.learn(true);
    states.update(slot);
    expect(alarms.at(-1)).toEqual(['pin', 'pin does not switch off: its state is not known']);
  });

  it('is not judged while a movement is under way', () => {
    slot.record.learn(true);
    const held = Promise.withResolvers<void>();
    driver.beforeWrite = () => held.promise;
    void slot.move({ value: false, by: 'rpc' }, never).catch(() => {});
    expect(slot.isMoving).toBe(true);
    states.update(slot);
    expect([alarms, slot.record.refusesOff]).toEqual([[], true]);
    held.resolve();
  });

  it('is over when someone wants it on again', async () => {
    refuses(false);
    slot.record.learn(true);
    driver.shown = true;
    await slot.move({ value: false, by: 'rpc' }, never).catch(() => {});
    await slot.move({ value: true, by: 'local' }, never);
    expect(alarms.at(-1)).toEqual(['pin', undefined]);
    const tried = moves.length;
    await clock.advance(10_000);
    expect(moves.length).toBe(tried);
  });

  it('is tried no further when it turns out to be off by itself', async () => {
    refusal = new Error('nobody moves');
    slot.record.want(false, 'rpc');
    slot.record.learn(true);
    states.update(slot);
    slot.record.learn(false);
    await clock.advance(10_000);
    expect([moves, alarms.at(-1)]).toEqual([[], ['pin', undefined]]);
  });
});

it('all that are off are set before any that is on, and those in their order', async () => {
  const [a, b, c] = [pin('a'), pin('b'), pin('c')];
  const order: unknown[] = [];
  const held = Promise.withResolvers<void>();
  states = new SafeStates({
    clock,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    move: async ({ settings }, { value }) => {
      order.push([settings.name, value]);
      if (settings.name === 'b') await held.promise;
    },
    onAlarm: () => {},
  });
  const setting = states.setAll([
    { slot: a, value: true },
    { slot: b, value: false },
    { slot: c, value: true },
  ]);
  await clock.advance(0);
  expect(order).toEqual([['b', false]]);
  held.resolve();
  await setting;
  expect(order).toEqual([
    ['b', false],
    ['a', true],
    ['c', true],
  ]);
});

it('a stop owes a text that means off, and is refused, once more', () => {
  const record = new PinRecord({ settings: relaySettings('sign', { valueType: 'string' }), clock, history: NONE });
  const sign = new ActuatorSlot({
    record,
    driver: new FakeActuator('open'),
    clock,
    onChange: () => {},
    onDue: () => {},
  });
  record.learn('open');
  expect(stopValue(sign)).toEqual([]);
  record.want('', 'rpc');
  expect(stopValue(sign)).toEqual([{ slot: sign, value: '' }]);
  record.learn('');
  expect(stopValue(sign)).toEqual([]);
});
