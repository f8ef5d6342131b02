/** One pin's turns by themselves: what queues, what goes first, what a reading beside a write is worth, and what becomes of a write that comes late. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorSlot, type Movement } from '../../../src/actuators/actuator-slot.ts';
import type { ActuatorDriver, ActuatorValue, LateAnswer, Writer } from '../../../src/actuators/kind/actuator.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import { retryable } from '../../../src/errors/agent-error.ts';
import { codeOf } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const NONE = { changedAtMs: undefined, switchedOnAtMs: [] };

/** Answers when the test says so. */
class HeldDriver {
  readonly writes: {
    readonly value: ActuatorValue;
    readonly signal: AbortSignal;
    done(): void;
    fail(error: Error): void;
  }[] = [];
  readonly reads: { shows(value: ActuatorValue): void; fail(error: Error): void; readonly signal: AbortSignal }[] = [];
  closed = 0;

  write(value: ActuatorValue, signal: AbortSignal): Promise<void> {
    return new Promise((done, fail) => this.writes.push({ value, signal, done, fail }));
  }

  read: ((signal: AbortSignal) => Promise<ActuatorValue>) | undefined = (signal) =>
    new Promise((shows, fail) => this.reads.push({ shows, fail, signal }));

  answersLate: LateAnswer = () => {};

  onLateAnswer(listener: LateAnswer): void {
    this.answersLate = listener;
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

let clock: FakeClock;
let driver: HeldDriver;
let record: PinRecord;
let slot: ActuatorSlot;
let changes: number;

const settled = (): Promise<void> => clock.advance(0);

function open(): void {
  record = new PinRecord({ settings: relaySettings('pin', { deadlineMs: 1_000 }), clock, history: NONE });
  const onChange = (): void => {
    changes += 1;
  };
  // Types keep a driver from having no `read` and the word for it at once.
  slot = new ActuatorSlot({ record, driver: driver as ActuatorDriver, clock, onChange, onDue: () => {} });
}

/** A pin that cannot be asked, and is known to be off. */
function openDeaf(): void {
  driver.read = undefined;
  open();
  record.learn(false);
}

function move(
  value: ActuatorValue,
  rest: Partial<Movement> & { readonly signal?: AbortSignal; readonly by?: Writer } = {},
): Promise<unknown> {
  const { signal = never, ...movement } = rest;
  return codeOf(slot.move({ value, by: 'rpc', ...movement }, signal));
}

const last = <T>(all: readonly T[]): T => all.at(-1) as T;

beforeEach(() => {
  clock = new FakeClock();
  driver = new HeldDriver();
  changes = 0;
  open();
});

describe('a reading', () => {
  it('is what is known, tells of what has changed, and of nothing that has not', async () => {
    const asked = slot.refresh(never);
    last(driver.reads).shows(true);
    expect([await asked, record.value, changes]).toEqual([true, true, 1]);
    const again = slot.refresh(never);
    last(driver.reads).shows(true);
    expect([await again, changes]).toEqual([true, 1]);
    record.blame('shows off, was set to on');
    const mended = slot.refresh(never);
    last(driver.reads).shows(true);
    await mended;
    expect([record.state.fault, changes]).toEqual([undefined, 2]);
  });

  it('that fails leaves nothing known, and says why', async () => {
    record.learn(true);
    const asked = slot.refresh(never);
    last(driver.reads).fail(new Error('CRC'));
    expect([await asked, record.value, record.state.fault, changes]).toEqual([undefined, undefined, 'CRC', 1]);
    const again = slot.refresh(never);
    last(driver.reads).fail(new Error('no answer'));
    await again;
    expect([record.state.fault, changes]).toEqual(['no answer', 2]);
  });

  it('beside a movement says nothing, whichever of them ends first', async () => {
    record.learn(false);
    const before = slot.refresh(never);
    const moving = move(true);
    await settled();
    const during = slot.refresh(never);
    driver.reads[0]?.shows(false);
    await before;
    driver.reads[1]?.fail(new Error('CRC'));
    await during;
    expect([record.value, record.state.fault]).toEqual([false, undefined]);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    expect([await moving, record.value]).toEqual(['moved', true]);
  });

  it('that was begun before a movement which has ended says nothing', async () => {
    const old = slot.refresh(never);
    const moving = move(true);
    await settled();
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    await moving;
    driver.reads[0]?.shows(false);
    expect([await old, record.value]).toEqual([false, true]);
    const older = slot.refresh(never);
    const once = move(false);
    await settled();
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    await once;
    driver.reads[2]?.fail(new Error('CRC'));
    expect([await older, record.value]).toEqual([undefined, false]);
  });

  it('that nobody waits for any longer says nothing', async () => {
    record.learn(false);
    for (const outcome of ['shows', 'fails']) {
      const caller = new AbortController();
      const asked = slot.refresh(caller.signal);
      caller.abort();
      if (outcome === 'shows') last(driver.reads).shows(true);
      else last(driver.reads).fail(new Error('CRC'));
      await asked;
      expect([record.value, record.state.fault]).toEqual([false, undefined]);
    }
  });

  it('of what cannot be asked is what was written last', async () => {
    openDeaf();
    expect([slot.readable, await slot.refresh(never)]).toEqual([false, false]);
    expect(changes).toBe(0);
  });

  it('is made again every ten seconds while nothing is known, and no longer', async () => {
    record.lose('bus busy');
    const asked = slot.refresh(never);
    last(driver.reads).fail(new Error('CRC'));
    await asked;
    await clock.advance(9_999);
    expect(driver.reads.length).toBe(1);
    await clock.advance(1);
    expect(driver.reads.length).toBe(2);
    last(driver.reads).shows(true);
    await clock.advance(60_000);
    expect(driver.reads.length).toBe(2);
  });

  it('is not made again of what cannot be asked, beside a movement, or once it is closed', async () => {
    openDeaf();
    record.lose('bus busy');
    const failing = move(false);
    await settled();
    last(driver.writes).fail(new Error('bus busy'));
    await failing;
    expect(clock.pending).toBe(0);
    driver = new HeldDriver();
    open();
    const asked = slot.refresh(never);
    last(driver.reads).fail(new Error('CRC'));
    await asked;
    const moving = move(true);
    await settled();
    const beside = slot.refresh(never);
    last(driver.reads).fail(new Error('CRC'));
    await beside;
    // The movement's own deadline.
    expect(clock.pending).toBe(1);
    last(driver.writes).fail(new Error('bus busy'));
    await settled();
    last(driver.reads).fail(new Error('CRC'));
    await moving;
    expect(clock.pending).toBe(1);
    await slot.close();
    expect([clock.pending, driver.closed]).toEqual([0, 1]);
    const late = slot.refresh(never);
    last(driver.reads).fail(new Error('CRC'));
    await late;
    expect(clock.pending).toBe(0);
  });
});

describe('movements', () => {
  it('that switch on go one after the other, and each is read back', async () => {
    record.learn(false);
    const [first, second] = [move(true), move(true)];
    await settled();
    expect([driver.writes.length, slot.isMoving]).toEqual([1, true]);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    expect(await first).toBe('moved');
    await settled();
    expect([driver.writes.length, slot.isMoving]).toEqual([2, true]);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    expect(await second).toBe('actuators/not-moved');
    expect([record.value, record.state.fault, slot.isMoving]).toEqual([false, 'shows off, was set to on', false]);
  });

  it('that the hardware took are believed when it cannot be asked, then or ever', async () => {
    const moving = move(true);
    await settled();
    last(driver.writes).done();
    await settled();
    last(driver.reads).fail(new Error('CRC'));
    expect([await moving, record.value, record.state.fault]).toEqual(['moved', true, undefined]);
    openDeaf();
    const deaf = move(true);
    await settled();
    last(driver.writes).done();
    expect([await deaf, record.value]).toEqual(['moved', true]);
  });

  it('that fail leave what the hardware shows then, or nothing, and a fault while it is not as desired', async () => {
    record.learn(false);
    const failing = move(true);
    await settled();
    last(driver.writes).fail(new Error('bus busy'));
    await settled();
    last(driver.reads).shows(false);
    expect([await failing, record.value, record.state.fault]).toEqual(['bus busy', false, 'bus busy']);
    const moved = move(true);
    await settled();
    last(driver.writes).fail(new Error('bus busy'));
    await settled();
    last(driver.reads).shows(true);
    expect([await moved, record.value, record.state.fault]).toEqual(['bus busy', true, undefined]);
    const again = move(true);
    await settled();
    last(driver.writes).fail(new Error('bus busy'));
    await settled();
    last(driver.reads).fail(new Error('CRC'));
    expect([await again, record.value, record.state.fault]).toEqual(['bus busy', undefined, 'bus busy']);
  });

  it('that switch off end what is under way and what waits, and no caller can end them', async () => {
    record.learn(false);
    const caller = new AbortController();
    const [first, second] = [move(true), move(true)];
    await settled();
    const off = move(false, { signal: caller.signal });
    caller.abort();
    await settled();
    expect([await first, await second]).toEqual(['actuators/overridden', 'actuators/overridden']);
    expect(driver.writes[0]?.signal.aborted).toBe(true);
    driver.writes[0]?.fail(new Error('stopped'));
    await settled();
    expect(driver.writes.map(({ value }) => value)).toEqual([true, false]);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    expect([await off, record.value]).toEqual(['moved', false]);
  });

  it('that switch off wait for hardware that does not let go for a moment only', async () => {
    record.learn(false);
    const on = move(true);
    await settled();
    const off = move(false);
    await clock.advance(199);
    expect(driver.writes.length).toBe(1);
    await clock.advance(1);
    expect([driver.writes.length, last(driver.writes).value]).toEqual([2, false]);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    expect([await on, await off]).toEqual(['actuators/overridden', 'moved']);
    // What was told to stop and went on is found out.
    driver.writes[0]?.done();
    await settled();
    expect([record.value, record.refusesOff]).toEqual([undefined, true]);
    last(driver.reads).shows(true);
    await settled();
    expect([record.value, driver.reads.length]).toEqual([true, 2]);
  });

  it('that switch off are one when they are asked for twice, and another urgent value ends them', async () => {
    record.learn(true);
    const [first, second] = [move(false), move(false)];
    await settled();
    expect([driver.writes.length, record.writes]).toEqual([1, 2]);
    const on = move(true, { by: 'safe-state', urgent: true });
    await settled();
    expect([await first, await second]).toEqual(['actuators/overridden', 'actuators/overridden']);
    driver.writes[0]?.fail(new Error('stopped'));
    await settled();
    expect(last(driver.writes).value).toBe(true);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    expect(await on).toBe('moved');
    const off = move(false);
    await settled();
    expect(last(driver.writes).value).toBe(false);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    expect(await off).toBe('moved');
  });

  it('that are asked for after something urgent wait for it', async () => {
    record.learn(true);
    const off = move(false);
    await settled();
    const on = move(true);
    await settled();
    expect(driver.writes.length).toBe(1);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    await off;
    await settled();
    expect(last(driver.writes).value).toBe(true);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    expect(await on).toBe('moved');
  });

  it('that nobody waits for any longer move nothing when their turn comes', async () => {
    record.learn(false);
    const caller = new AbortController();
    const [first, given] = [move(true), move(true, { signal: caller.signal })];
    await settled();
    caller.abort();
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    expect([await first, await given]).toEqual(['moved', 'actuators/given-up']);
    expect([driver.writes.length, record.writes, record.mayBeActive]).toEqual([1, 1, true]);
  });

  it('that nobody waits for any longer while they wait for the hardware move nothing', async () => {
    openDeaf();
    const caller = new AbortController();
    const left = move(true);
    await clock.advance(1_000);
    expect(await left).toBe('actuators/deadline-passed');
    const next = move(true, { signal: caller.signal });
    await settled();
    caller.abort();
    expect(await next).toBe('actuators/given-up');
    expect(driver.writes.length).toBe(1);
  });

  it('that nobody waits for any longer before their turn has come end at once, and move nothing later', async () => {
    openDeaf();
    const caller = new AbortController();
    const [first, waiting] = [move(true), move(true, { signal: caller.signal })];
    await settled();
    caller.abort();
    expect(await waiting).toBe('actuators/given-up');
    last(driver.writes).done();
    expect(await first).toBe('moved');
    await settled();
    expect(driver.writes.length).toBe(1);
  });

  it('that have begun go on when nobody waits for them any longer, and end when the slot is closed', async () => {
    openDeaf();
    const caller = new AbortController();
    const begun = move(true, { signal: caller.signal });
    await settled();
    caller.abort();
    await settled();
    expect([last(driver.writes).signal.aborted, record.value]).toEqual([false, false]);
    last(driver.writes).done();
    expect([await begun, record.value]).toEqual(['moved', true]);
    const closed = move(true);
    await settled();
    await slot.close();
    expect([await closed, last(driver.writes).signal.aborted]).toEqual(['actuators/given-up', true]);
  });

  it('ask last whether they may, and write nothing when they may not', async () => {
    record.learn(false);
    const permit = (): void => {
      throw new Error('a gate has closed');
    };
    expect(await move(true, { permit })).toBe('a gate has closed');
    expect([driver.writes.length, record.writes, record.mayBeActive, slot.isMoving]).toEqual([0, 0, false, false]);
  });

  it('have nothing kept for them once nobody waits for them, and do not begin when somebody goes first while it is kept', async () => {
    record.learn(false);
    const kept: string[] = [];
    const disk = Promise.withResolvers<void>();
    const keep = async (): Promise<void> => {
      kept.push('asked');
      await disk.promise;
    };
    const caller = new AbortController();
    const first = move(true);
    const given = move(true, { keep, signal: caller.signal });
    await settled();
    caller.abort();
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(true);
    expect([await first, await given, kept]).toEqual(['moved', 'actuators/given-up', []]);
    const pulse = move(true, { keep });
    await settled();
    const off = move(false);
    await settled();
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    expect(await off).toBe('moved');
    disk.resolve();
    expect([await pulse, kept, record.value]).toEqual(['actuators/overridden', ['asked'], false]);
    expect(driver.writes.map(({ value }) => value)).toEqual([true, false]);
  });

  it('are told of as the driver goes on: taken late is taken, and a minute later it is given up', async () => {
    openDeaf();
    const moving = move(true);
    await clock.advance(1_000);
    expect([await moving, record.value, record.mayBeOn]).toEqual(['actuators/deadline-passed', undefined, true]);
    const told = changes;
    last(driver.writes).done();
    await settled();
    expect([record.value, changes]).toEqual([true, told + 1]);
    record.learn(false);
    const hanging = move(true);
    await clock.advance(1_000);
    await hanging;
    record.learn(false);
    expect(record.mayBeOn).toBe(true);
    await clock.advance(59_999);
    expect(record.mayBeOn).toBe(true);
    const before = changes;
    await clock.advance(1);
    expect([record.mayBeOn, changes]).toEqual([false, before + 1]);
    last(driver.writes).done();
    await settled();
    expect(record.value).toBe(true);
  });

  it('that are taken late say nothing when another one was begun since', async () => {
    openDeaf();
    const first = move(true);
    await clock.advance(1_000);
    const second = move(false);
    await clock.advance(1_200);
    expect([await first, await second]).toEqual(['actuators/deadline-passed', 'actuators/deadline-passed']);
    driver.writes[0]?.done();
    await settled();
    expect([record.value, record.mayBeOn]).toEqual([undefined, true]);
    driver.writes[1]?.done();
    await settled();
    expect([record.value, record.mayBeOn]).toEqual([false, false]);
  });

  it('that fail late may have moved all the same: nobody knows until it is read or written again', async () => {
    openDeaf();
    const moving = move(true);
    await clock.advance(1_000);
    await moving;
    record.learn(false);
    last(driver.writes).fail(new Error('stopped'));
    await settled();
    expect([record.value, record.mayBeOn, clock.pending]).toEqual([undefined, true, 0]);
    record.learn(false);
    expect(record.mayBeOn).toBe(false);
  });

  it('that fail late are looked at, and what is shown then is no fault', async () => {
    const moving = move(true);
    await settled();
    record.learn(false);
    await clock.advance(1_000);
    for (const { fail } of driver.reads) fail(new Error('busy'));
    await clock.advance(500);
    expect(await moving).toBe('actuators/deadline-passed');
    last(driver.writes).fail(new Error('stopped'));
    await settled();
    last(driver.reads).shows(false);
    await settled();
    expect([record.value, record.state.fault]).toEqual([false, undefined]);
  });

  it('that end when all is closed are not asked about', async () => {
    record.learn(false);
    const on = move(true);
    await settled();
    const off = move(false);
    await clock.advance(200);
    last(driver.writes).done();
    await settled();
    last(driver.reads).shows(false);
    await Promise.all([on, off]);
    await slot.close();
    const asked = driver.reads.length;
    driver.writes[0]?.done();
    await settled();
    expect([record.value, driver.reads.length]).toEqual([undefined, asked]);
  });

  it('leave nothing behind when all is closed', async () => {
    openDeaf();
    const moving = move(true);
    await clock.advance(1_000);
    await moving;
    expect(clock.pending).toBe(1);
    await slot.close();
    expect(clock.pending).toBe(0);
  });
});

it('a write without an answer is known as soon as its answer comes after all', async () => {
  openDeaf();
  const outcome = move(true, { by: 'rpc' });
  await settled();
  driver.writes[0]?.fail(retryable('hardware/outcome-unknown', 'no answer'));
  expect(await outcome).toBe('actuators/outcome-unknown');
  expect(slot.unanswered).toBe(true);
  driver.answersLate(true);
  await settled();
  expect([slot.unanswered, record.value, record.state.fault]).toEqual([undefined, true, undefined]);
  await clock.advance(60_000);
  expect(record.value).toBe(true);
});

it('a write without an answer is refused as soon as its refusal comes after all', async () => {
  openDeaf();
  const outcome = move(true, { by: 'rpc' });
  await settled();
  driver.writes[0]?.fail(retryable('hardware/outcome-unknown', 'no answer'));
  await outcome;
  driver.answersLate(undefined, 'the valve is stuck');
  await settled();
  expect([slot.unanswered, record.value, record.state.fault]).toEqual([undefined, undefined, 'the valve is stuck']);
  const again = move(true);
  await settled();
  driver.writes[1]?.done();
  expect(await again).toBe('moved');
  expect(record.value).toBe(true);
});
