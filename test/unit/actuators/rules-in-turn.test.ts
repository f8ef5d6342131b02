/** A rule whose write waits for hardware that is slow, and whose end, or a person's word, comes meanwhile. */
import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf } from '../../support/actuator-bench.ts';
import { pump, RuleBench, rule } from '../../support/rule-bench.ts';

const MINUTE_MS = 60_000;
const never = new AbortController().signal;

let world: RuleBench;

beforeEach(() => {
  world = new RuleBench();
});

describe('a rule that is over before its turn has come', () => {
  it('moves nothing any more, and is told as over', async () => {
    let slowMs = 0;
    const { clock } = world.bench;
    world.bench.fake('pump').beforeWrite = () =>
      slowMs === 0 ? undefined : new Promise((resolve) => clock.after(slowMs, () => resolve()));
    await world.open([rule('empty', false), rule('frost', true, false)], pump({ deadlineMs: 20_000 }));
    await world.after({ empty: 90 });
    slowMs = 15_000;
    void world.bench.set('pump', false, { by: 'local' });
    await clock.advance(1_000);
    world.rules.take('frost', 'value', 90);
    await clock.advance(3_000);
    world.rules.take('frost', 'value', 0);
    await clock.advance(1_000);
    slowMs = 0;
    for (let times = 0; times < 12; times += 1) await world.after({ empty: 90, frost: 0 });
    expect(world.shown).toBe(false);
    expect(world.bench.fake('pump').told).not.toContain(true);
    expect(world.events.findLast(({ rule: name }) => name === 'frost')).not.toMatchObject({ on: true });
  });
});

describe('a pulse behind a person’s off', () => {
  it('is no agreement with the rule that tries on meanwhile', async () => {
    await world.open([rule('frost', true, false)], pump());
    world.bench.locked = true;
    await world.after({ frost: 90 }, 1_000);
    expect(await world.bench.set('pump', false, { by: 'local' })).toBe('moved');
    const pulse = codeOf(world.bench.control.pulse('pump', { durationMs: 8_000, by: 'local' }, never));
    await world.after({ frost: 90 }, 20_000);
    await pulse;
    world.bench.locked = false;
    expect(await world.after({ frost: 90 }, MINUTE_MS)).toBe(false);
    expect(world.stored).toMatchObject([{ overruled: true }]);
  });
});

describe('after a restart with another actuator in the rule', () => {
  it('does not end on one that somebody had switched on under its own name', async () => {
    const [frost, other] = [rule('frost', true, false), pump({ name: 'heater', restore: true })];
    await world.open([frost], pump(), other);
    await world.after({ frost: 90 });
    await world.bench.set('heater', true, { by: 'local' });
    await world.restart([{ ...frost, set: { actuator: 'heater', value: true } }], other);
    await world.after({ frost: 0 });
    expect(world.bench.fake('heater').shown).toBe(true);
  });
});
