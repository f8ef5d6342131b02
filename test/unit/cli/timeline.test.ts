import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { TimelineEvent } from '../../../src/timeline/event.ts';
import { selectEvents, timelineQueryOf } from '../../../src/timeline/query.ts';
import { timelineFile } from '../../../src/timeline/timeline-file.ts';
import { type JsonObject, jsonOf } from '../../../src/values/json.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

let folder: string;
let server: ControlServer | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-timeline-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

const AT = Date.UTC(2026, 4, 31, 12);
const EVENTS: readonly TimelineEvent[] = [
  { seq: 1, ts: AT, kind: 'start', by: 'first', words: 'The agent started.', unsure: true },
  { seq: 2, ts: AT + 61_000, kind: 'rule', by: 'frost', words: 'Rule frost began.\u001b[2J' },
];

async function run(words: readonly string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['timeline', ...words, '--run-folder', folder], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

async function serve(events: readonly TimelineEvent[]): Promise<void> {
  const readMethods = {
    timeline: (params: JsonObject) => jsonOf(selectEvents(events, timelineQueryOf(params))),
    getStatus: () => ({ wallMs: AT + 70_000 }),
  };
  const deps = { ...socketOperations({ readMethods }), folder, clock: systemClock, files: systemFiles, log: silentLog };
  server = await ControlServer.open(deps, new AbortController().signal);
}

it('shows the last events in their order, in UTC, and harms no terminal', async () => {
  await serve(EVENTS);
  expect(await run([])).toMatchObject({
    exitCode: EXIT.ok,
    out: '2026-05-31T12:00:00Z~ start    The agent started.\n2026-05-31T12:01:01Z  rule     Rule frost began.�[2J\n',
  });
});

it('shows one kind, what is not older, and each with its facts as JSON', async () => {
  await serve(EVENTS);
  expect((await run(['--kind', 'start'])).out).toContain('The agent started.');
  expect((await run(['--kind', 'start', '--since', '30s'])).err).toContain('nothing is recorded of this');
  expect((await run(['--since', '30s'])).out).toMatch(/^2026-05-31T12:01:01Z {2}rule .*\n$/);
  expect(JSON.parse((await run(['-n', '1', '--json'])).out)).toEqual(EVENTS[1]);
  expect(await run(['--kind', 'weather'])).toMatchObject({ exitCode: EXIT.usage });
});

it('asks as often as needed for many', async () => {
  await serve(
    Array.from({ length: 1_300 }, (_, at) => ({
      seq: at + 1,
      ts: AT + at,
      kind: 'alarm' as const,
      words: `event ${at + 1}`,
    })),
  );
  const { out } = await run(['-n', '1200']);
  const lines = out.trimEnd().split('\n');
  expect(lines).toHaveLength(1_200);
  expect([lines[0], lines.at(-1)]).toEqual([expect.stringMatching(/event 101$/), expect.stringMatching(/event 1300$/)]);
});

it('reads the record where no agent runs', async () => {
  const config = join(folder, 'turnstone.yaml');
  await writeFile(config, `stateFolder: ${folder}\nrunFolder: ${folder}\n`);
  await timelineFile(systemFiles, join(folder, 'timeline.jsonl')).replace(EVENTS);
  expect((await run(['--config', config])).out).toContain('Rule frost began.');
  await writeFile(join(folder, 'timeline.jsonl'), '');
  expect((await run(['--config', config])).err).toContain('nothing is recorded of this');
});
