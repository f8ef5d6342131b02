import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { operationsOf } from '../../../src/operations/operation-table.ts';
import type { EntryClass } from '../../../src/outbox/format/telemetry-entry.ts';
import { KeptPlaces, Outbox } from '../../../src/outbox/outbox.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { FakeTimeSync, NO_LIMITS } from '../../support/outbox-fixture.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';
import { doorTo, socketOperations } from '../../support/socket-operations.ts';

const never = new AbortController().signal;
/** 2026-05-01T12:00:00Z. */
const NOON = Date.UTC(2026, 4, 1, 12);
let folder: string;
let config: string;
const closing: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-outbox-cli-'));
  config = join(folder, 'turnstone.yaml');
  await mkdir(join(folder, 'state'));
  await writeFile(
    config,
    `version: 1\nplatform: { url: "https://example.org", accessToken: t0ken }\nstateFolder: ${folder}/state\nrunFolder: ${folder}/run\noutbox: { minFree: 1kB }\n`,
  );
});
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
  await rm(folder, { recursive: true, force: true });
});

async function openOutbox(): Promise<Outbox> {
  const settings = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, commitAgeMs: 10 };
  return Outbox.open(
    {
      folder: join(folder, 'state/outbox'),
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
      settings,
      timeSync: new FakeTimeSync(),
    },
    never,
  );
}

function systemMoment() {
  return { bootId: systemClock.bootId, monotonicMs: systemClock.monotonicMs() };
}

/** Entries a minute apart from noon on; one of them an alarm, one of them refused by the platform. */
async function fill(outbox: Outbox): Promise<void> {
  const entry = (minute: number, key: string, value: JsonValue, own: EntryClass = 'regular') => ({
    device: 'self',
    key,
    value,
    ...systemMoment(),
    takenAtMs: NOON + minute * 60_000,
    class: own,
  });
  await outbox.append([entry(0, 'bad', 'refuse me')]);
  const batch = await outbox.peek('live', NO_LIMITS);
  if (batch === undefined) throw new Error('nothing to refuse');
  await outbox.reject(batch.entries.at(0) as never, '400: value is no number');
  await outbox.append([
    entry(1, 'temperature', 21.5),
    entry(2, 'temperature', 22),
    entry(3, 'note', 'a "quoted", text'),
    entry(4, 'total', 9_007_199_254_740_993n),
    entry(5, 'temperature', 41, 'alarm'),
  ]);
  await outbox.flush();
}

async function filled(): Promise<void> {
  const outbox = await openOutbox();
  await fill(outbox);
  await outbox.close();
}

/** An agent that holds the outbox. */
async function agent(): Promise<Outbox> {
  const outbox = await openOutbox();
  closing.push(outbox);
  await fill(outbox);
  const kept = operationsOf({ outbox: new KeptPlaces(() => [{ name: 'gateway', outbox }]) });
  const { operations: status } = socketOperations({ readMethods: { getStatus: () => ({ wallMs: NOON + 330_000 }) } });
  closing.push(
    await ControlServer.open(
      {
        folder: join(folder, 'run'),
        ...doorTo([...kept, ...status]),
        clock: systemClock,
        files: systemFiles,
        log: silentLog,
      },
      never,
    ),
  );
  return outbox;
}

async function run(words: readonly string[], options: FakeEdgeOptions = {}) {
  const edge = fakeEdge(options);
  const exitCode = await runCommandLine(['outbox', ...words, '--config', config], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe.each([
  ['through the running agent', agent],
  ['from its files, when no agent runs', filled],
])('turnstone outbox, %s', (_how, prepare) => {
  beforeEach(async () => {
    await prepare();
  });

  it('says how much is held, since when, and what was lost', async () => {
    const { exitCode, out, err } = await run(['status']);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(out).toMatch(/^held +5 entries/m);
    expect(out).toMatch(/^lost +1 rejected$/m);
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ heldEntries: 5, rejected: 1 });
  });

  it('lists the newest entries, with their times', async () => {
    const { out } = await run(['list', '--limit', '2']);
    expect(out.split('\n').filter((line) => line.startsWith('2026'))).toHaveLength(2);
    expect((await run(['list', '--key', 'temperature'])).out).toMatch(
      /2026-05-01T12:05:00.000Z +temperature +41 +alarm/,
    );
    expect(
      (
        await run([
          'list',
          '--key',
          'temperature',
          '--from',
          '2026-05-01T12:02:00Z',
          '--to',
          '2026-05-01T12:03:00Z',
          '--json',
        ])
      ).out,
    ).toContain('"value":22');
  });

  it('exports JSON lines that keep 64-bit integers', async () => {
    const lines = (await run(['export'])).out.trim().split('\n');
    expect(lines).toHaveLength(5);
    expect(lines).toContain(`{"ts":${NOON + 240_000},"key":"total","value":9007199254740993,"class":"regular"}`);
  });

  it('exports CSV that a spreadsheet reads', async () => {
    const { out } = await run(['export', '--format', 'csv', '--key', 'note']);
    expect(out).toBe(
      `time,ts,key,value,class,device\r\n2026-05-01T12:03:00.000Z,${NOON + 180_000},note,"a ""quoted"", text",regular,\r\n`,
    );
  });

  it('shows what the platform refused, with its answer, and puts it back', async () => {
    const { out } = await run(['rejected']);
    expect(out).toMatch(/2026-05-01T12:00:00.000Z +bad +refuse me +400: value is no number/);
    const missing = ['rejected', '--resend', '--sequence', '999999'];
    expect(await run(missing)).toMatchObject({
      exitCode: 1,
      out: '0 put back into the outbox\n',
      err: expect.stringContaining('999999 is not among'),
    });
    expect(await run([...missing, '--json'])).toMatchObject({ exitCode: 1, out: '{"resent":0}\n', err: '' });
    for (const word of ['abc', '-1', '1.5', '', '99999999999999999999'])
      expect(await run(['rejected', '--resend', '--sequence', word])).toMatchObject({ exitCode: 2, out: '' });
    expect((await run(['rejected', '--resend'])).out).toBe('1 put back into the outbox\n');
    expect((await run(['rejected'])).out).toBe('nothing was refused\n');
    const [again] = JSON.parse((await run(['list', '--json', '--key', 'bad'])).out);
    expect(again).toMatchObject({ key: 'bad', value: 'refuse me' });
    // Two values of one key in one millisecond are kept apart.
    expect(again.ts - NOON).toBeLessThanOrEqual(1);
  });

  it('finds every block whole', async () => {
    const { exitCode, out } = await run(['verify']);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(/outbox: whole, \d+ segments, \d+ whole blocks, 6 entries\n$/);
  });
});

it('turnstone outbox list and rejected let no key and no answer do anything to a terminal', async () => {
  const outbox = await openOutbox();
  const entry = (key: string) => ({ device: 'self', key, value: 1, ...systemMoment(), class: 'regular' as const });
  await outbox.append([entry('\u001b[2Jrefused')]);
  const batch = await outbox.peek('live', NO_LIMITS);
  await outbox.reject(batch?.entries.at(0) as never, '400: \u001b]0;title\u0007');
  await outbox.append([entry('\u001b[2Jheld')]);
  await outbox.flush();
  await outbox.close();
  const [list, rejected] = [(await run(['list'])).out, (await run(['rejected'])).out];
  expect(list).toContain('\ufffd[2Jheld');
  expect(rejected).toMatch(/\ufffd\[2Jrefused .*400: \ufffd\]0;title\ufffd/);
  expect(list + rejected).not.toContain('\u001b');
});

it('turnstone outbox list takes "now" from the agent, whose readings have the platform’s time where this clock is wrong', async () => {
  await agent();
  const listed = JSON.parse((await run(['list', '--key', 'temperature', '--last', '2m', '--json'])).out) as {
    value: unknown;
  }[];
  expect(listed.map(({ value }) => value)).toEqual([41]);
});

describe('turnstone outbox verify', () => {
  it('refuses the run folder that it does not look into', async () => {
    const { exitCode, err } = await run(['verify', '--run-folder', folder]);
    expect({ exitCode, err }).toEqual({
      exitCode: EXIT.usage,
      err: expect.stringContaining("unknown option '--run-folder'"),
    });
  });

  it('names what is no segment and would hold it up or fill its memory, and reads none of it', async () => {
    await filled();
    const outbox = join(folder, 'state/outbox');
    const [name = ''] = (await readdir(outbox)).filter((one) => one.endsWith('.seg'));
    const named = (last: string): string => name.replace(/.(?=\.seg$)/, last);
    const [pipe, link, large] = ['7', '8', '9'].map(named) as [string, string, string];
    execFileSync('mkfifo', [join(outbox, pipe)]);
    await symlink('/dev/zero', join(outbox, link));
    await writeFile(join(outbox, large), '');
    await truncate(join(outbox, large), 65 * 1024 * 1024);
    const { exitCode, out } = await run(['verify']);
    expect(exitCode).toBe(EXIT.failure);
    expect(out).toContain(`damaged    ${pipe}: cannot read ${join(outbox, pipe)}: it is not a regular file\n`);
    expect(out).toContain(`damaged    ${link}: cannot read ${join(outbox, link)}: it is a link\n`);
    expect(out).toContain(`damaged    ${large}: cannot read ${join(outbox, large)}: it has more than `);
    expect(out).toMatch(/not whole, .* 6 entries\n$/);
  });

  it('names what is damaged', async () => {
    await filled();
    const outbox = join(folder, 'state/outbox');
    const [name = ''] = (await readdir(outbox)).filter((one) => one.endsWith('.seg'));
    const bytes = await readFile(join(outbox, name));
    const file = await open(join(outbox, name), 'r+');
    await file.write(Buffer.from([(bytes[140] ?? 0) ^ 0xff]), 0, 1, 140);
    await file.close();
    const { exitCode, out } = await run(['verify']);
    expect(exitCode).toBe(EXIT.failure);
    expect(out).toContain(`damaged    ${name}: `);
    expect(JSON.parse((await run(['verify', '--json'])).out)).toMatchObject({ isWhole: false });
  });

  it('says in one line that there is no outbox', async () => {
    const { exitCode, err } = await run(['verify']);
    expect(exitCode).toBe(EXIT.failure);
    expect(err).toMatch(/^turnstone: the outbox in .* cannot be read.*\n$/);
  });
});

describe('turnstone outbox drain', () => {
  it('waits until everything has arrived', async () => {
    const outbox = await agent();
    const delivering = (async () => {
      for (const lane of ['alarm', 'live', 'backlog'] as const) {
        const batch = await outbox.peek(lane, NO_LIMITS);
        if (batch !== undefined) await outbox.acknowledge(batch);
      }
    })();
    const { exitCode, out } = await run(['drain', '--within', '10s']);
    await delivering;
    expect({ exitCode, out }).toEqual({ exitCode: EXIT.ok, out: 'everything has arrived\n' });
  });

  it('says how much still waits when its time is over', async () => {
    await agent();
    expect(await run(['drain', '--within', '100ms'])).toMatchObject({
      exitCode: EXIT.failure,
      err: 'turnstone: 5 entries still wait; turnstone status says why\n',
    });
  });

  it('needs an agent, because nobody else sends', async () => {
    await filled();
    expect((await run(['drain'])).exitCode).toBe(EXIT.notRunning);
  });
});
