/** Writes that a gateway holds and sends on after their client gave up: what is told of them, and in what state they end. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSettings } from '../../src/actuators/kind/actuator.ts';
import { ActuatorBench } from '../support/actuator-bench.ts';
import { relaySettings } from '../support/fake-actuator.ts';
import { type HoldingGateway, holdingGateway } from '../support/holding-gateway.ts';

const never = new AbortController().signal;
const UNKNOWN = 'actuators/outcome-unknown';
/** Longer than a value has to stand, with a look before and one after. */
const STOOD_MS = 23_000;

let bench: ActuatorBench;

async function open(
  shown: boolean | number,
  changes: Partial<ActuatorSettings> & { readonly readBack?: boolean } = {},
): Promise<HoldingGateway> {
  const { readBack = true, ...settings } = changes;
  const gateway = holdingGateway(bench.clock, shown, { readBack });
  bench.drivers.out = gateway;
  const valueType = typeof shown === 'number' ? 'number' : 'boolean';
  await bench.open(relaySettings('out', { valueType, ...settings }));
  return gateway;
}

async function setWithin(ms: number, value: boolean | number): Promise<unknown> {
  const moving = bench.set('out', value);
  await bench.clock.advance(ms);
  return await moving;
}

const why = (): string => bench.control.find('out')?.reason.why ?? '';

beforeEach(() => {
  bench = new ActuatorBench();
});

describe.each([{ readBack: true }, { readBack: false }])('an output behind a gateway ($readBack)', ({ readBack }) => {
  it('is unknown after a write without an answer, and then what has stood long enough', async () => {
    const gateway = await open(20, { readBack });
    gateway.holdMs = 4_000;
    expect(await setWithin(100, 30)).toBe(UNKNOWN);
    expect([bench.control.state('out').value, why()]).toEqual([undefined, expect.stringMatching(/may still arrive/)]);
    await bench.clock.advance(6_000);
    expect([gateway.shown, bench.control.state('out').value]).toEqual([30, undefined]);
    await bench.clock.advance(STOOD_MS);
    expect(bench.control.state('out')).toMatchObject({ value: 30, fault: undefined });
    expect(why()).toMatch(/^30, because the operator/);
  });

  it('ends a command that has not arrived, and tells it', async () => {
    const gateway = await open(20, { readBack });
    gateway.holdMs = 3_600_000;
    expect(await setWithin(100, 30)).toBe(UNKNOWN);
    await bench.clock.advance(STOOD_MS);
    expect(bench.control.state('out').value).toBe(20);
    expect(bench.control.state('out').fault).toMatch(/shows 20, was set to 30/);
    expect(why()).toMatch(/operator's 30 \(rpc\) ended by a failure/);
  });

  it('lets a newer write wait until no older one can arrive', async () => {
    const gateway = await open(20, { readBack });
    gateway.holdMs = 5_000;
    expect(await setWithin(100, 30)).toBe(UNKNOWN);
    const newer = bench.set('out', 40);
    await bench.clock.advance(4_000);
    expect(gateway.arrived).toEqual([]);
    await bench.clock.advance(STOOD_MS + 4_000);
    expect([await newer, gateway.arrived, bench.control.state('out').value]).toEqual(['moved', [30, 40], 40]);
  });

  it.each([{}, { repeatEveryMs: 60_000 }, { readEveryMs: 60_000 }])(
    'goes off at once, and off again when the older write arrives after it (%j)',
    async (upkeep) => {
      const gateway = await open(false, { readBack, ...upkeep });
      gateway.holdMs = 5_000;
      expect(await setWithin(100, true)).toBe(UNKNOWN);
      expect(await setWithin(100, false)).toBe(UNKNOWN);
      expect(gateway.arrived).toEqual([false]);
      await bench.clock.advance(8_000);
      expect([gateway.arrived, gateway.shown]).toEqual([[false, true, false], false]);
      await bench.clock.advance(STOOD_MS);
      expect(bench.control.state('out')).toMatchObject({ value: false, fault: undefined });
      expect(bench.alarms.at(-1)).toEqual(['out', undefined]);
    },
  );

  it('stays unknown where reading is refused, says so, and takes newer writes after a bound', async () => {
    const gateway = await open(20, { readBack });
    gateway.reads = 'refused';
    gateway.holdMs = 1_000;
    expect(await setWithin(100, 30)).toBe(UNKNOWN);
    await bench.clock.advance(STOOD_MS);
    expect(bench.control.state('out')).toMatchObject({ value: undefined, fault: expect.stringMatching(/is refused/) });
    gateway.reads = 'answered';
    expect(await setWithin(100, 40)).toBe('moved');
  });

  it('refuses a newer write, which then never moves, while nothing answers', async () => {
    const gateway = await open(20, { readBack });
    gateway.reads = 'silent';
    gateway.holdMs = 1_000;
    expect(await setWithin(100, 30)).toBe(UNKNOWN);
    expect(await setWithin(31_000, 40)).toBe('actuators/unsettled');
    gateway.reads = 'answered';
    await bench.clock.advance(60_000);
    expect([gateway.arrived.includes(40), bench.control.state('out').value]).toEqual([false, 30]);
  });
});

describe.each([
  { was: 20, value: 30 },
  { was: false, value: true },
])('an agent that is killed while a write of $value is unknown', ({ was, value }) => {
  const settings = (): ActuatorSettings =>
    relaySettings('out', { valueType: typeof was === 'number' ? 'number' : 'boolean', restore: true });

  /** The request that the gateway holds arrives so long after the kill, or never. */
  async function killed(arrivesAfterMs?: number, bootId = bench.clock.bootId): Promise<HoldingGateway> {
    const gateway = holdingGateway(bench.clock, was);
    bench.drivers.out = gateway;
    await bench.open(settings());
    gateway.holdMs = 3_600_000;
    const forMs = 2 * 3_600_000;
    const moving = bench.control.set('out', value, { by: 'rpc', forMs }, never);
    await expect(moving).rejects.toMatchObject({ code: UNKNOWN });
    await bench.clock.advance(100);
    bench.clock.reboot({ bootId, monotonicMs: bench.clock.monotonicMs() + 2_000 });
    if (arrivesAfterMs !== undefined) bench.clock.after(arrivesAfterMs, () => void gateway.write(value, never));
    await bench.open(settings());
    return gateway;
  }

  it('is unknown at its next start, writes nothing, and takes what arrives', async () => {
    const gateway = await killed(8_000);
    expect([bench.control.state('out').value, why()]).toEqual([undefined, expect.stringMatching(/may still arrive/)]);
    await bench.clock.advance(8_000 + STOOD_MS);
    expect([gateway.arrived, bench.control.state('out').value]).toEqual([[value], value]);
    expect(why()).toMatch(/because the operator/);
    await bench.clock.advance(60_000);
    expect(gateway.arrived).toEqual([value]);
  });

  it.each(['the-same', 'another'])('writes nothing of a command that has not arrived (%s boot)', async (boot) => {
    const gateway = await killed(undefined, boot === 'another' ? boot : undefined);
    await bench.clock.advance(120_000);
    expect([gateway.arrived, bench.control.state('out').value]).toEqual([[], was]);
    expect(why()).toMatch(/ended by a failure/);
  });

  it('is unknown at the start after a second kill, and takes a newer command once it is known', async () => {
    const gateway = await killed();
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + 1_000 });
    await bench.open(settings());
    expect(bench.control.state('out').value).toBeUndefined();
    const newer = typeof value === 'number' ? 40 : value;
    expect(await setWithin(STOOD_MS, newer)).toBe('moved');
    expect(gateway.arrived).toEqual([newer]);
    bench.clock.reboot({ bootId: bench.clock.bootId, monotonicMs: bench.clock.monotonicMs() + 1_000 });
    await bench.open(settings());
    expect(why()).not.toMatch(/may still arrive/);
  });

  it('writes nothing by itself where the start cannot read it back', async () => {
    const gateway = await killed();
    gateway.reads = 'refused';
    await bench.clock.advance(120_000);
    expect(gateway.arrived).toEqual([]);
  });
});
