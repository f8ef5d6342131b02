/** Entries of attached devices in what the outbox's commands say, without an agent: what waits of a meter is in no other answer. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { Outbox } from '../../../src/outbox/outbox.ts';
import { placeName } from '../../../src/telemetry/held-devices.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { FakeTimeSync } from '../../support/outbox-fixture.ts';
import { DEFAULT_OUTBOX_SETTINGS } from '../../support/outbox-settings.ts';

const never = new AbortController().signal;
let folder: string;
let config: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-places-'));
  config = join(folder, 'turnstone.yaml');
  await writeFile(
    config,
    `version: 1\nplatform: { url: "https://example.org", accessToken: t0ken }\nstateFolder: ${folder}/state\nrunFolder: ${folder}/run\noutbox: { minFree: 1kB }\n`,
    { mode: 0o600 },
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function openPlace(place: string): Promise<Outbox> {
  return Outbox.open(
    {
      folder: join(folder, 'state', place, 'outbox'),
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
      settings: { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, commitAgeMs: 10 },
      timeSync: new FakeTimeSync(),
    },
    never,
  );
}

async function keep(place: string, device: string, keys: readonly string[]): Promise<void> {
  await mkdir(join(folder, 'state', place), { recursive: true });
  const outbox = await openPlace(place);
  const stamp = { bootId: systemClock.bootId, monotonicMs: systemClock.monotonicMs() };
  await outbox.append(keys.map((key) => ({ device, key, value: 1, class: 'regular' as const, ...stamp })));
  await outbox.close();
}

/** Has the platform refuse one entry in a place of its own. */
async function refuse(place: string, device: string, key: string): Promise<void> {
  await keep(place, device, [key]);
  const outbox = await openPlace(place);
  for await (const entry of outbox.read({ heldOnly: true }, never)) await outbox.reject(entry, '400: refused');
  await outbox.close();
}

async function keepAll(): Promise<void> {
  await keep('.', 'self', ['load']);
  await keep('devices', 'meter1', ['power', 'energy']);
  const apart = `devices/held/${placeName('meter2')}`;
  await keep(apart, 'meter2', ['power', 'energy', 'voltage']);
  await writeFile(join(folder, 'state', apart, 'device.json'), '{"device":"meter2"}\n');
}

async function run(...words: readonly string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine([...words, '--config', config], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

it('counts what waits in all places, and says in which', async () => {
  await keepAll();
  const { held, places } = await run('outbox', '--json').then(({ out }) => {
    const status = JSON.parse(out) as { heldEntries: number; places: readonly { name: string; heldEntries: number }[] };
    return { held: status.heldEntries, places: status.places.map(({ name, heldEntries }) => [name, heldEntries]) };
  });
  expect(held).toBe(6);
  expect(places).toEqual([
    ['gateway', 1],
    ['attached devices', 2],
    ['meter2', 3],
  ]);
  expect((await run('outbox')).out).toMatch(
    /held +6 entries[\s\S]*held by +gateway: 1 entries[\s\S]*meter2: 3 entries/,
  );
});

it('lists and exports entries of every place, each with its device', async () => {
  await keepAll();
  const lines = (await run('outbox', 'export')).out.trim().split('\n');
  const told = lines.map((line) => JSON.parse(line) as { device?: string; key: string });
  expect(told.map(({ device, key }) => `${device ?? ''} ${key}`).sort()).toEqual(
    [' load', 'meter1 energy', 'meter1 power', 'meter2 energy', 'meter2 power', 'meter2 voltage'].sort(),
  );
  expect((await run('outbox', 'list')).out).toMatch(/meter2 +voltage/);
  expect((await run('outbox', 'export', '--format', 'csv')).out).toMatch(/,voltage,1,regular,meter2\r\n/);
});

it('verifies every place, and fails for damage in any', async () => {
  await keepAll();
  const whole = await run('outbox', 'verify');
  expect([whole.exitCode, whole.out.trim().split('\n').length]).toEqual([EXIT.ok, 3]);
  const segments = join(folder, 'state/devices/outbox');
  const [segment] = (await readdir(segments)).filter((name) => name.endsWith('.seg'));
  const file = join(segments, segment ?? expect.fail('no segment'));
  const bytes = await readFile(file);
  // Within the first block, behind the header of the file.
  bytes[80] = (bytes[80] ?? 0) ^ 0xff;
  await writeFile(file, bytes);
  expect((await run('outbox', 'verify')).exitCode).toBe(EXIT.failure);
});

it('says of a gateway without attached devices what it said before', async () => {
  await keep('.', 'self', ['load', 'uptime']);
  const { out } = await run('outbox', '--json');
  const status = JSON.parse(out) as { heldEntries: number; places?: unknown };
  expect([status.heldEntries, status.places]).toEqual([2, undefined]);
});

it('sends a refused entry of one place again, and not those with its number in others', async () => {
  await refuse('.', 'self', 'load');
  await refuse('devices', 'meter1', 'power');
  const { out } = await run('outbox', 'rejected', '--json');
  const [first, second] = JSON.parse(out) as { sequence: number; device: string }[];
  expect([first?.device, second?.device, second?.sequence]).toEqual(['self', 'meter1', first?.sequence]);
  const resend = ['outbox', 'rejected', '--resend', '--sequence', String(first?.sequence)];
  const refused = await run(...resend);
  expect([refused.exitCode, refused.out]).toEqual([EXIT.usage, '']);
  expect(refused.err).toMatch(/several places \(gateway, attached devices\).*--device/);
  expect((await run(...resend, '--device', 'meter1')).out).toBe('1 put back into the outbox\n');
  const left = (await run('outbox', 'rejected')).out;
  expect(left).toContain('load');
  expect(left).not.toContain('power');
  expect((await run('outbox', 'rejected', '--device', 'meter1')).out).toBe('nothing was refused\n');
  expect((await run(...resend, '--device', 'gateway')).out).toBe('1 put back into the outbox\n');
});

it('gives what other places hold when one cannot be opened, and says which and why', async () => {
  await keepAll();
  await refuse('.', 'self', 'uptime');
  await rm(join(folder, 'state/devices/outbox'), { recursive: true });
  await writeFile(join(folder, 'state/devices/outbox'), 'no folder');
  const exported = await run('outbox', 'export', '--all');
  expect(exported.out).toContain('"voltage"');
  for (const words of [
    ['verify'],
    ['export'],
    ['list'],
    ['rejected'],
    ['rejected', '--json'],
    ['rejected', '--resend'],
  ]) {
    const { exitCode, err, out } = await run('outbox', ...words);
    expect([exitCode, out === '']).toEqual([EXIT.failure, false]);
    expect(err).toMatch(/^turnstone: attached devices gave no answer: \S+/m);
  }
  expect((await run('outbox')).out).toMatch(/attached devices: 0 entries \(cannot open/);
});
