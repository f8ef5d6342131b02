import { describe, expect, it, vi } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import { AgentError } from '../../errors/agent-error.ts';
import type { RegisterRange } from '../../hardware/modbus-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { silentLog } from '../../host/log.ts';
import { open as openModbus } from './driver.ts';
import type { Registers } from './polling-groups.ts';
import { PollingPlan } from './polling-plan.ts';

/** A unit whose registers lie in groups, each of which is one request. */
interface Unit {
  readonly groups: number;
  readonly perGroup: number;
  /** Between two groups. Default 100. */
  readonly apart?: number;
  /** How long each answer takes. */
  readonly perMs: number;
  readonly deadlineMs: number;
}

const TIMEOUT_MS = 1_000;
const REOPEN_AFTER = 3;
const { signal } = new AbortController();
const fail = (code: 'deadline' | 'modbus-no-answer'): never => {
  throw new AgentError(`hardware/${code}`, 'no answer', { recovery: 'retry' });
};

/** Fault of a request for `count` registers at `address`: its answer is lost, or it is refused with an exception of that recovery. */
type Ill = (address: number, count: number) => boolean | 'drop' | 'retry';

/** Returns a reader of a unit of which some answers are lost or refused. */
function readerOf({ groups, perGroup, apart = 100, perMs, deadlineMs }: Unit, isIll: Ill) {
  const clock = new FakeClock();
  let [late, leftMs, failures, failed, changes, before] = [new AbortController(), 0, 0, 0, 0, ''];
  const readRegisters = async (_unit: number, { address, count }: RegisterRange) => {
    const ill = isIll(address, count);
    const lost = ill === true;
    const recovery = ill === 'drop' ? 'drop' : 'retry';
    const needMs = lost ? TIMEOUT_MS : perMs;
    const takenMs = Math.min(needMs, leftMs);
    await clock.advance(takenMs);
    leftMs -= takenMs;
    if (leftMs === 0 && (lost || takenMs < needMs)) late.abort();
    if (takenMs < needMs) fail('deadline');
    if (lost) fail('modbus-no-answer');
    if (ill !== false) throw new AgentError('hardware/modbus-exception', 'refused', { recovery });
    return Array.from({ length: count }, () => 1);
  };
  const ports = { modbus: { open: async () => ({ readRegisters }) } } as unknown as Ports; // the only port that it asks
  const keys = Array.from(
    { length: groups * perGroup },
    (_, at) => apart * Math.floor(at / perGroup) + (at % perGroup),
  );
  const registers = Object.fromEntries(keys.map((address) => [`r${address}`, { address }]));
  const config = sensorConfig({
    name: 'meter',
    kind: 'modbus',
    connection: { transport: 'tcp', host: 'meter' },
    registers,
    maxGap: 4,
  });
  const deps = { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/state' };
  const open = () => openModbus(config, deps, signal);
  let sensor = open();
  return {
    all: Object.keys(registers),
    read: async (): Promise<readonly string[]> => {
      [late, leftMs] = [new AbortController(), deadlineMs];
      const given = await (await sensor).read(late.signal).catch(() => undefined);
      failures = given !== undefined ? 0 : failures + 1;
      failed += Number(given === undefined);
      const refused = (await sensor)
        .refused?.()
        .map(({ key }) => key)
        .toSorted()
        .join();
      changes += Number(refused !== before);
      before = refused ?? '';
      if (failures % REOPEN_AFTER === 0 && failures > 0) sensor = open();
      return given?.map(({ key }) => key) ?? [];
    },
    /** Reads that failed, and how often what is missing became another, since this was last asked. */
    told: () => {
      const told = { failed, changes };
      [failed, changes] = [0, 0];
      return told;
    },
  };
}

/** Returns the keys that these reads gave at least once. */
async function givenBy(reads: number, read: () => Promise<readonly string[]>): Promise<ReadonlySet<string>> {
  const given = new Set<string>();
  for (let at = 0; at < reads; at += 1) for (const key of await read()) given.add(key);
  return given;
}

/** Drawn from a seed. */
function drawing(seed: number): {
  readonly next: () => number;
  readonly oneOf: (...choices: readonly number[]) => number;
} {
  let random = seed;
  const next = (): number => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
    return random / 2_147_483_648;
  };
  return { next, oneOf: (...choices) => choices[Math.floor(next() * choices.length)] ?? 0 };
}

describe('a register of a sound but slow unit', () => {
  it.each<[Unit, readonly number[]]>([
    [{ groups: 1, perGroup: 3, perMs: 700, deadlineMs: 2_000 }, [0, 1, 2, 3]],
    [{ groups: 1, perGroup: 7, perMs: 700, deadlineMs: 2_000 }, [0, 1, 2, 3]],
    [{ groups: 2, perGroup: 5, perMs: 450, deadlineMs: 1_000 }, [0, 2]],
    [{ groups: 2, perGroup: 8, perMs: 300, deadlineMs: 1_000 }, [0, 2, 4]],
    [{ groups: 3, perGroup: 7, perMs: 300, deadlineMs: 1_000 }, [0, 3, 5]],
  ])('is read with all others after some answers were lost: %j, lost %j', async (unit, lost) => {
    let request = 0;
    const { all, read } = readerOf(unit, () => lost.includes(request++));
    for (let at = 0; at < 110; at += 1) await read();
    for (let at = 0; at < 10; at += 1) expect(await read()).toEqual(all);
  });

  it('has its turn again after its answer was lost, although others take all the time', async () => {
    let losses = 0;
    const { all, read } = readerOf(
      { groups: 3, perGroup: 1, perMs: 400, deadlineMs: 1_000 },
      (address) => address === 200 && losses++ < 2,
    );
    for (let at = 0; at < 110; at += 1) await read();
    expect([...(await givenBy(3, read))].toSorted()).toEqual(all);
  });

  it('takes the time of others no more than once in a hundred reads when it is dead', async () => {
    const { read } = readerOf({ groups: 3, perGroup: 1, perMs: 300, deadlineMs: 1_000 }, (address) => address === 200);
    for (let at = 0; at < 100; at += 1) await read();
    const given: (readonly string[])[] = [];
    for (let at = 0; at < 300; at += 1) given.push(await read());
    expect(given.filter((keys) => keys.length === 2).length).toBeGreaterThanOrEqual(297);
  });

  it('is read within a hundred reads and its turn, whatever was silent before, and in each where all fit', async () => {
    const { next, oneOf } = drawing(7);
    const starved: string[] = [];
    for (let world = 0; world < 200; world += 1) {
      const unit = {
        groups: oneOf(1, 2, 3, 4, 5, 6),
        perGroup: oneOf(1, 2, 3, 5, 8),
        perMs: oneOf(300, 450, 700),
        deadlineMs: oneOf(1_000, 2_000),
      };
      let loss = 0;
      let dead: readonly number[] = [];
      const isLost = (address: number, count: number): boolean =>
        next() < loss || dead.some((one) => one >= address && one < address + count);
      const { all, read } = readerOf(unit, isLost);
      for (let phase = 0; phase < 2; phase += 1) {
        loss = oneOf(0, 0.05, 0.3);
        dead = Array.from({ length: oneOf(0, 1, 2, 3) }, () => 100 * oneOf(0, 1, 2) + oneOf(0, 1, 2));
        for (let at = 0; at < 25; at += 1) await read();
      }
      [loss, dead] = [0, []];
      for (let at = 0; at < 110; at += 1) await read();
      const isWhole = unit.groups * unit.perMs < unit.deadlineMs;
      const given = await givenBy(isWhole ? 1 : 12, read);
      if (given.size < all.length)
        starved.push(`${world}: ${JSON.stringify(unit)} without ${all.filter((key) => !given.has(key)).join()}`);
    }
    expect(starved).toEqual([]);
  });

  it('is read beside dead ones: soon, for ever, in a sensor that works and does not change its mind', async () => {
    const { oneOf } = drawing(11);
    const wrong: string[] = [];
    for (let world = 0; world < 150; world += 1) {
      const unit = {
        groups: oneOf(1, 2, 3, 4),
        perGroup: oneOf(1, 2, 3, 4, 8),
        perMs: oneOf(300, 400, 600, 700),
        deadlineMs: oneOf(1_000, 1_500, 2_000, 3_000),
      };
      const size = unit.groups * unit.perGroup;
      const dead = new Set(Array.from({ length: oneOf(1, 1, 2, 3) }, () => oneOf(...Array(size).keys())));
      if (dead.size === size) continue;
      const addresses = [...dead].map((at) => 100 * Math.floor(at / unit.perGroup) + (at % unit.perGroup));
      const { all, read, told } = readerOf(unit, (address, count) =>
        addresses.some((one) => one >= address && one < address + count),
      );
      for (let at = 0; at < 40; at += 1) await read();
      const found = told();
      const last = new Map(all.map((key, at) => [key, dead.has(at) ? Number.POSITIVE_INFINITY : 0]));
      let longest = 0;
      for (let at = 1; at <= 260; at += 1) {
        for (const key of await read()) last.set(key, at);
        longest = Math.max(longest, ...[...last.values()].map((lastAt) => at - lastAt));
      }
      const { failed, changes } = told();
      if (found.failed > 10 || longest > 10 || failed > 0 || changes > 10)
        wrong.push(`${world}: ${JSON.stringify({ ...unit, dead: addresses.join(), found, longest, failed, changes })}`);
    }
    expect(wrong).toEqual([]);
  });

  it('is read beside one that is refused for now, though halving takes more than a read has time for', async () => {
    for (const bad of [3, 0]) {
      let lost = 2;
      const unit = { groups: 4, perGroup: 8, perMs: 480, deadlineMs: 2_000 };
      const { all, read, told } = readerOf(unit, (address, count) => {
        if (address === 0 && lost-- > 0) return true;
        return address <= bad && address + count > bad && 'retry';
      });
      for (let at = 0; at < 30; at += 1) await read();
      told();
      const times = new Map(all.map((key) => [key, 0]));
      for (let at = 0; at < 200; at += 1) for (const key of await read()) times.set(key, (times.get(key) ?? 0) + 1);
      expect(told()).toEqual({ failed: 0, changes: 0 });
      times.delete(`r${bad}`);
      expect(Math.min(...times.values())).toBeGreaterThan(80);
    }
  });

  it('is not left out for long after two answers were lost, nor after the unit was off, where others take all the time', async () => {
    for (const lostReads of [1, 10]) {
      let [isArmed, lost, isOff] = [false, 0, false];
      const unit = { groups: 12, perGroup: 1, perMs: 200, deadlineMs: 2_000 };
      const { read } = readerOf(unit, (address) => {
        if (isArmed && address === 400) [isArmed, lost, isOff] = [false, 2, lostReads > 1];
        return isOff || lost-- > 0;
      });
      for (let at = 0; at < 50; at += 1) await read();
      isArmed = true;
      for (let at = 0; at < lostReads + 1; at += 1) await read();
      isOff = false;
      expect([...(await givenBy(6, read))]).toContain('r400');
    }
  });

  it('costs nothing for long where the unit does not answer what lies between', async () => {
    for (const ill of [true, 'drop'] as const) {
      const unit = { groups: 2, perGroup: 1, apart: 5, perMs: 20, deadlineMs: 2_000 };
      let asked = 0;
      const { all, read, told } = readerOf(unit, (_address, count) => {
        asked += 1;
        return count > 1 && ill;
      });
      for (let at = 0; at < 10; at += 1) await read();
      told();
      asked = 0;
      for (let at = 0; at < 400; at += 1) expect(await read()).toEqual(all);
      expect(told()).toEqual({ failed: 0, changes: 0 });
      expect(asked).toBeLessThan(2.05 * 400);
    }
  });

  it('has its turn as often as others where each two are refused together', async () => {
    let given = 0;
    const { read } = readerOf(
      { groups: 40, perGroup: 1, apart: 3, perMs: 100, deadlineMs: 2_000 },
      (_address, count) => count > 1 && 'drop',
    );
    for (let at = 0; at < 400; at += 1) await read();
    for (let at = 0; at < 400; at += 1) given += (await read()).length;
    expect(given / 400).toBeGreaterThan(18);
  });

  it('is not told as given when the turn of a dead one leaves no time to ask for what is refused', async () => {
    const unit = { groups: 20, perGroup: 1, perMs: 100, deadlineMs: 2_000 };
    const { read, told } = readerOf(unit, (address) => address === 1_900 || (address >= 1_700 && 'drop'));
    for (let at = 0; at < 150; at += 1) await read();
    told();
    for (let at = 0; at < 400; at += 1) await read();
    expect(told()).toEqual({ failed: 0, changes: 0 });
  });

  it('answers before what is refused, which may fill whole reads, and soon again after noise', async () => {
    const unit = { groups: 30, perGroup: 1, perMs: 100, deadlineMs: 1_500 };
    let loss = 0;
    const { next } = drawing(5);
    const { all, read, told } = readerOf(unit, (address) => (next() < loss ? true : address >= 1_000 && 'drop'));
    for (const noise of [0, 0.1]) {
      loss = noise;
      for (let at = 0; at < 40; at += 1) await read();
      loss = 0;
      for (let at = 0; at < 20; at += 1) await read();
      told();
      for (let at = 0; at < 200; at += 1) expect(await read()).toEqual(all.slice(0, 10));
      expect(told().failed).toBe(0);
    }
  });

  it('is not left out for long after the unit was busy, or its gateway had no answer for once', async () => {
    const unit = { groups: 30, perGroup: 1, perMs: 100, deadlineMs: 1_500 };
    const { next } = drawing(9);
    for (const [ill, reads] of [
      ['retry', 1],
      ['retry', 30],
      ['drop', 30],
    ] as const) {
      let isBusy = false;
      const { all, read } = readerOf(unit, () => isBusy && ill);
      for (let at = 0; at < 10; at += 1) await read();
      isBusy = true;
      for (let at = 0; at < reads; at += 1) await read();
      isBusy = false;
      expect((await givenBy(12, read)).size).toBe(all.length);
    }
    const { all, read, told } = readerOf(unit, () => next() < 0.01 && 'retry');
    for (let at = 0; at < 20; at += 1) await read();
    told();
    for (let at = 0; at < 30; at += 1) expect((await givenBy(10, read)).size).toBe(all.length);
    expect(told().failed).toBe(0);
  });
});

describe('a unit that gives all in the fewest requests', () => {
  it('has its registers put into requests once', () => {
    const looked = vi.fn(Reflect.ownKeys);
    const register = {
      table: 'holding',
      type: 'uint16',
      wordOrder: 'big',
      byteOrder: 'big',
      scale: 1,
      offset: 0,
    } as const;
    const registers: Registers = { near: { ...register, address: 1 }, far: { ...register, address: 90 } };
    const plan = new PollingPlan(new Proxy<Registers>(registers, { ownKeys: looked }), 4);
    for (let read = 0; read < 5; read += 1) {
      plan.begin();
      for (const group of plan.order()) plan.answered(group);
      plan.end();
    }
    expect(looked).toHaveBeenCalledTimes(1);
  });
});
