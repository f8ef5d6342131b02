/** Each gate by itself: whom it stops, and whom it lets pass. */
import { beforeEach, expect, it } from 'vitest';
import { disabledExcluder, Gates } from '../../../src/actuators/gates.ts';
import type { ActuatorSettings, ActuatorValue, Writer } from '../../../src/actuators/kind/actuator.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ALL: readonly Writer[] = ['rpc', 'shared', 'rule', 'restore', 'local', 'safe-state'];
let clock: FakeClock;
let locked: boolean;
let closing: AbortController;
let gates: Gates;
let records: PinRecord[];

function pins(...settings: readonly ActuatorSettings[]): void {
  records = settings.map(
    (each) => new PinRecord({ settings: each, clock, history: { changedAtMs: undefined, switchedOnAtMs: [] } }),
  );
  for (const record of records) record.learn(false);
  gates = new Gates({ records, locked: () => locked, closing: closing.signal, clock });
}

function outcomeOf(act: () => unknown): unknown {
  try {
    act();
    return 'passes';
  } catch (error) {
    const { code, recovery } = error as { code: string; recovery: string };
    return `${code.replace('actuators/', '')} ${recovery}`;
  }
}

const permit = (value: ActuatorValue, by: Writer, at = 0): unknown =>
  outcomeOf(() => gates.permit(records[at] as PinRecord, value, by));
const check = (value: unknown, by: Writer, at = 0): unknown =>
  outcomeOf(() => gates.check(records[at] as PinRecord, value, by));
const messageOf = (act: () => unknown): string => {
  try {
    act();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

beforeEach(() => {
  clock = new FakeClock();
  locked = false;
  closing = new AbortController();
});

it('lockout stops whoever is far from switching on, and nobody from switching off', () => {
  pins(relaySettings('a'));
  locked = true;
  const stopped = 'locked-out hold';
  expect(ALL.map((by) => permit(true, by))).toEqual([stopped, stopped, stopped, stopped, 'passes', 'passes']);
  expect(ALL.map((by) => permit(false, by))).toEqual(ALL.map(() => 'passes'));
  locked = false;
  expect(ALL.map((by) => permit(true, by))).toEqual(ALL.map(() => 'passes'));
});

it('a stop ends everything but safe states', () => {
  pins(relaySettings('a'));
  closing.abort();
  expect(ALL.map((by) => permit(false, by))).toEqual([...Array(5).fill('closing drop'), 'passes']);
  expect([permit(true, 'safe-state'), permit(true, 'local')]).toEqual(['passes', 'closing drop']);
  expect([check(true, 'safe-state'), check(false, 'rpc')]).toEqual(['closing drop', 'closing drop']);
});

it('an interlock holds both ways, for everyone, and against switching on only', () => {
  pins(relaySettings('up', { neverWith: [{ with: 'down', gapMs: 0 }] }), relaySettings('down'), relaySettings('lamp'));
  const [up, down] = records as [PinRecord, PinRecord];
  expect([permit(true, 'rpc', 0), permit(true, 'rpc', 1), permit(true, 'rpc', 2)]).toEqual([
    'passes',
    'passes',
    'passes',
  ]);
  down.learn(true);
  expect(ALL.map((by) => permit(true, by, 0))).toEqual(ALL.map(() => 'interlocked retry'));
  expect([permit(false, 'rpc', 0), permit(true, 'rpc', 1), permit(true, 'rpc', 2)]).toEqual([
    'passes',
    'passes',
    'passes',
  ]);
  expect(messageOf(() => gates.permit(up, true, 'rpc'))).toBe('up is never on together with down, and it is active');
  down.learn(false);
  up.lose('CRC');
  expect(permit(true, 'rpc', 1)).toBe('interlocked retry');
  expect(messageOf(() => gates.permit(down, true, 'rpc'))).toBe(
    'down is never on together with up, and its state is not known',
  );
  up.learn(false);
  up.claim(true);
  expect(permit(true, 'rpc', 1)).toBe('interlocked retry');
});

it('a value and its times are looked at before all is claimed', () => {
  pins(relaySettings('a', { limits: { minOffMs: 1_000 } }));
  const record = records[0] as PinRecord;
  expect([check('up', 'rpc'), gates.check(record, true, 'rpc')]).toEqual(['wrong-type drop', true]);
  const claim = record.claim(false);
  record.learn(true);
  record.begin(claim);
  record.took(claim);
  expect([check(true, 'rpc'), permit(true, 'rpc')]).toEqual(['min-off retry', 'passes']);
  locked = true;
  expect(check(true, 'rpc')).toBe('locked-out hold');
});

it('one that is disabled counts as not known to be off, whoever of the two names the other', () => {
  for (const [own, other] of [
    [[{ with: 'b', gapMs: 0 }], []],
    [[], [{ with: 'a', gapMs: 0 }]],
  ] as const) {
    pins(relaySettings('a', { neverWith: own }));
    const [record] = records as [PinRecord];
    const disabled = disabledExcluder(relaySettings('b', { neverWith: other }));
    gates = new Gates({ records: [record, disabled], locked: () => locked, closing: closing.signal, clock });
    expect(ALL.map((by) => permit(true, by))).toEqual(ALL.map(() => 'interlocked retry'));
    expect(ALL.map((by) => permit(false, by))).toEqual(ALL.map(() => 'passes'));
    expect(messageOf(() => gates.permit(record, true, 'rpc'))).toBe(
      'a is never on together with b, and its state is not known',
    );
  }
});
