import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import { sealJson } from '../../../src/store/sealed-json.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { DeadbandRules, type KeyRules } from '../../../src/telemetry/deadband-rules.ts';
import { STANDING_STATES_FORMAT, StandingStates, type StateOwner } from '../../../src/telemetry/standing-states.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let files: MemoryFiles;
let clock: FakeClock;
/** What the platform shows: the last value of each key. */
let platform: Record<string, unknown>;
let classes: Record<string, string>;
let standing: StandingStates;
beforeEach(() => {
  files = new MemoryFiles();
  clock = new FakeClock();
  platform = {};
  classes = {};
});

/** A life of the agent with these rules, one value a second; the power may go at its end. */
async function life(rules: KeyRules, ...values: number[]): Promise<void> {
  standing = await StandingStates.open(
    new StateFile({ ...STANDING_STATES_FORMAT, path: '/state/standing.json', files, clock, log: silentLog }),
    clock,
  );
  const report = (entries: readonly TelemetryEntry[]): void => {
    for (const { key, value, class: entryClass } of entries) [platform[key], classes[key]] = [value, entryClass];
  };
  const reportRules = new DeadbandRules({ clock, rulesFor: () => rules, report, standing });
  for (const value of values) {
    reportRules.take([{ sensor: 'roof', key: 't', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
    await clock.advance(1_000);
  }
  await standing.close();
  files.cutPower(() => false);
}

const of =
  (...sensors: string[]) =>
  ({ sensor }: StateOwner): boolean =>
    sensors.includes(sensor);
const HOT = { alarms: [{ above: 40 }] };

describe('what stands at the platform', () => {
  it('is over when the value is, whatever was restarted in between', async () => {
    await life(HOT, 20, 50);
    await life(HOT, 20);
    expect([platform.t_alarm, classes.t_alarm]).toEqual(['ok', 'alarm']);
    expect(standing.has('t_alarm')).toBe(false);
  });

  it('is known for each alarm of a key', async () => {
    const both = {
      alarms: [
        { above: 5, name: 'warm' },
        { above: 8, name: 'hot', forMs: 3_600_000 },
      ],
    };
    await life(both, 9);
    await life(both, 9);
    expect(platform.t_alarm).toBe('warm');
    const low = {
      alarms: [
        { below: 2, name: 'cold' },
        { below: 1, name: 'frozen', forMs: 2_000 },
      ],
    };
    await life(low, 0, 0, 0);
    expect(platform.t_alarm).toBe('cold, frozen');
    await life(low, 0);
    expect(platform.t_alarm).toBe('cold, frozen');
    await life(low, 1.5);
    await life(low, 0);
    expect(platform.t_alarm).toBe('cold');
  });

  it('is over when its threshold was taken out of the configuration', async () => {
    await life(HOT, 50);
    await life({}, 50);
    expect(platform.t_alarm).toBe('ok');
    platform = {};
    await life({}, 50);
    expect(platform).toEqual({ t: 50 });
  });

  it('is told anew when its threshold, or the reading, comes back while it is beyond it', async () => {
    for (const without of [{ alarms: [] }, { ...HOT, report: false }, { alarms: undefined }]) {
      let rules: object = HOT;
      await life({});
      const told: unknown[] = [];
      const report = (entries: readonly TelemetryEntry[]): void =>
        void told.push(...entries.flatMap(({ key, value }) => (key === 't_alarm' ? [value] : [])));
      const reportRules = new DeadbandRules({ clock, rulesFor: () => rules, report, standing });
      for (const now of [HOT, without, without, HOT, HOT]) {
        rules = now;
        reportRules.take([
          { sensor: 'roof', key: 't', value: 50, bootId: clock.bootId, monotonicMs: clock.monotonicMs() },
        ]);
        await clock.advance(1_000);
      }
      expect(told).toEqual(['above 40', 'ok', 'above 40']);
      await standing.close();
      files = new MemoryFiles();
    }
  });

  it('is over under its old name when the key was renamed', async () => {
    await life(HOT, 50);
    await life({ ...HOT, rename: 'temperature' }, 50);
    expect(platform).toMatchObject({ t_alarm: 'ok', temperature_alarm: 'above 40' });
    expect([standing.has('t_alarm'), standing.has('temperature_alarm')]).toEqual([false, true]);
    platform = {};
    await life({ ...HOT, rename: 'temperature' }, 50, 20, 50);
    expect(Object.keys(platform)).toEqual(['temperature', 'temperature_alarm']);
  });

  it.each([
    ['at a reload', false],
    ['at a restart', true],
  ])('belongs to whoever has the name, when two readings change theirs %s', async (_when, isRestart) => {
    const names: Record<string, string> = { a: 'inside', b: 'outside' };
    const report = (entries: readonly TelemetryEntry[]): void => {
      for (const { key, value } of entries) platform[key] = value;
    };
    const rulesFor = (sensor: string): KeyRules => ({ alarms: [{ above: 30 }], rename: names[sensor] ?? sensor });
    const rules = (): DeadbandRules => new DeadbandRules({ clock, rulesFor, report, standing });
    const take = (reportRules: DeadbandRules, ...all: [string, number][]): void =>
      void reportRules.take(
        all.map(([sensor, value]) => ({
          sensor,
          key: 't',
          value,
          bootId: clock.bootId,
          monotonicMs: clock.monotonicMs(),
        })),
      );
    for (const [order, warm] of [
      ['ab', 40],
      ['ba', 40],
      ['ab', 20],
      ['ba', 20],
    ] as const) {
      [platform, names.a, names.b] = [{}, 'inside', 'outside'];
      files = new MemoryFiles();
      await life({});
      const before = rules();
      take(before, ['a', 35], ['b', warm]);
      if (isRestart) {
        await standing.close();
        await life({});
      }
      [names.a, names.b] = ['outside', 'inside'];
      const after = isRestart ? rules() : before;
      const values = { a: 35, b: warm };
      for (let at = 0; at < 3; at += 1)
        take(after, ...[...order].map((sensor): [string, number] => [sensor, values[sensor as 'a' | 'b']]));
      const insideAlarm = warm === 40 ? 'above 30' : 'ok';
      expect(platform).toEqual({ outside: 35, outside_alarm: 'above 30', inside: warm, inside_alarm: insideAlarm });
      expect([standing.has('outside_alarm'), standing.has('inside_alarm')]).toEqual([true, warm === 40]);
      await standing.close();
    }
  });

  it('is over when the key is no longer reported', async () => {
    await life(HOT, 50);
    await life({ ...HOT, report: false }, 50);
    expect(platform).toEqual({ t: 50, t_alarm: 'ok' });
  });

  it('is known of sensors that are gone, once', async () => {
    await life(HOT, 50);
    standing.note('cellar_state', { sensor: 'cellar' }, true);
    expect(standing.takeGone(of('roof'))).toEqual(['cellar_state']);
    expect(standing.takeGone(of())).toEqual(['t_alarm']);
    expect(standing.takeGone(of())).toEqual([]);
    await standing.close();
    await life(HOT);
    expect(standing.takeGone(of())).toEqual([]);
  });

  it('is over under one name of a reading and stands under another', async () => {
    await life({});
    for (const key of ['a_alarm', 'b_alarm', 'c_alarm']) standing.note(key, { sensor: 'roof', reading: 't' }, true);
    standing.note('a_alarm', { sensor: 'roof', reading: 't' }, false);
    expect(standing.takeOthersOf('roof', 't', 'c_alarm')).toEqual(['b_alarm']);
    expect(standing.takeOthersOf('roof', 't', 'd_alarm')).toEqual(['c_alarm']);
    await standing.close();
  });

  it('belongs to one reading of one sensor, and is written only when it changes', async () => {
    await life({});
    standing.note('t_alarm', { sensor: 'roof', reading: 't' }, true);
    standing.note('humidity_alarm', { sensor: 'roof', reading: 'humidity' }, true);
    standing.note('cellar_alarm', { sensor: 'cellar', reading: 't' }, true);
    standing.note('roof_state', { sensor: 'roof' }, true);
    await standing.close();
    await life({});
    files.changes.splice(0);
    expect(standing.takeOthersOf('roof', 't', 't_alarm')).toEqual([]);
    expect(standing.takeGone(of('roof', 'cellar'))).toEqual([]);
    standing.note('t_alarm', { sensor: 'roof', reading: 't' }, true);
    standing.note('nothing', { sensor: 'roof' }, false);
    await standing.close();
    expect(files.changes).toEqual([]);
    await life({});
    expect(standing.takeOthersOf('roof', 't', 'temperature_alarm')).toEqual(['t_alarm']);
    await standing.close();
    await life({});
    expect(standing.takeGone(of('cellar'))).toEqual(['humidity_alarm', 'roof_state']);
  });

  it('is forgotten, the one measured longest ago first, when there is more of it than anybody would look at', async () => {
    await life({});
    standing.note('ble_state', { sensor: 'ble' }, true);
    const report = (entries: readonly TelemetryEntry[]): void => {
      for (const { key, value, class: entryClass } of entries) [platform[key], classes[key]] = [value, entryClass];
    };
    const reportRules = new DeadbandRules({ clock, rulesFor: () => ({ alarms: [{ below: -80 }] }), report, standing });
    const take = (...keys: number[]): void => {
      const now = { sensor: 'ble', bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
      reportRules.take(keys.map((key) => ({ ...now, key: `k${key}`, value: -90 })));
    };
    take(...Array.from({ length: 1_999 }, (_, at) => at));
    expect(Object.values(platform)).not.toContain('removed');
    take(0, 2_000, 2_001);
    expect(Object.entries(platform).filter(([, value]) => value !== 'below -80' && value !== -90)).toEqual([
      ['k1_alarm', 'removed'],
      ['k2_alarm', 'removed'],
    ]);
    expect([classes.k1_alarm, standing.has('k1_alarm'), standing.has('k0_alarm'), standing.has('ble_state')]).toEqual([
      'alarm',
      false,
      true,
      true,
    ]);
    await standing.close();
    await life({});
    expect(standing.takeGone(of())).toHaveLength(2_000);
  });

  it('costs a sensor that fails now and then no write each time, and a kill forgets no failure', async () => {
    const open = (): Promise<StandingStates> => {
      const file = { path: '/state/standing.json', files, clock, log: silentLog };
      return StandingStates.open(new StateFile({ ...STANDING_STATES_FORMAT, ...file }), clock);
    };
    const states = await open();
    const tell = async (sensor: string, isFailing: boolean): Promise<void> => {
      states.note(`${sensor}_state`, { sensor }, isFailing);
      await clock.advance(1_000);
    };
    const kept = async (): Promise<readonly string[]> => (await open()).takeGone(() => false);
    await tell('roof', true);
    const written = files.changes.length;
    for (const isFailing of [false, true, false, true, false]) await tell('roof', isFailing);
    expect(files.changes).toHaveLength(written);
    expect(await kept()).toEqual(['roof_state']);
    await tell('cellar', true);
    expect(await kept()).toEqual(['cellar_state']);
    await tell('cellar', false);
    await clock.advance(5 * 60_000);
    expect(await kept()).toEqual([]);
  });

  it('begins with nothing when its file makes no sense', async () => {
    files.put(
      '/state/standing.json',
      sealJson({
        format: 'turnstone/standing-states',
        version: 1,
        state: { a: 5, b: { sensor: 7 }, c: { sensor: 'x' } },
      }),
    );
    await life({});
    expect(standing.takeGone(of())).toEqual(['c']);
  });
});
