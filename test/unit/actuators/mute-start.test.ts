/** A start with hardware that does not say what it shows, or does not take what it is told: how long it is held up, and what comes of it later. */
import { beforeEach, expect, it } from 'vitest';
import type { ActuatorDriver, ActuatorSettings, ActuatorValue } from '../../../src/actuators/kind/actuator.ts';
import { ActuatorBench } from '../../support/actuator-bench.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';

/** Shows and takes nothing before its time. */
class LateActuator implements ActuatorDriver {
  shown: ActuatorValue = false;
  readonly asked: ActuatorValue[] = [];
  readonly told: ActuatorValue[] = [];
  readsFromMs = 0;
  writesFromMs = 0;

  async write(value: ActuatorValue): Promise<void> {
    this.asked.push(value);
    await until(this.writesFromMs);
    this.told.push(value);
    this.shown = value;
  }

  readonly read = async (): Promise<ActuatorValue> => {
    await until(this.readsFromMs);
    return this.shown;
  };

  async close(): Promise<void> {}
}

const NEVER_MS = Number.POSITIVE_INFINITY;

let bench: ActuatorBench;
let late: Record<string, LateActuator>;

async function until(ms: number): Promise<void> {
  const leftMs = ms - bench.clock.monotonicMs();
  if (ms === NEVER_MS) await new Promise(() => {});
  if (leftMs > 0) await bench.clock.sleep(leftMs, new AbortController().signal);
}

beforeEach(() => {
  bench = new ActuatorBench();
  late = {};
});

/** All of them were on, and are restored. */
async function begun(...settings: readonly ActuatorSettings[]): Promise<void> {
  for (const { name } of settings) bench.drivers[name] = late[name] = new LateActuator();
  await bench.open(...settings);
  for (const { name, valueType } of settings) await bench.set(name, valueType === 'number' ? 80 : true);
  await bench.clock.advance(1_000);
  await bench.control.close();
  for (const { name } of settings) Object.assign(late[name] as LateActuator, { shown: false, asked: [], told: [] });
}

/** After how long the next life goes on. */
async function startedAfterMs(...settings: readonly ActuatorSettings[]): Promise<number> {
  const sinceMs = bench.clock.monotonicMs();
  let afterMs: number | undefined;
  void bench.open(...settings).then(() => (afterMs = bench.clock.monotonicMs() - sinceMs));
  while (afterMs === undefined) await bench.clock.advance(100);
  return afterMs;
}

const nowMs = (): number => bench.clock.monotonicMs();
const restored = (name: string, changes: Partial<ActuatorSettings> = {}): ActuatorSettings =>
  relaySettings(name, { restore: true, deadlineMs: 20_000, ...changes });

it('waits a few seconds for outputs that do not answer, however many there are and whatever their deadline is', async () => {
  const settings = Array.from({ length: 32 }, (_, n) => restored(`relay ${n}`));
  await begun(...settings);
  for (const each of Object.values(late)) each.readsFromMs = each.writesFromMs = NEVER_MS;
  expect(await startedAfterMs(...settings)).toBeLessThanOrEqual(10_000);
});

it('restores behind itself what answers late, and what comes after it in the configuration soon', async () => {
  const settings = [restored('mute'), restored('slow'), restored('quick')];
  await begun(...settings);
  Object.assign(late.mute as LateActuator, { readsFromMs: NEVER_MS, writesFromMs: NEVER_MS });
  Object.assign(late.slow as LateActuator, { readsFromMs: nowMs() + 8_000, writesFromMs: nowMs() + 15_000 });
  expect(await startedAfterMs(...settings)).toBeLessThanOrEqual(10_000);
  await bench.clock.advance(12_000);
  expect([late.slow?.told, late.quick?.told]).toEqual([[true], [true]]);
});

it('does not write over what somebody has asked for since; where that fails, what is restored stands again', async () => {
  const settings = [restored('valve'), restored('fan'), restored('dimmer', { valueType: 'number' })];
  await begun(...settings);
  for (const each of Object.values(late)) each.readsFromMs = nowMs() + 8_000;
  (late.dimmer as LateActuator).writesFromMs = nowMs() + 30_000;
  await startedAfterMs(...settings);
  void bench.set('valve', false, { by: 'local' });
  void bench.set('dimmer', 50);
  await bench.clock.advance(60_000);
  expect([late.valve?.told, late.fan?.told, late.dimmer?.told]).toEqual([[false], [true], [50, 80]]);
});

it('leaves to whoever waits for its end what it could not restore', async () => {
  const dimmer = restored('dimmer', { valueType: 'number', deadlineMs: 15_000, safe: { start: 0 } });
  await begun(dimmer);
  (late.dimmer as LateActuator).writesFromMs = NEVER_MS;
  await startedAfterMs(dimmer);
  const asked = bench.set('dimmer', 50);
  (late.dimmer as LateActuator).writesFromMs = 0;
  await bench.clock.advance(60_000);
  expect([await asked, late.dimmer?.told]).toEqual(['moved', [50]]);
});

it('does not take over a pulse that waits for the card, and stands again when it has ended', async () => {
  const relay = restored('relay', { ownSupply: true });
  await begun(relay);
  (late.relay as LateActuator).readsFromMs = NEVER_MS;
  const beganMs = nowMs();
  await startedAfterMs(relay);
  (late.relay as LateActuator).readsFromMs = 0;
  await bench.clock.advance(beganMs + 9_900 - nowMs());
  let written = (): void => {};
  const delay = (operation: string) =>
    operation === 'write' ? new Promise<void>((resolve) => (written = resolve)) : undefined;
  bench.files.faults = { delay };
  const pulse = bench.pulse('relay', 30_000);
  await bench.clock.advance(200);
  bench.files.faults = {};
  written();
  await bench.clock.advance(40_000);
  expect([await pulse, late.relay?.told]).toEqual(['moved', [true]]);
  expect(bench.control.state('relay')).toMatchObject({ by: 'rpc', pulsing: false });
});

it('tells nothing of an output that is still asked for what it shows when the agent stops', async () => {
  const relay = relaySettings('relay', { deadlineMs: 600_000 });
  bench.drivers.relay = late.relay = new LateActuator();
  late.relay.readsFromMs = NEVER_MS;
  await startedAfterMs(relay);
  const told: unknown[] = [];
  bench.control.onState((state) => void told.push(state));
  await bench.control.close();
  await bench.clock.advance(0);
  expect([told, bench.clock.pending]).toEqual([[], 0]);
});

it('switches off after its longest time on what does not say what it shows', async () => {
  const heater = relaySettings('heater', { deadlineMs: 600_000, limits: { maxOnMs: 60_000 } });
  bench.drivers.heater = late.heater = new LateActuator();
  await bench.open(heater);
  await bench.set('heater', true);
  await bench.clock.advance(30_000);
  late.heater.readsFromMs = NEVER_MS;
  // Killed: its timers are gone.
  bench.clock.reboot({ bootId: 'boot-1', monotonicMs: nowMs() });
  await startedAfterMs(heater);
  const beganMs = nowMs();
  while (late.heater.shown === true && nowMs() < beganMs + 300_000) await bench.clock.advance(1_000);
  expect(nowMs() - beganMs).toBeLessThanOrEqual(30_000);
});

it('counts as on what has not said what it shows, for whatever it excludes', async () => {
  const settings = [
    relaySettings('up', { deadlineMs: 20_000 }),
    relaySettings('down', { neverWith: [{ with: 'up', gapMs: 0 }] }),
  ];
  for (const { name } of settings) bench.drivers[name] = late[name] = new LateActuator();
  (late.up as LateActuator).readsFromMs = nowMs() + 15_000;
  await startedAfterMs(...settings);
  expect(await bench.set('down', true)).toBe('actuators/interlocked');
  await bench.clock.advance(15_000);
  expect(await bench.set('down', true)).toBe('moved');
});

it('switches nothing on once it stops', async () => {
  const settings = [restored('valve'), relaySettings('pump', { safe: { start: true, stop: false } })];
  await begun(...settings);
  for (const each of Object.values(late)) each.readsFromMs = nowMs() + 8_000;
  await startedAfterMs(...settings);
  void bench.control.close();
  await bench.clock.advance(60_000);
  expect([late.valve?.told, late.pump?.told]).toEqual([[], [false]]);
});

it('sets no state for the start in place of what its end cuts short', async () => {
  const dimmer = restored('dimmer', { valueType: 'number', safe: { start: 30 } });
  await begun(dimmer);
  (late.dimmer as LateActuator).writesFromMs = NEVER_MS;
  await startedAfterMs(dimmer);
  void bench.control.close();
  await bench.clock.advance(60_000);
  expect(late.dimmer?.asked).toEqual([80]);
});

it('switches off first, also what is slow to say what it shows', async () => {
  const off = new FakeActuator(true);
  bench.drivers.heater = off;
  bench.drivers.lamp = late.lamp = new LateActuator();
  off.read = async () => await new Promise<ActuatorValue>(() => {});
  const order: string[] = [];
  off.beforeWrite = () => void order.push('heater');
  await startedAfterMs(
    relaySettings('heater', { safe: { start: false } }),
    relaySettings('lamp', { safe: { start: true } }),
  );
  await bench.clock.advance(10_000);
  if (late.lamp.told.length > 0) order.push('lamp');
  expect(order).toEqual(['heater', 'lamp']);
});
