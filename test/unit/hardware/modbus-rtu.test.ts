/** Answers that come late on a line where nothing but their shape ties them to a question; the unit is a fake that is as slow as it is told. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { Modbus } from '../../../src/hardware/modbus.ts';
import { rtuFrame } from '../../../src/hardware/modbus-frames.ts';
import type { ModbusLink } from '../../../src/hardware/modbus-port.ts';
import type { SerialPort, SerialPorts } from '../../../src/hardware/serial-port.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const RESPONSE_TIMEOUT_MS = 200;
const registers: Readonly<Record<number, number>> = { 0: 101, 10: 73 };

let clock: FakeClock;
let say: (bytes: Uint8Array) => void;
let asked: number[];
/** Unit's answer to a PDU, its delay, and what it does then. */
let unit: { delayMs: number; answer: (pdu: Uint8Array) => Uint8Array | undefined; does?: (pdu: Uint8Array) => void };
let modbus: Modbus;
let link: ModbusLink;

/** Reads like a unit of the specification: registers, an echo for the loop-back, a refusal for what it does not know. */
function answer(pdu: Uint8Array): Uint8Array {
  const [code = 0, high = 0, low = 0] = pdu;
  const value = registers[(high << 8) | low];
  if (code === 8 || code === 6 || code === 16) return pdu.slice(0, 5);
  if (code !== 3 || value === undefined) return Uint8Array.of(code | 0x80, code === 3 ? 2 : 1);
  return Uint8Array.of(3, 2, value >> 8, value & 0xff);
}

beforeEach(async () => {
  clock = new FakeClock();
  asked = [];
  unit = { delayMs: 10, answer };
  /** Units answer in order, one after the other. */
  let freeAtMs = 0;
  const port: SerialPort = {
    path: '/dev/ttyS9',
    plugged: true,
    write: async (frame) => {
      asked.push(frame[1] ?? 0);
      const { answer: answerOf, does } = unit;
      const reply = answerOf(frame.slice(1, -2));
      freeAtMs = Math.max(freeAtMs, clock.monotonicMs()) + unit.delayMs;
      clock.after(freeAtMs - clock.monotonicMs(), () => does?.(frame.slice(1, -2)));
      if (reply !== undefined) clock.after(freeAtMs - clock.monotonicMs(), () => say(rtuFrame(frame[0] ?? 0, reply)));
    },
    onBytes: (listener) => {
      say = listener;
      return () => {};
    },
    onPlug: () => () => {},
    close: async () => {},
  };
  modbus = new Modbus({ clock, serial: { open: async () => port } as Partial<SerialPorts> as SerialPorts });
  link = await openLink();
});

function openLink(): Promise<ModbusLink> {
  return modbus.open(
    { transport: 'rtu', port: '/dev/ttyS9', baudRate: 9_600, responseTimeoutMs: RESPONSE_TIMEOUT_MS },
    never,
  );
}

/** The value, or the code of the fault. */
async function read(address: number, unitId = 1): Promise<number | string> {
  return await ended(
    link.readRegisters(unitId, { table: 'holding', address, count: 1 }, never).then(([value = -1]) => value),
  );
}

async function ended<T>(work: Promise<T>): Promise<T | string> {
  const result = work.catch((error: { readonly code: string }) => error.code);
  await clock.advance(1_000);
  return await result;
}

describe('a late answer on a serial line', () => {
  it.each([240, 450, 900, 3_000, 7_000])(
    'is never the value of another question, though it comes after %i ms',
    async (delayMs) => {
      unit.delayMs = delayMs;
      for (let round = 0; round < 6; round += 1) {
        expect([101, expect.stringMatching(/^hardware/)]).toContainEqual(await read(0));
        expect(await read(10)).not.toBe(101);
      }
      unit.delayMs = 10;
      await clock.advance(200_000); // the unit works through all it was asked
      expect([await read(0), await read(10)]).toEqual([101, 73]);
    },
  );

  it('is no value of another question either where the line was opened anew meanwhile', async () => {
    unit.delayMs = 1_100;
    expect(await read(0)).toBe('hardware/deadline');
    await link.close();
    link = await openLink();
    expect(await read(10)).not.toBe(101);
    unit.delayMs = 10;
    await clock.advance(20_000);
    expect(await read(10)).toBe(73);
  });

  it('leaves the unit usable at once when it comes, or when the unit answers the loop-back', async () => {
    unit.delayMs = 240;
    expect(await ended(link.readRegisters(1, { table: 'holding', address: 0, count: 1 }, never))).toBe(
      'hardware/deadline',
    );
    unit.delayMs = 10;
    expect(await read(10)).toBe(73);
    unit.answer = () => undefined; // a lost answer
    expect(await read(0)).toBe('hardware/deadline');
    unit.answer = answer;
    expect(await read(10)).toBe(73);
    expect(asked.filter((code) => code === 8)).toHaveLength(1);
  });

  it('is told by a refused loop-back too, and a unit that never answers one is asked again in the end', async () => {
    unit.answer = () => undefined;
    expect(await read(0)).toBe('hardware/deadline');
    unit.answer = (pdu) => (pdu[0] === 8 ? Uint8Array.of(0x88, 1) : answer(pdu));
    expect(await read(10)).toBe(73);
    unit.answer = () => undefined;
    expect(await read(0)).toBe('hardware/deadline');
    unit.answer = (pdu) => (pdu[0] === 8 ? undefined : answer(pdu));
    expect(await read(10)).toBe('hardware/modbus-no-answer');
    await clock.advance(10_000);
    expect(await read(10)).toBe(73);
  });

  it('of one unit does not hold up the others, nor is it theirs', async () => {
    unit.answer = () => undefined;
    expect(await read(0)).toBe('hardware/deadline');
    unit.answer = answer;
    const other = link.readRegisters(2, { table: 'holding', address: 10, count: 1 }, never);
    await clock.advance(5);
    say(rtuFrame(1, Uint8Array.of(3, 2, 0, 101)));
    expect(await ended(other)).toEqual([73]);
    expect(asked).not.toContain(8);
  });

  it('does not confirm a later write of other values to the same registers', async () => {
    unit.delayMs = 240;
    expect(await ended(link.writeRegisters(1, 0, [1, 2], never))).toBe('hardware/deadline');
    const frames: Uint8Array[] = [];
    unit = { delayMs: 10, answer: (pdu) => (pdu[0] === 16 ? void frames.push(pdu) : answer(pdu)) };
    expect(await ended(link.writeRegisters(1, 0, [0, 0], never))).toMatch(/^hardware/);
    expect(frames).toHaveLength(1);
  });

  it('is put together from pieces, its bytes far apart too, and half of one is forgotten', async () => {
    unit.answer = () => undefined;
    const frame = rtuFrame(1, Uint8Array.of(3, 2, 0, 73));
    const whole = link.readRegisters(1, { table: 'holding', address: 10, count: 1 }, never);
    await clock.advance(20);
    say(frame.subarray(0, 3));
    await clock.advance(16);
    say(frame.subarray(3));
    expect(await ended(whole)).toEqual([73]);
    const again = link.readRegisters(1, { table: 'holding', address: 10, count: 1 }, never);
    await clock.advance(10);
    say(frame.subarray(0, 3));
    await clock.advance(101);
    say(frame);
    expect(await ended(again)).toEqual([73]);
    const patient = await modbus.open(
      { transport: 'rtu', port: '/dev/ttyS9', baudRate: 9_600, responseTimeoutMs: 2_000 },
      never,
    );
    const slow = patient.readRegisters(1, { table: 'holding', address: 10, count: 1 }, never);
    for (const byte of frame) {
      await clock.advance(120);
      say(Uint8Array.of(byte));
    }
    expect(await ended(slow)).toEqual([73]);
    unit.answer = answer;
    for (const quietMs of [5_000, 20]) {
      say(frame.subarray(0, 4));
      await clock.advance(quietMs);
      expect(await read(0)).toBe(101);
    }
  });

  it('is not waited for when its question never went out, as the adapter was unplugged', async () => {
    unit.answer = () => {
      throw new AgentError('hardware/serial-unplugged', 'gone', { recovery: 'retry' });
    };
    expect(await read(0)).toBe('hardware/serial-unplugged');
    unit.answer = answer;
    expect(await read(10)).toBe(73);
    expect(asked).toEqual([3, 3]);
  });

  it('is an answer of the wrong length for a question of another one', async () => {
    unit.answer = () => Uint8Array.of(3, 4, 0, 1, 0, 2);
    expect(await read(0)).toBe('hardware/deadline');
    unit.answer = (pdu) => (pdu[0] === 8 ? undefined : answer(pdu));
    expect(await read(10)).toBe(73);
  });
});

it('says that the answer of a unit came that nobody asked', async () => {
  unit = { delayMs: 10, answer: () => undefined, does: () => say(rtuFrame(9, Uint8Array.of(3, 2, 0, 7))) };
  const value = link.readRegisters(1, { table: 'holding', address: 0, count: 1 }, never);
  value.catch(() => {});
  await clock.advance(1_000);
  await expect(value).rejects.toMatchObject({
    code: 'hardware/modbus-bad-answer',
    message: 'on the Modbus came an answer with another unit number (9) than 1; with lenient: true it is taken',
  });
});

it('switches off before the readings that wait on its line', async () => {
  const readings = [0, 10, 0, 10].map((address) =>
    link.readRegisters(1, { table: 'holding', address, count: 1 }, never),
  );
  const off = link.ranked('off').writeCoil(1, 0, false, never);
  await ended(Promise.allSettled([...readings, off]));
  expect(asked).toEqual([3, 5, 3, 3, 3]);
});

describe('switching off while the unit owes an answer', () => {
  const off = (): Promise<void> => link.ranked('off').writeCoil(1, 0, false, never);

  it('goes on the wire at once, and its own echo tells that nothing older follows', async () => {
    unit.answer = () => undefined;
    expect(await read(0)).toBe('hardware/deadline');
    unit.answer = (pdu) => (pdu[0] === 8 ? undefined : pdu[0] === 5 ? pdu : answer(pdu));
    expect(await ended(off())).toBeUndefined();
    expect(await read(10)).toBe(73);
    expect(asked).toEqual([3, 5, 3]);
  });

  it('is told again, each time first, to a unit that hears and never answers', async () => {
    unit.answer = () => undefined;
    expect(await read(0)).toBe('hardware/deadline');
    for (let round = 0; round < 3; round += 1) {
      expect(await ended(off())).toBe('hardware/deadline');
      expect(await read(0)).toBe('hardware/modbus-no-answer');
    }
    expect(asked).toEqual([3, 5, 8, 5, 8, 5, 8]);
  });

  type Answer = (pdu: Uint8Array) => Uint8Array | undefined;
  const echo: Answer = (pdu) => pdu.slice(0, 5);
  const refusal: Answer = (pdu) => Uint8Array.of((pdu[0] ?? 0) | 0x80, 4);
  const nothing: Answer = () => undefined;

  it.each<[string, Answer, Answer, string | undefined]>([
    ['echo, which tells no values,', echo, nothing, 'hardware/deadline'],
    ['echo, when its own follows,', echo, echo, undefined],
    ['refusal', refusal, echo, undefined],
    ['refusal, when its own follows,', echo, refusal, 'hardware/modbus-exception'],
  ])('never takes the late %s of switching on for its own', async (_what, lateAnswer, ownAnswer, outcome) => {
    unit = { delayMs: RESPONSE_TIMEOUT_MS + 40, answer: lateAnswer };
    const on = link.writeRegisters(1, 0, [0, 1], never).catch(() => {});
    await clock.advance(RESPONSE_TIMEOUT_MS + 10);
    await on;
    unit = { delayMs: 10, answer: ownAnswer };
    expect(await ended(link.ranked('off').writeRegisters(1, 0, [0, 0], never))).toBe(outcome);
    expect(asked).toEqual([16, 16]);
  });

  it('believes its own echo between late answers of other questions, and the one of the same off before it', async () => {
    const late = { delayMs: RESPONSE_TIMEOUT_MS + 40, answer };
    for (const before of [
      () => link.readRegisters(1, { table: 'holding', address: 0, count: 1 }, never),
      () => link.writeCoil(1, 0, true, never),
      off,
    ]) {
      unit = { ...late, answer: (pdu) => (pdu[0] === 5 ? pdu : answer(pdu)) };
      const first = before().catch(() => {});
      await clock.advance(RESPONSE_TIMEOUT_MS + 10);
      await first;
      unit = { delayMs: 10, answer: echo };
      expect(await ended(off())).toBeUndefined();
    }
    expect(asked).toEqual([3, 5, 5, 5, 5, 5]);
  });

  it('tells nothing of what is still owed when the echo may be the one of the same off before it', async () => {
    unit = { delayMs: RESPONSE_TIMEOUT_MS + 40, answer: echo };
    const first = off().catch(() => {});
    await clock.advance(RESPONSE_TIMEOUT_MS + 10);
    await first;
    unit = { delayMs: 10, answer: (pdu) => (pdu[0] === 5 ? undefined : answer(pdu)) };
    expect(await ended(off())).toBeUndefined();
    unit.answer = answer;
    expect(await ended(link.writeCoil(1, 7, false, never))).toBe('hardware/modbus-exception');
    expect(asked).toEqual([5, 5, 8, 5]);
  });

  const setpoint = (): Promise<void> => link.ranked('off').writeRegisters(1, 0, [0, 0], never);

  it('is believed when it is told again after one lost answer, though its echo tells no values', async () => {
    unit.answer = nothing;
    expect(await ended(link.writeRegisters(1, 0, [0, 1], never))).toBe('hardware/deadline');
    unit.answer = (pdu) => (pdu[0] === 8 ? undefined : answer(pdu));
    expect([await ended(setpoint()), await ended(setpoint())]).toEqual(['hardware/deadline', undefined]);
    expect(asked).toEqual([16, 16, 16]);
  });

  it('does not make what is owed any younger, and is no answer of a later "on" itself', async () => {
    unit.answer = nothing;
    expect(await ended(link.writeRegisters(1, 0, [0, 1], never))).toBe('hardware/deadline');
    for (let round = 0; round < 9; round += 1) expect(await ended(setpoint())).toBe('hardware/deadline');
    unit.answer = echo;
    expect(await ended(setpoint())).toBeUndefined(); // ten seconds after the "on"
    unit.answer = (pdu) => (pdu[0] === 8 ? undefined : answer(pdu));
    expect(await ended(link.writeRegisters(1, 0, [0, 1], never))).toBe('hardware/modbus-no-answer');
    expect(asked.slice(-2)).toEqual([16, 8]);
  });

  it('never takes a late echo for its own, however often it is told and whatever got lost', async () => {
    for (const lost of [[], [0], [1], [0, 1], [1, 2], [0, 2]]) {
      await clock.advance(60_000);
      let [said, value] = [-1, 0];
      unit = {
        delayMs: RESPONSE_TIMEOUT_MS + 900,
        answer: (pdu) => {
          said += 1;
          return lost.includes(said) ? undefined : echo(pdu);
        },
        does: (pdu) => {
          value = pdu.at(-1) ?? -1;
        },
      };
      expect(await ended(link.writeRegisters(1, 0, [0, 1], never))).toBe('hardware/deadline');
      for (let round = 0; round < 4; round += 1) {
        const believed = setpoint().then(() => value);
        expect([0, 'hardware/deadline']).toContain(await ended(believed));
      }
    }
  });

  it('does not blind its own unit, which answers neither that nor the loop-back', async () => {
    unit.answer = (pdu) => (pdu[0] === 3 ? answer(pdu) : undefined);
    for (let round = 0; round < 20; round += 1) {
      expect(await ended(setpoint())).toBe('hardware/deadline');
      expect(await read(0)).toBe(101);
    }
  });

  it('takes its echo for what it is when nothing older comes any more', async () => {
    unit.answer = nothing;
    expect(await ended(link.writeRegisters(1, 0, [0, 1], never))).toBe('hardware/deadline');
    await clock.advance(10_000);
    unit.answer = echo;
    expect(await ended(link.ranked('off').writeRegisters(1, 0, [0, 0], never))).toBeUndefined();
  });
});

describe('a line that owes nothing', () => {
  it('has a single time-out for a request', async () => {
    const timers = vi.spyOn(clock, 'after');
    expect(await read(0)).toBe(101);
    expect(timers.mock.calls.filter(([ms]) => ms === RESPONSE_TIMEOUT_MS)).toHaveLength(1);
  });
});
