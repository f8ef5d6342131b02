/** The record over restarts, damage, full disks and floods. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../test/support/memory-files.ts';
import type { ToldEvent } from './event.ts';
import { readTimelineQuery, timelineQueryOf } from './query.ts';
import { Timeline } from './timeline.ts';
import { MAX_EVENT_BYTES, MAX_EVENTS } from './timeline-file.ts';

const PATH = '/state/timeline.jsonl';
const ALL = { limit: 5_000 };

interface Own {
  readonly clock?: FakeClock;
  readonly files?: MemoryFiles;
  readonly isClockRight?: boolean;
  readonly version?: string;
}

function timelineWith({
  clock = new FakeClock(),
  files = new MemoryFiles(),
  isClockRight = true,
  version = '1.2.3',
}: Own = {}) {
  const warned: string[] = [];
  const log = {
    warn: (_fields: object, message: string) => void warned.push(message),
    redact: (text: string) => text.replaceAll('s3cret', '[secret]'),
  };
  const timeline = new Timeline({ clock, files, path: PATH, log, version, isClockRight: () => isClockRight });
  return { timeline, clock, files, warned };
}

async function opened(own: Own = {}) {
  const parts = timelineWith(own);
  parts.timeline.open(async () => {});
  await parts.clock.advance(1);
  return parts;
}

const moved = (words: string, more: Partial<ToldEvent> = {}): ToldEvent => ({ kind: 'command', words, ...more });
const wordsOf = (timeline: Timeline): readonly string[] => timeline.select(ALL).events.map(({ words }) => words);

it('keeps what was told over a restart, and goes on counting', async () => {
  const first = await opened();
  first.timeline.tell(moved('fan is on', { actuator: 'fan', by: 'rpc', value: true }));
  first.timeline.tellStop(true);
  await first.timeline.close();
  const { timeline } = await opened(first);
  const { events } = timeline.select(ALL);
  expect(events.map(({ seq }) => seq)).toEqual([4, 3, 2, 1]);
  expect(events[2]).toEqual({
    seq: 2,
    ts: first.clock.wallMs() - 1,
    kind: 'command',
    words: 'fan is on',
    actuator: 'fan',
    by: 'rpc',
    value: true,
  });
  expect(events.map(({ by }) => by)).toEqual(['restart', 'stop', 'rpc', 'first']);
  expect(timeline.lastSeq).toBe(4);
});

it('goes on with its numbers over a restart, also where the oldest events are gone', async () => {
  const first = await opened();
  for (let event = 0; event < MAX_EVENTS + 500; event += 1) first.timeline.tell(moved(`event ${event}`));
  await first.timeline.close();
  const { lastSeq } = first.timeline;
  expect(lastSeq).toBe(MAX_EVENTS + 501);
  const { timeline } = await opened(first);
  timeline.tell(moved('after the restart'));
  const { events } = timeline.select(ALL);
  const seqs = events.map(({ seq }) => seq);
  expect(seqs.slice(0, 3)).toEqual([lastSeq + 2, lastSeq + 1, lastSeq]);
  expect(seqs.at(-1)).toBe(lastSeq + 3 - seqs.length);
  expect(events.find(({ words }) => words === 'event 2400')?.seq).toBe(2_402);
});

it('is on disk within ten seconds, by appending and without a sync', async () => {
  const { timeline, clock, files } = await opened();
  await clock.advance(10_000);
  const syncs = files.changes.filter((change) => change.startsWith('sync')).length;
  timeline.tell(moved('fan is on', { kind: 'rule' }));
  await clock.advance(7_000);
  expect(files.contentOf(PATH).toString()).not.toContain('fan is on');
  await clock.advance(10_000);
  expect(files.contentOf(PATH).toString()).toContain('fan is on');
  expect(files.changes.filter((change) => change.startsWith('sync'))).toHaveLength(syncs);
});

it('has a command on disk before a kill can come, also one after another, without a sync', async () => {
  const first = await opened();
  const { timeline, clock, files } = first;
  await clock.advance(10_000);
  const begun = files.changes.length;
  timeline.tell(moved('rule frost began', { kind: 'rule' }));
  await clock.advance(1_000);
  for (let at = 0; at < 100; at += 1) timeline.tell(moved(`fan is at ${at}`));
  await clock.advance(100);
  timeline.tell(moved('fan is released'));
  await clock.advance(100);
  timeline.tell(moved('rule frost ended', { kind: 'rule' }));
  const changes = files.changes.slice(begun);
  expect(changes.length).toBeLessThan(10);
  expect(changes.filter((change) => change.startsWith('sync'))).toEqual([]);
  const words = wordsOf((await opened({ files })).timeline);
  expect(words).toEqual(expect.arrayContaining(['rule frost began', 'fan is at 0', 'fan is at 99', 'fan is released']));
  expect(words).not.toContain('rule frost ended');
});

it('has what came before the file was read behind it, and the start before that', async () => {
  const first = await opened();
  first.timeline.tell(moved('earlier'));
  await first.timeline.close();
  const { timeline } = timelineWith(first);
  timeline.tell(moved('early'));
  timeline.open(async () => {});
  await first.clock.advance(1);
  expect(wordsOf(timeline).toReversed()).toEqual([
    expect.stringContaining('started'),
    'earlier',
    'The agent 1.2.3 started again: the process before had ended without a stop.',
    'early',
  ]);
});

it('passes a damaged line over, and one that was half written', async () => {
  const first = await opened();
  for (const words of ['one', 'two', 'three']) first.timeline.tell(moved(words));
  await first.timeline.close();
  const text = first.files.contentOf(PATH).toString().replace('"words":"two"', '"words":"six"').slice(0, -9);
  first.files.writeNow(PATH, text);
  const second = await opened(first);
  expect(wordsOf(second.timeline)).toEqual([
    expect.stringContaining('again'),
    'one',
    expect.stringContaining('nothing is recorded'),
  ]);
  await second.timeline.close();
  const third = await opened(first);
  expect(wordsOf(third.timeline)).toHaveLength(4);
});

it('begins anew where the file is no timeline', async () => {
  const files = new MemoryFiles();
  files.writeNow(PATH, 'hello\n');
  const { timeline } = await opened({ files });
  await timeline.close();
  expect(wordsOf((await opened({ files })).timeline)).toHaveLength(2);
});

it('goes on in memory while the disk is full, says so once, and is whole once there is room', async () => {
  const { timeline, clock, files, warned } = await opened();
  await clock.advance(10_000);
  files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC', short: true } : undefined) };
  timeline.tell(moved('while it is full'));
  await clock.advance(200_000);
  expect(warned).toEqual(['the timeline is not on disk; it is tried again']);
  expect(wordsOf(timeline)[0]).toBe('while it is full');
  files.faults = {};
  await clock.advance(70_000);
  await timeline.close();
  const again = await opened({ files });
  expect(wordsOf(again.timeline)).toContain('while it is full');
});

it('waits for no disk that hangs', async () => {
  const files = new MemoryFiles();
  files.faults = { delay: () => new Promise(() => {}) };
  const { timeline, clock } = await opened({ files });
  timeline.tell(moved('fan is on'));
  expect(wordsOf(timeline)).toEqual(['fan is on']);
  const closed = timeline.close();
  await clock.advance(2_500);
  await closed;
});

it('touches nothing before the state folder is this agent’s', async () => {
  const { timeline, clock, files } = timelineWith();
  let isTaken = false;
  timeline.open(async () => {
    if (!isTaken) throw new Error('not yet');
  });
  timeline.tell(moved('early'));
  await clock.advance(30_000);
  expect(files.paths).toEqual([]);
  isTaken = true;
  await clock.advance(60_000);
  expect(files.contentOf(PATH).toString()).toContain('early');
});

it('keeps the newest alone, and its file stays within twice of them', async () => {
  const { timeline, clock, files } = await opened();
  for (let at = 1; at <= 6_500; at += 1) {
    timeline.tell(moved(`event ${at} ${'x'.repeat(60)}`));
    if (at % 500 === 0) await clock.advance(10_000);
  }
  await timeline.close();
  const { events } = timeline.select(ALL);
  expect(events.length).toBeLessThanOrEqual(MAX_EVENTS);
  expect(events.length).toBeGreaterThan(MAX_EVENTS * 0.9);
  expect(events[0]?.words).toContain('event 6500');
  expect(files.contentOf(PATH).length).toBeLessThan(2.5 * MAX_EVENT_BYTES);
  expect((await opened({ files })).timeline.select(ALL).events[1]?.words).toContain('event 6500');
});

it('marks times as unsure while the clock is', async () => {
  const { timeline } = await opened({ isClockRight: false });
  expect(timeline.select(ALL).events[0]?.unsure).toBe(true);
  expect((await opened()).timeline.select(ALL).events[0]).not.toMatchObject({ unsure: expect.anything() });
});

it('shows no secret, and nothing that is too long or is no plain value', async () => {
  const { timeline, files } = await opened();
  timeline.tell(
    moved(`it says s3cret ${'y'.repeat(500)}`, {
      actuator: 's3cret',
      value: { a: 1 },
      from: `s3cret${'z'.repeat(300)}`,
    }),
  );
  await timeline.close();
  const event = timeline.select(ALL).events[0];
  expect(event?.words).toHaveLength(300);
  expect(event).toMatchObject({ actuator: '[secret]', from: expect.stringMatching(/^\[secret\]z+…$/) });
  expect(event).not.toMatchObject({ value: expect.anything() });
  expect(files.contentOf(PATH).toString()).not.toContain('s3cret');
});

it('ends those who watch when it closes', async () => {
  const { timeline } = await opened();
  let ended = 0;
  timeline.watch(() => {
    ended += 1;
  });
  await timeline.close();
  await timeline.close();
  expect(ended).toBe(1);
});

it('answers by kind, time and number, the newest first, and says whether there are more', async () => {
  const { timeline, clock } = await opened();
  const startMs = clock.wallMs();
  for (let at = 0; at < 5; at += 1) {
    await clock.advance(1_000);
    timeline.tell({ kind: at % 2 === 0 ? 'rule' : 'alarm', words: `event ${at}` });
  }
  const answer = (query: string): unknown => {
    const found = timeline.answer(new URLSearchParams(query));
    return typeof found === 'string'
      ? found
      : [...found.events.map(({ words }) => words.replace(/^The agent.*/, 'start')), found.more];
  };
  expect(answer('limit=2')).toEqual(['event 4', 'event 3', true]);
  expect(answer('limit=2&before=5')).toEqual(['event 2', 'event 1', true]);
  expect(answer('kind=rule')).toEqual(['event 4', 'event 2', 'event 0', false]);
  expect(answer('kind=alarm,start')).toEqual(['event 3', 'event 1', 'start', false]);
  expect(answer(`from=${startMs + 1_500}&to=${startMs + 3_500}`)).toEqual(['event 2', 'event 1', false]);
  expect(answer('kind=weather')).toContain('kind is one of command, rule');
  expect(answer('from=')).toBe('from, to and before are numbers');
  expect(answer('limit=0')).toBe('limit is a number from 1 to 500');
  expect(readTimelineQuery(new URLSearchParams('limit=9999'))).toEqual({ limit: 500 });
  expect(() => timelineQueryOf({ kinds: ['weather'] })).toThrow('kind is one of');
  expect(timelineQueryOf({ kinds: ['rule'], before: 5 })).toEqual({ limit: 100, before: 5, kinds: ['rule'] });
});

it.each([
  ['restart', {}, true],
  ['crash', {}, false],
  ['power', { boot: 'boot-2' }, false],
  ['boot', { boot: 'boot-2' }, true],
  ['update', { version: '1.3.0' }, true],
])(
  'tells a start after a %s from the last one',
  async (by, { boot, version }: { boot?: string; version?: string }, isStopped) => {
    const { timeline, files, clock } = await opened();
    if (isStopped) timeline.tellStop(false);
    await timeline.close();
    if (boot !== undefined) clock.reboot({ bootId: boot });
    const next = await opened({ files, clock, ...(version !== undefined && { version }) });
    expect(next.timeline.select(ALL).events[0]).toMatchObject({
      kind: 'start',
      by,
      from: '1.2.3',
      value: version ?? '1.2.3',
    });
  },
);
