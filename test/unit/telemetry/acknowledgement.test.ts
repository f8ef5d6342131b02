/** What a person says of an alarm: marked, told, kept over a restart, and over with the alarm. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { TelemetryEntry } from '../../../src/outbox/format/telemetry-entry.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import type { Acknowledger, ToldAcknowledgement } from '../../../src/telemetry/acknowledgement.ts';
import { DeadbandRules, type KeyRules } from '../../../src/telemetry/deadband-rules.ts';
import { STANDING_STATES_FORMAT, StandingStates } from '../../../src/telemetry/standing-states.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const HOT = { name: 'hot', above: 40 };
const FIRE = { name: 'fire', above: 60 };
const RULES: KeyRules = { alarms: [HOT, FIRE] };
const SEEN = 't_alarm_acknowledged';

let files: MemoryFiles;
let clock: FakeClock;
/** What the platform shows: the last value of each key, and its class. */
let platform: Record<string, unknown>;
let classes: Record<string, string>;
let told: ToldAcknowledgement[];
let rules: KeyRules;
let standing: StandingStates;
let deadband: DeadbandRules;

beforeEach(() => {
  files = new MemoryFiles();
  clock = new FakeClock();
  [platform, classes, told, rules] = [{}, {}, [], RULES];
});

async function start(): Promise<void> {
  const file = new StateFile({
    ...STANDING_STATES_FORMAT,
    path: '/state/standing.json',
    files,
    clock,
    log: silentLog,
  });
  standing = await StandingStates.open(file, clock);
  deadband = new DeadbandRules({
    clock,
    rulesFor: () => rules,
    standing,
    onAlarmAcknowledged: (one) => void told.push(one),
    report: (entries: readonly TelemetryEntry[]) => {
      for (const { key, value, class: entryClass } of entries) [platform[key], classes[key]] = [value, entryClass];
    },
  });
}

/** The power goes a moment later; what was saved at once is there at the next start. */
async function cutPower(): Promise<void> {
  await clock.advance(1_000);
  files.cutPower(() => false);
  await start();
}

function read(value: number): void {
  deadband.take([{ sensor: 'roof', key: 't', value, bootId: clock.bootId, monotonicMs: clock.monotonicMs() }]);
}

const see = (name?: string, by: Acknowledger = 'page') => deadband.acknowledge({ sensor: 'roof', key: 't', name }, by);
const shown = () => deadband.alarms().map(({ name, acknowledged }) => [name, acknowledged?.by, acknowledged?.atMs]);

describe('an alarm that is acknowledged', () => {
  beforeEach(start);

  it('stays on, and says who has seen it, and when', () => {
    read(50);
    const atMs = clock.wallMs();
    expect(see('hot')).toMatchObject([{ sensor: 'roof', key: 't', name: 'hot', acknowledged: { by: 'page', atMs } }]);
    expect(shown()).toEqual([['hot', 'page', atMs]]);
    expect(told).toMatchObject([{ sensor: 'roof', key: 't', reading: 't', device: 'self', by: 'page' }]);
    expect([platform.t_alarm, platform[SEEN], classes[SEEN]]).toEqual(['hot', 'hot, by page', 'alarm']);
  });

  it('keeps who saw it first, and is told once', async () => {
    read(50);
    see('hot');
    const before = shown();
    await clock.advance(60_000);
    expect(see('hot', 'platform')).toMatchObject([{ acknowledged: { by: 'page' } }]);
    expect([shown(), told.length, platform[SEEN]]).toEqual([before, 1, 'hot, by page']);
  });

  it('is each of the key where no name is given, and told with those that others have seen', () => {
    read(70);
    see('fire', 'local');
    see();
    expect(shown().map(([name, by]) => [name, by])).toEqual([
      ['hot', 'page'],
      ['fire', 'local'],
    ]);
    expect(platform[SEEN]).toBe('hot, by page; fire, by local');
    expect(told.map(({ alarms }) => alarms.map(({ name }) => name))).toEqual([['fire'], ['hot']]);
  });

  it('is not acknowledged once it has ended and come again', () => {
    read(70);
    see();
    read(50);
    expect(platform[SEEN]).toBe('hot, by page');
    read(20);
    expect([platform.t_alarm, platform[SEEN]]).toEqual(['ok', 'ok']);
    read(70);
    expect(shown().map(([, by]) => by)).toEqual([undefined, undefined]);
    expect(platform[SEEN]).toBe('ok');
  });

  it('keeps that while the limit without a name is changed', () => {
    rules = { alarms: [{ above: 40 }] };
    read(50);
    see();
    rules = { alarms: [{ above: 45 }] };
    read(50);
    expect(shown().map(([name, by]) => [name, by])).toEqual([['above 45', 'page']]);
    expect(platform[SEEN]).toBe('above 45, by page');
  });

  it('is told to be over with its alarm, when the alarm, its key or its name goes', () => {
    read(50);
    see();
    rules = {};
    read(50);
    expect([platform.t_alarm, platform[SEEN]]).toEqual(['ok', 'ok']);
    rules = RULES;
    read(50);
    see();
    rules = { ...RULES, rename: 'other' };
    read(50);
    expect([platform.t_alarm, platform[SEEN], platform.other_alarm]).toEqual(['ok', 'ok', 'hot']);
    expect('other_alarm_acknowledged' in platform).toBe(false);
    deadband.acknowledge({ sensor: 'roof', key: 'other' }, 'local');
    expect(standing.takeGone(() => false)).toEqual(['other_alarm', 'other_alarm_acknowledged']);
  });

  it('says nothing of acknowledging to a platform that was never told of any', () => {
    read(50);
    read(20);
    expect(Object.keys(platform)).toEqual(['t', 't_alarm']);
  });

  it.each([
    ['another name', 'cold', 'no alarm of t with the name cold is on at sensor roof; on are t: hot'],
    ['no name, within its limits', undefined, 'no alarm of t is on at sensor roof; it has none on'],
  ])('is refused with %s', (_what, name, message) => {
    read(name === undefined ? 20 : 50);
    expect(() => see(name)).toThrow(expect.objectContaining({ code: 'alarms/not-on', recovery: 'drop', message }));
    expect(SEEN in platform).toBe(false);
  });
});

describe('a restart', () => {
  beforeEach(start);

  it('keeps who has seen an alarm that stands with the first value', async () => {
    read(50);
    see('hot');
    const before = shown();
    await cutPower();
    expect(shown()).toEqual([]);
    platform = {};
    read(70);
    expect(shown()).toEqual([...before, ['fire', undefined, undefined]]);
    expect([platform.t_alarm, platform[SEEN]]).toEqual(['hot, fire', 'hot, by page']);
    await cutPower();
    read(50);
    expect(shown()).toEqual(before);
  });

  it('tells that it is over when the first value is within its limit, and forgets it', async () => {
    read(50);
    see();
    await cutPower();
    read(20);
    expect([platform.t_alarm, platform[SEEN]]).toEqual(['ok', 'ok']);
    read(50);
    await cutPower();
    read(50);
    expect(shown()).toEqual([['hot', undefined, undefined]]);
  });

  it('takes a file for one without acknowledgements where those in it are none', async () => {
    const kept = [{ name: 'hot', by: 'nobody', atMs: 5 }, { name: 'hot', by: 'page' }, 'hot'];
    standing.note('t_alarm', { sensor: 'roof', reading: 't', alarms: ['hot'], acknowledged: kept as never }, true);
    await cutPower();
    read(50);
    expect(shown()).toEqual([['hot', undefined, undefined]]);
  });
});
