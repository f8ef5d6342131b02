/** What an operator or a rule said of an output that cannot be read back, over kills, stops and starts: how often the hardware is told. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSettings } from '../../src/actuators/kind/actuator.ts';
import { ActuatorBench } from '../support/actuator-bench.ts';
import { type FakeActuator, relaySettings } from '../support/fake-actuator.ts';
import { pump, RuleBench, rule } from '../support/rule-bench.ts';

const dose = (changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
  relaySettings('dose', { valueType: 'number', idempotent: false, writtenOnce: true, ownSupply: true, ...changes });

describe('an operator’s value', () => {
  let bench: ActuatorBench;
  let program: FakeActuator;

  beforeEach(() => {
    bench = new ActuatorBench();
    program = bench.deaf('dose');
  });

  /** As a kill does: the process before sets nothing any more. */
  async function kill(settings: ActuatorSettings): Promise<void> {
    const { clock } = bench;
    clock.reboot({ bootId: clock.bootId, monotonicMs: clock.monotonicMs() + 1_000 });
    await bench.open(settings);
    await bench.clock.advance(60_000);
  }

  async function restart(settings: ActuatorSettings): Promise<void> {
    await bench.control.close();
    await bench.open(settings);
    await bench.clock.advance(60_000);
  }

  const why = (): string | undefined => bench.control.find('dose')?.reason.why;

  it('is told once over a kill, a stop and three starts', async () => {
    await bench.open(dose());
    await bench.set('dose', 5);
    await kill(dose());
    await restart(dose());
    await restart(dose());
    expect(program.told).toEqual([5]);
    expect(why()).toMatch(/^5, because the operator \(rpc\) said so .*; last written 5, not written since the start$/);
  });

  it('is told once when it has a time, which ends it as always', async () => {
    await bench.open(dose({ safe: { start: 1 } }));
    program.told.length = 0;
    await bench.control.set('dose', 7, { by: 'local', forMs: 120_000 }, new AbortController().signal);
    await kill(dose({ safe: { start: 1 } }));
    expect(program.told).toEqual([7]);
    await bench.clock.advance(120_000);
    expect(program.told).toEqual([7, 1]);
  });

  it('stays untold when a later command is refused', async () => {
    await bench.open(dose({ limits: { max: 9 } }));
    await bench.set('dose', 5);
    await kill(dose({ limits: { max: 9 } }));
    expect(await bench.set('dose', 10)).toBe('actuators/out-of-range');
    bench.locked = true;
    expect(await bench.set('dose', 6)).toBe('actuators/locked-out');
    await bench.clock.advance(60_000);
    expect(program.told).toEqual([5]);
  });

  it('is told again where that is allowed', async () => {
    const repeated = dose({ writtenOnce: false, restore: true });
    await bench.open(repeated);
    await bench.set('dose', 5);
    await kill(repeated);
    expect(program.told).toEqual([5, 5]);
  });

  it('gives way to the state for the start once a crash may have set another one', async () => {
    for (const [value, told] of [
      [5, [2]],
      [0, [2]],
    ] as const) {
      const settings = dose({ safe: { start: 2, crash: 9 } });
      await bench.open(settings);
      await bench.set('dose', value);
      program.told.length = 0;
      await kill(settings);
      expect(program.told).toEqual(told);
    }
  });

  it('is told again as off while the hardware has not taken that', async () => {
    const valve = relaySettings('dose', { idempotent: false, writtenOnce: true });
    await bench.open(valve);
    await bench.set('dose', true);
    program.beforeWrite = () => {
      throw new Error('no paper');
    };
    await bench.set('dose', false);
    program.beforeWrite = () => {};
    await kill(valve);
    expect(program.told).toEqual([true, false]);
  });

  it('is told when another one follows it', async () => {
    await bench.open(dose());
    await bench.set('dose', 5);
    await kill(dose());
    await bench.set('dose', 5);
    await bench.set('dose', 6);
    expect(program.told).toEqual([5, 5, 6]);
  });
});

describe('a rule’s value', () => {
  const settings = pump({ writtenOnce: true });

  it('waits for the first reading after a start, and is told by it once', async () => {
    const bench = new RuleBench();
    const { told } = bench.bench.deaf('pump');
    await bench.open([rule('empty', true, false)], settings);
    await bench.after({ empty: 20 }, 20_000);
    expect(told).toEqual([true]);
    await bench.kill(1_000, [rule('empty', true, false)], settings);
    expect([told.length, bench.bench.control.find('pump')?.reason.why]).toEqual([
      1,
      expect.stringMatching(/^on, because rule empty .*; not written since the start$/),
    ]);
    await bench.after({ empty: 20 }, 20_000);
    expect(told).toEqual([true, true]);
  });

  it('is told as it is now, and not as it was', async () => {
    const bench = new RuleBench();
    const { told } = bench.bench.deaf('pump');
    await bench.open([rule('empty', true, false)], settings);
    await bench.after({ empty: 20 });
    await bench.kill(1_000, [rule('empty', true, false)], settings);
    await bench.after({ empty: 5 });
    expect(told).toEqual([true, false]);
  });

  it('waits likewise where it was left in the base', async () => {
    const bench = new RuleBench();
    const { told } = bench.bench.deaf('pump');
    await bench.open([rule('fill', true)], settings);
    await bench.after({ fill: 20 });
    await bench.after({ fill: 5 });
    await bench.kill(1_000, [rule('fill', true)], settings);
    expect(told).toEqual([true]);
    await bench.after({ fill: 5 });
    expect(told).toEqual([true, true]);
  });
});
