import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EXIT, type ExitCode } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { type FakeEdge, fakeEdge } from '../../support/fake-edge.ts';
import { type FakeTerminal, fakeTerminal } from '../../support/fake-terminal.ts';
import { socketOperations } from '../../support/socket-operations.ts';

const UP = '\u001b[A';
const DOWN = '\u001b[B';
const PAGE_UP = '\u001b[5~';
const PAGE_DOWN = '\u001b[6~';
const HOME = '\u001b[H';
const END = '\u001b[F';
const CTRL_C = '\u0003';
const ENTER_SCREEN = '\u001b[?1049h';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';

let folder: string;
let server: ControlServer | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-watch-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** 30 thermometers, the later ones with newer values; the third fails; number 7 is of a meter. */
function status(): JsonValue {
  const sensors = Array.from({ length: 30 }, (_, at) => ({
    name: `s${at + 1}`,
    kind: 'ds18b20',
    ...(at === 6 && { device: 'meter1' }),
    state: at === 2 ? 'failing' : 'ok',
    ...(at === 2 && { fault: 'no answer' }),
    readings: at === 2 ? [] : [{ key: 'temperature', value: 20, unit: '°C', atMs: 70_000 + at * 1_000 }],
  }));
  return {
    nowMs: 100_000,
    deviceName: 'gateway-1',
    platform: { words: 'up to date' },
    outbox: { heldEntries: 4 },
    sensors,
    actuators: [{ name: 'pump', kind: 'gpio-output', value: false }],
  };
}

interface Watching {
  readonly edge: FakeEdge;
  readonly terminal: FakeTerminal;
  readonly ended: Promise<ExitCode>;
  /** Lines of the terminal now, without codes and trailing room. */
  readonly screen: () => readonly string[];
  /** Types, and resolves to the screen once it shows that. */
  readonly type: (keys: string, shows: (lines: readonly string[]) => void) => Promise<readonly string[]>;
}

async function watch(words: readonly string[] = []): Promise<Watching> {
  server = await ControlServer.open(
    {
      ...socketOperations({ readMethods: { getStatus: status } }),
      folder,
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
    },
    new AbortController().signal,
  );
  const terminal = fakeTerminal({ columns: 90, rows: 13 });
  const edge = fakeEdge({ isTerminal: true, terminal, environment: { NO_COLOR: '1' } });
  // One look, so that every other drawing is a key's or a resize's.
  const all = ['watch', '--every', '1h', ...words, '--run-folder', folder];
  const ended = runCommandLine(all, { edge, version: () => '' });
  const screen = (): readonly string[] =>
    (edge.out().replaceAll('\u001b[K', '').replaceAll('\u001b[J', '').split('\u001b[H').at(-1) ?? '').split('\r\n');
  await vi.waitFor(() => expect(edge.out()).toContain('q ends'));
  return {
    edge,
    terminal,
    ended,
    screen,
    type: async (keys, shows) => {
      terminal.type(keys);
      await vi.waitFor(() => shows(screen()));
      return screen();
    },
  };
}

async function quit({ terminal, ended }: Watching): Promise<void> {
  terminal.type('q');
  expect(await ended).toBe(EXIT.ok);
}

const firstRow = (name: string) => (lines: readonly string[]) => expect(lines[2]?.split(' ')[0]).toBe(name);

describe('turnstone watch on a terminal', () => {
  it('fills the screen: a head, as many rows as there is room for, and a foot with the keys', async () => {
    const watching = await watch();
    const lines = watching.screen();
    expect(lines).toHaveLength(13);
    expect(lines[0]).toBe('gateway-1  up to date, 4 entries wait');
    expect(lines[2]).toMatch(/^s1 +Temperature +20\.0 °C +▁ +30s$/);
    expect(lines[12]).toMatch(/^1 to 10 of 31 +s sorted by configuration +\/ filters +↑ ↓ PgUp PgDn +q ends$/);
    await quit(watching);
  });

  it('scrolls by line, by page, and to both ends, and no further', async () => {
    const watching = await watch();
    const { type } = watching;
    await type(DOWN + DOWN, firstRow('s4'));
    await type(UP, firstRow('s2'));
    await type(PAGE_DOWN, firstRow('s13'));
    await type(PAGE_UP, firstRow('s2'));
    const atEnd = await type(END, (lines) => expect(lines[12]).toContain('22 to 31 of 31'));
    expect(atEnd[11]).toMatch(/^pump +off$/);
    await type(DOWN + UP, (lines) => expect(lines[12]).toContain('21 to 30 of 31'));
    await type(HOME, firstRow('s1'));
    await quit(watching);
  });

  it('sorts by name, state, age and device, and then as the configuration does', async () => {
    const watching = await watch();
    const { type } = watching;
    await type('s', (lines) => expect(lines[12]).toContain('sorted by name'));
    await type('s', (lines) => expect(lines[12]).toContain('sorted by state'));
    expect(watching.screen()[2]).toMatch(/^s3 +no answer/);
    await type('s', (lines) => expect(lines[12]).toContain('sorted by age'));
    expect(watching.screen()[3]).toMatch(/^s1 .* 30s$/);
    await type('s', (lines) => expect(lines[12]).toContain('sorted by device'));
    await type(END, (lines) => expect(lines[11]).toMatch(/^s7 of meter1 /));
    await type('s', (lines) => expect(lines[12]).toContain('sorted by configuration'));
    await quit(watching);
  });

  it('begins in the order that is asked for', async () => {
    const watching = await watch(['--sort', 'state']);
    expect(watching.screen()[2]).toMatch(/^s3 +no answer/);
    await quit(watching);
  });

  it('filters by what is typed after a slash, q too', async () => {
    const watching = await watch();
    const { type } = watching;
    const typing = await type('/MeterX', (lines) => expect(lines.at(-1)).toContain('/MeterX'));
    expect(typing).toHaveLength(3);
    const found = await type('\u007f1', (lines) => expect(lines.at(-1)).toContain('/Meter1'));
    expect(found[2]).toMatch(/^s7 of meter1 /);
    const kept = await type('\r', (lines) => expect(lines.at(-1)).toContain('/ filter: Meter1'));
    expect(kept.at(-1)).toContain('1 to 1 of 1');
    await type('/q', (lines) => expect(lines.at(-1)).toContain('/q'));
    await type('\u007f\r', (lines) => expect(lines.at(-1)).toContain('of 31'));
    await quit(watching);
  });

  it('draws anew when the size changes', async () => {
    const watching = await watch();
    watching.terminal.resize({ columns: 30, rows: 8 });
    await vi.waitFor(() => expect(watching.screen()).toHaveLength(8));
    expect(Math.max(...watching.screen().map((line) => line.length))).toBeLessThanOrEqual(30);
    await quit(watching);
  });

  it.each([
    ['q', 'q'],
    ['Ctrl-C', CTRL_C],
  ])('ends at %s, and gives the terminal back as it was', async (_name, key) => {
    const watching = await watch();
    expect(watching.edge.out().startsWith(ENTER_SCREEN)).toBe(true);
    expect(watching.terminal.listeners()).toEqual([1, 1, 1]);
    watching.terminal.type(key);
    expect(await watching.ended).toBe(EXIT.ok);
    expect(watching.edge.out().endsWith(LEAVE_SCREEN)).toBe(true);
    expect(watching.terminal.rawModes).toEqual([true, false]);
    expect(watching.terminal.listeners()).toEqual([0, 0, 0]);
  });

  it('gives the terminal back when it is told to end, or when the agent does not answer', async () => {
    const stopped = await watch();
    stopped.edge.stop();
    expect(await stopped.ended).toBe(EXIT.ok);
    expect(stopped.edge.out().endsWith(LEAVE_SCREEN)).toBe(true);
    await server?.close();
    const left = await watch(['--every', '100ms']);
    await server?.close();
    expect(await left.ended).not.toBe(EXIT.ok);
    expect(left.edge.out().endsWith(LEAVE_SCREEN)).toBe(true);
    expect(left.terminal.rawModes).toEqual([true, false]);
  });
});
