/** One pulse: when it is answered, and who switches off when it fails. */
import { beforeEach, expect, it } from 'vitest';
import type { ActuatorSlot, Movement } from '../../../src/actuators/actuator-slot.ts';
import type { Gates } from '../../../src/actuators/gates.ts';
import { Output } from '../../../src/actuators/output.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import { silentLog } from '../../../src/host/log.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
let record: PinRecord;
let closing: AbortController;
let offs: number;
let answered: unknown;
let fault: Error | undefined;
let begins: boolean;

beforeEach(() => {
  clock = new FakeClock();
  record = new PinRecord({
    settings: relaySettings('pin'),
    clock,
    history: { changedAtMs: undefined, switchedOnAtMs: [] },
  });
  record.learn(false);
  closing = new AbortController();
  [offs, answered, fault, begins] = [0, undefined, undefined, true];
});

async function begin(durationMs: number): Promise<void> {
  const move = async ({ value, pulse: own }: Movement): Promise<void> => {
    const claim = record.claim(value, own);
    if (begins) record.begin(claim);
    if (fault !== undefined) throw fault;
    record.took(claim);
  };
  const output = new Output({
    slot: { record, settings: record.settings } as ActuatorSlot,
    slots: undefined,
    clock,
    log: silentLog,
    gates: {} as Gates,
    save: () => {},
    onRule: () => {},
    onAlarm: () => {},
    onChange: () => {},
    onWaits: () => {},
    move: async (movement) => {
      if (movement.pulse !== undefined) await move(movement);
      else offs += 1;
    },
  });
  void output.begin();
  void output.pulse({ durationMs, by: 'rpc' }, { signal: closing.signal, closing: closing.signal }).then(
    () => {
      answered = 'done';
    },
    (error: Error) => {
      answered = error.message;
    },
  );
  await clock.advance(0);
}

it('is answered at its end up to a second, and when it has begun from there on', async () => {
  await begin(1_000);
  expect([answered, record.state.pulsing]).toEqual([undefined, true]);
  record.learn(false);
  await clock.advance(0);
  expect([answered, offs]).toEqual(['done', 0]);
  answered = undefined;
  await begin(1_001);
  expect([answered, record.state.pulsing]).toEqual(['done', true]);
});

it('is answered when the agent stops', async () => {
  await begin(500);
  closing.abort();
  await clock.advance(0);
  expect(answered).toBe('done');
  answered = undefined;
  await begin(500);
  expect(answered).toBe('done');
});

it('that failed after it had begun is switched off, and the failure told', async () => {
  fault = new Error('bus busy');
  await begin(500);
  expect([answered, offs]).toEqual(['bus busy', 1]);
});

it('that never began is left to whoever is there', async () => {
  fault = new Error('a gate has closed');
  begins = false;
  await begin(500);
  expect([answered, offs]).toEqual(['a gate has closed', 0]);
});
