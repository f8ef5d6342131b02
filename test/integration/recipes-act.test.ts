/**
 * The recipes of the papers at work: each runs on the simulated board with inputs that make its rule or alarm act, in virtual time. What is expected here
 * is what the page says under "You see".
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { float32, RecipeWorld } from '../support/recipe-world.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/recipes.md'), 'utf8');
const RECIPES = new Map(
  [...PAGE.matchAll(/^## (.+)\n[\s\S]*?```yaml\n([\s\S]*?)```/gm)].map(([, title = '', yaml = '']) => [title, yaml]),
);

/** Text of a recipe, by its heading. */
function recipe(title: string): string {
  const yaml = RECIPES.get(title);
  if (yaml === undefined) throw new Error(`no recipe ${title}`);
  return yaml;
}

/** Humidity and temperature of a thermometer on I2C. */
const air = (address: string, temperature: number, humidity = 50): Readonly<Record<string, number>> => ({
  [`i2c-1:${address}/temperature`]: temperature,
  [`i2c-1:${address}/humidity`]: humidity,
});
const TANK = 'i2c-1:0x48/A0';
/** Volts of a probe that shows percent of 0.4 to 2 V. */
const percent = (level: number): Readonly<Record<string, number>> => ({ [TANK]: 0.4 + (level * 1.6) / 100 });

/** Each heading has a test, which is named after it. */
const ACTS: Readonly<Record<string, (yaml: string) => Promise<void>>> = {
  'Thermostat with frost protection': async (yaml) => {
    const room = '28-0316a2794aff';
    const world = await RecipeWorld.start(yaml, { held: { [room]: 18 } });
    await world.pass('30s');
    expect(world.isOn('GPIO17')).toBe(false);
    await world.pass('3m');
    expect(world.isOn('GPIO17')).toBe(true);
    await world.see({ [room]: 21.1 }, '3m');
    expect(world.isOn('GPIO17')).toBe(false);
    await world.see({ [room]: 18 }, '5m');
    expect(world.isOn('GPIO17')).toBe(true);
    await world.command('setActuator', { name: 'heater', value: false });
    await world.pass('5m');
    expect(world.isOn('GPIO17')).toBe(false);
    await world.see({ [room]: 3.5 }, '3m');
    expect(world.isOn('GPIO17')).toBe(true);
    expect(world.latest('temperature_alarm')).toBe('frost');
    expect(await world.command('setActuator', { name: 'heater', value: false })).toMatchObject({
      error: { message: expect.stringContaining('frost') },
    });
  },

  'Night set-back': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { beginsAt: '2026-02-02T04:50Z', held: air('0x44', 19) });
    await world.pass('30m');
    expect(world.isOn('GPIO17')).toBe(false);
    await world.pass('50m');
    expect(world.isOn('GPIO17')).toBe(true);
    await world.pass('16h');
    expect(world.isOn('GPIO17')).toBe(false);
    await world.see(air('0x44', 16), '10m');
    expect(world.isOn('GPIO17')).toBe(true);
  },

  'Heating and cooling with two set points': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: air('0x44', 18) });
    await world.pass('7m');
    expect([world.isOn('GPIO17'), world.isOn('GPIO27')]).toEqual([true, false]);
    await world.see(air('0x44', 26), '2m');
    expect([world.isOn('GPIO17'), world.isOn('GPIO27')]).toEqual([false, false]);
    await world.pass('5m');
    expect([world.isOn('GPIO17'), world.isOn('GPIO27')]).toEqual([false, true]);
    await world.see(air('0x44', 22), '2m');
    expect([world.isOn('GPIO17'), world.isOn('GPIO27')]).toEqual([false, false]);
  },

  'Freezer alarm with a delay': async (yaml) => {
    const freezer = '28-0316a2794b02';
    const world = await RecipeWorld.start(yaml, { held: { [freezer]: -20, GPIO22: 0 } });
    await world.pass('5m');
    await world.see({ [freezer]: -10 }, '10m');
    await world.see({ [freezer]: -20 }, '10m');
    expect(world.arrived('temperature_alarm')).not.toContain('tooWarm');
    await world.see({ [freezer]: -10 }, '19m');
    expect([world.latest('temperature_alarm') === 'tooWarm', world.isOn('GPIO27')]).toEqual([false, false]);
    await world.pass('2m');
    expect([world.latest('temperature_alarm'), world.isOn('GPIO27')]).toEqual(['tooWarm', true]);
    await world.pass('10m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.see({ [freezer]: -18 }, '2m');
    expect(world.latest('temperature_alarm')).toBe('ok');
    await world.see({ GPIO22: 1 }, '2m');
    expect(world.arrived('freezerDoorOpen_alarm')).not.toContain('leftOpen');
    await world.pass('2m');
    expect(world.latest('freezerDoorOpen_alarm')).toBe('leftOpen');
  },

  'Cabinet fan by temperature': async (yaml) => {
    const cabinet = 'i2c-1:0x48/temperature';
    const world = await RecipeWorld.start(yaml, { held: { [cabinet]: 25 } });
    await world.pass('1m');
    expect(world.duty('pwmchip0:0') ?? 0).toBeCloseTo(0);
    await world.see({ [cabinet]: 40 }, '1m');
    expect(world.duty('pwmchip0:0')).toBeCloseTo(50);
    await world.see({ [cabinet]: 55 }, '1m');
    expect(world.duty('pwmchip0:0')).toBeCloseTo(100);
    await world.see({ [cabinet]: 30 }, '1m');
    expect(world.duty('pwmchip0:0')).toBeCloseTo(0);
    world.fault('i2c-1:0x48', 'nak');
    await world.pass('1m');
    expect(world.duty('pwmchip0:0')).toBeCloseTo(100);
  },

  'Cellar dried by outside air': async (yaml) => {
    const inside = air('0x44', 15, 75);
    const world = await RecipeWorld.start(yaml, { held: Object.assign({}, inside, air('0x45', 5, 60)) });
    await world.pass('3m');
    expect(world.isOn('GPIO27')).toBe(true);
    expect(Number(world.latest('gain'))).toBeGreaterThan(10);
    await world.see(air('0x45', 25, 60), '7m');
    expect(world.isOn('GPIO27')).toBe(false);
    expect(Number(world.latest('gain'))).toBeLessThan(0);
  },

  'Pump with dry-run protection': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: Object.assign({ GPIO22: 0 }, percent(50)) });
    await world.pass('3m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.see(percent(20), '1m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see(percent(60), '1m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see(percent(85), '1m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.see(percent(20), '2m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see({ GPIO22: 1 }, '1s');
    expect(world.isOn('GPIO27')).toBe(false);
    expect(await world.command('setActuator', { name: 'pump', value: true })).toMatchObject({
      error: { message: expect.stringContaining('dry') },
    });
  },

  'Tank level': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: { [TANK]: 0.5 } });
    await world.pass('2m');
    expect(world.latest('tankLevel')).toBeCloseTo(0.16);
    expect(world.latest('tankVolume')).toBeCloseTo(0.5, 1);
    expect(world.latest('tankLevel_alarm')).toBe('low');
    const count = world.arrived('tankLevel').length;
    await world.see({ [TANK]: 0 }, '15m');
    expect(world.arrived('tankLevel')).toHaveLength(count);
    expect(world.status.alerts).toContainEqual(expect.stringContaining('Rain water tank gives no tankLevel'));
  },

  Irrigation: async (yaml) => {
    const [dry, wet] = [{ [TANK]: 1.98 }, { [TANK]: 1.3 }];
    const world = await RecipeWorld.start(yaml, {
      beginsAt: '2026-07-03T04:30Z',
      held: Object.assign({ GPIO22: 1 }, dry),
    });
    await world.pass('25m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.pass('10m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.pass('18m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.pass('23h');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.pass('45m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see({ GPIO22: 0 }, '5s');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.see(Object.assign({ GPIO22: 1 }, wet), '1d');
    expect(world.isOn('GPIO27')).toBe(false);
    const winter = await RecipeWorld.start(yaml, {
      beginsAt: '2026-01-03T04:30Z',
      held: Object.assign({ GPIO22: 1 }, dry),
    });
    await winter.pass('1h');
    expect(winter.isOn('GPIO27')).toBe(false);
  },

  'Leak that closes a valve': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: { GPIO22: 1 } });
    await world.pass('1m');
    await world.command('setActuator', { name: 'mainValve', value: true });
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see({ GPIO22: 0 }, '5s');
    expect(world.isOn('GPIO27')).toBe(false);
    expect(world.latest('leak_alarm')).toBe('leak');
    expect(await world.command('setActuator', { name: 'mainValve', value: true })).toMatchObject({
      error: { message: expect.stringContaining('shut') },
    });
    await world.see({ GPIO22: 1 }, '10m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.command('setActuator', { name: 'mainValve', value: true });
    expect(world.isOn('GPIO27')).toBe(true);
  },

  'Staircase light': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: { GPIO22: 0 } });
    await world.pass('5m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.see({ GPIO22: 1 }, '1s');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see({ GPIO22: 0 }, '2m');
    await world.see({ GPIO22: 1 }, '5s');
    await world.see({ GPIO22: 0 }, '2m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.pass('55s');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.pass('10s');
    expect(world.isOn('GPIO27')).toBe(false);
  },

  'Time switch by weekday': async (yaml) => {
    // A Friday.
    const world = await RecipeWorld.start(yaml, { beginsAt: '2026-02-06T07:00Z' });
    const isOnAfter = async (time: string): Promise<boolean> => {
      await world.pass(time);
      return world.isOn('GPIO27');
    };
    expect(await isOnAfter('28m')).toBe(false);
    expect(await isOnAfter('5m')).toBe(true);
    expect(await isOnAfter('10h')).toBe(true);
    expect(await isOnAfter('1h')).toBe(false);
    // Saturday at 8:33, 9:33 and 14:33.
    expect(await isOnAfter('14h')).toBe(false);
    expect(await isOnAfter('1h')).toBe(true);
    expect(await isOnAfter('5h')).toBe(false);
    // Sunday at 10:33.
    expect(await isOnAfter('20h')).toBe(false);
  },

  'Ten meters as ten devices': async (yaml) => {
    const numbers = Array.from({ length: 10 }, (_, at) => at + 1);
    const world = await RecipeWorld.start(yaml, {
      held: Object.assign({}, ...numbers.map((n) => float32(`/dev/ttyUSB0:${n}/input/12`, 100 * n))),
    });
    await world.pass('10m');
    const meters = numbers.map((n) => `gateway-board-1 meter${n}`);
    expect(world.devices).toEqual(['gateway-board-1', ...meters].sort());
    expect(meters.map((meter) => world.latest('powerTotal', meter))).toEqual(numbers.map((n) => 100 * n));
  },

  'One meter for each tenant': async (yaml) => {
    const meter = (unit: number, serial: number, energy: number): Readonly<Record<string, number>> =>
      Object.assign(
        {
          [`/dev/ttyUSB0:${unit}/holding/64512`]: serial >>> 16,
          [`/dev/ttyUSB0:${unit}/holding/64513`]: serial & 0xffff,
        },
        float32(`/dev/ttyUSB0:${unit}/input/72`, energy),
      );
    const held = Object.assign({}, meter(1, 21_345_601, 10), meter(2, 21_345_602, 20), meter(3, 21_345_603, 30));
    const world = await RecipeWorld.start(yaml, { held });
    await world.pass('20m');
    const name = (serial: number): string => `gateway-board-1 ${serial}`;
    expect(world.devices).toEqual(['gateway-board-1', name(21_345_601), name(21_345_602), name(21_345_603)]);
    expect(world.latest('energyImport', name(21_345_602))).toBe(20);
    await world.see(meter(2, 21_345_699, 1), '20m');
    expect(world.devices).toContain(name(21_345_699));
    expect(world.latest('energyImport', name(21_345_699))).toBe(1);
    expect(new Set(world.arrived('energyImport', name(21_345_602)))).toEqual(new Set([20]));
  },

  'Water heated with surplus': async (yaml) => {
    const grid = (watts: number): Readonly<Record<string, number>> => float32('/dev/ttyUSB0:1/input/52', watts);
    const boiler = '28-0316a2794b07';
    const world = await RecipeWorld.start(yaml, { held: Object.assign({ [boiler]: 40 }, grid(-3_000)) });
    await world.pass('1m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.pass('2m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see(grid(-1_000), '10m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see(grid(500), '1m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.see(grid(-3_000), '8m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see({ [boiler]: 66 }, '1m');
    expect(world.isOn('GPIO27')).toBe(false);
  },

  'Weather station': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: Object.assign({ GPIO6: 1 }, air('0x76', 20, 50)) });
    await world.pass('11m');
    expect(world.latest('dewPoint')).toBeCloseTo(9.3, 1);
    expect(world.latest('windSpeed_mean')).toBeGreaterThan(0);
    const before = Number(world.latest('rainTotal'));
    for (let tip = 0; tip < 10; tip += 1) {
      await world.see({ GPIO6: 0 }, '1s');
      await world.see({ GPIO6: 1 }, '1s');
    }
    await world.pass('2m');
    expect(Number(world.latest('rainTotal')) - before).toBeCloseTo(2.8, 5);
  },

  'GPS tracker': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: { '/dev/ttyACM0/speedKnots': 20 } });
    await world.pass('5m');
    expect(world.latest('latitude')).toBeCloseTo(47.07);
    await world.see({ '/dev/ttyACM0/speedKnots': 60 }, '20s');
    expect(world.latest('speed_alarm')).toBe('fast');
    await world.see({ '/dev/ttyACM0/speedKnots': 40 }, '20s');
    expect(world.latest('speed_alarm')).toBe('ok');
  },

  'Metered SIM card': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: { GPIO22: 1 } });
    expect(world.status.link.step).toBe('everything');
    await world.pass('6h');
    expect(world.status.link).toMatchObject({ step: expect.stringMatching(/-at-wakes$/), monthlyBytes: 30e6 });
    await world.see({ GPIO22: 0 }, '5s');
    expect(world.latest('pitFull_alarm')).toBe('full');
  },

  'SIM card on a roof': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { held: Object.assign({ GPIO17: 0 }, air('0x76', 20)) });
    await world.pass('1h');
    const count = world.uploads;
    await world.pass('4h');
    expect(world.uploads - count).toBeLessThanOrEqual(4 * 5);
    expect(world.arrived('temperature_mean').length).toBeGreaterThanOrEqual(16);
    expect(world.latest('temperature_max')).toBeCloseTo(20);
  },

  'Site without network': async (yaml) => {
    const world = await RecipeWorld.start(yaml, { isOffline: true, held: air('0x44', 15, 75) });
    await world.pass('4m');
    expect(world.isOn('GPIO27')).toBe(false);
    await world.pass('3m');
    expect(world.isOn('GPIO27')).toBe(true);
    await world.see(air('0x44', 15, 55), '2m');
    expect(world.isOn('GPIO27')).toBe(false);
    expect(world.status.outbox.heldEntries).toBeGreaterThan(0);
    expect(world.latest('humidity')).toBeUndefined();
    world.reconnect();
    await world.pass('30m');
    expect(world.arrived('humidity')).toEqual(expect.arrayContaining([75, 55]));
  },
};

describe('the recipes', () => {
  it('are twenty, and each has a test', () => {
    expect([...RECIPES.keys()].sort()).toEqual(Object.keys(ACTS).sort());
    expect(RECIPES.size).toBe(20);
  });

  it.each(Object.entries(ACTS))('act: %s', async (title, act) => await act(recipe(title)));
});
