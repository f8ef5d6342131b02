import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { formatterFor } from '../../../src/office/report.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { fakeService, json } from './fake-service.ts';

const VIEW = '7e57ab1e-0000-4000-8000-000000000001';
const REPORT = {
  columnLabels: ['Date', 'Device', 'note'],
  dataTable: [
    { Date: '1780000000000', Device: 'gateway-1', note: 'plain' },
    { Date: 1780000001500, Device: 'gateway-1', note: 'with "quotes", commas\nand lines' },
    { Date: '1780000002000', Device: 'gateway-2', note: null },
  ],
};

async function given(words: readonly string[] = [], options: FakeEdgeOptions = {}) {
  const service = await fakeService((_call, response) => json(response, 200, REPORT));
  const edge = fakeEdge({ environment: { TURNSTONE_ANALYTICS_PASSWORD: 'a secret password' }, ...options });
  const line = ['report', VIEW, '--url', service.url, '--user', 'tenant', ...words];
  const exitCode = await runCommandLine(line, { edge, version: () => '1' });
  return { service, exitCode, out: edge.out(), err: edge.err(), edge };
}

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'turnstone-report-'));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

describe('turnstone report', () => {
  it('prints a table with times that people read', async () => {
    const { exitCode, out } = await given();
    expect(exitCode).toBe(EXIT.ok);
    expect(out.split('\n').slice(0, 3)).toEqual([
      'Date                      Device     note',
      '────────────────────────  ─────────  ───────────────────────────────',
      '2026-05-28T20:26:40Z      gateway-1  plain',
    ]);
  });

  it('prints CSV that keeps quotes, commas and lines, and JSON of the rows', async () => {
    expect((await given(['--format', 'csv'])).out).toBe(
      'Date,Device,note\r\n1780000000000,gateway-1,plain\r\n1780000001500,gateway-1,"with ""quotes"", commas\nand lines"\r\n1780000002000,gateway-2,\r\n',
    );
    expect(JSON.parse((await given(['--format', 'json'])).out)).toEqual(REPORT.dataTable);
  });

  it.each(['csv', 'json', 'table'])(
    'lets nothing of the service move the cursor of a terminal, and changes nothing elsewhere: %s',
    async (format) => {
      const label = 'a\u009b2J\u001b[2J';
      const report = { columnLabels: [label], dataTable: [{ [label]: 'b\u202e\u001b]0;t\u0007\nc' }] };
      const service = await fakeService((_call, response) => json(response, 200, report));
      const print = async (isTerminal: boolean): Promise<string> => {
        const edge = fakeEdge({ environment: { TURNSTONE_ANALYTICS_PASSWORD: 'a secret password' }, isTerminal });
        const line = ['report', VIEW, '--url', service.url, '--user', 'tenant', '--format', format];
        expect(await runCommandLine(line, { edge, version: () => '1' })).toBe(EXIT.ok);
        return edge.out();
      };
      expect(await print(true)).toMatch(/^[^\p{Cc}\p{Cf}]+(\r?\n[^\p{Cc}\p{Cf}]+)+\r?\n$/u);
      if (format === 'csv') expect(await print(false)).toContain(`${label}\r\n`);
      if (format === 'json') expect(JSON.parse(await print(false))).toEqual(report.dataTable);
    },
  );

  it('sends range and filters as the contract has them', async () => {
    const { service } = await given(['--from', '2026-05-01', '--to', '2026-06-01', '--filter', 'Device=a,b']);
    expect(service.calls[0]?.body).toEqual({
      viewConfigId: VIEW,
      rangeStartTs: Date.parse('2026-05-01'),
      rangeEndTs: Date.parse('2026-06-01'),
      filters: { Device: ['a', 'b'] },
    });
  });

  it('writes to a file, and says how much', async () => {
    const path = join(await folder(), 'report.csv');
    const { err, out } = await given(['--format', 'csv', '--output', path]);
    expect(out).toBe('');
    expect(err).toContain('3 rows written');
    expect(await readFile(path, 'utf8')).toContain('gateway-2');
  });

  it('leaves no half report behind when it is interrupted', async () => {
    const service = await fakeService((_call, response) => {
      response.writeHead(200).write('{"columnLabels":["a"],"dataTable":[{"a":1},');
    });
    const path = join(await folder(), 'report.csv');
    await writeFile(path, 'the one before');
    const edge = fakeEdge({ environment: { TURNSTONE_ANALYTICS_PASSWORD: 'x' } });
    const running = runCommandLine(['report', VIEW, '--url', service.url, '--user', 'u', '--output', path], {
      edge,
      version: () => '1',
    });
    await expect.poll(() => service.calls.length).toBe(1);
    edge.stop();
    expect(await running).toBe(EXIT.interrupted);
    expect(await readFile(path, 'utf8')).toBe('the one before');
    expect(await readdir(dirname(path))).toEqual(['report.csv']);
    expect(edge.err()).toBe('');
  });

  it('asks for the password where somebody can answer, and takes it from a file', async () => {
    const asked = await given([], { environment: {}, answers: ['typed password'] });
    expect(asked.edge.asked).toEqual(['Password: ']);
    expect(asked.service.logins[0]?.body).toMatchObject({ password: 'typed password' });
    const path = join(await folder(), 'password');
    await writeFile(path, 'from a file\n', { mode: 0o600 });
    expect((await given(['--password-file', path], { environment: {} })).service.logins[0]?.body).toMatchObject({
      password: 'from a file',
    });
  });

  it('says in one line what is missing or wrong', async () => {
    const nobody = await given([], { environment: {} });
    expect([nobody.exitCode, nobody.err.trim().split('\n').length]).toEqual([EXIT.usage, 1]);
    expect(nobody.err).toMatch(/password.*--password-file/);
    const edge = fakeEdge();
    expect(await runCommandLine(['report', 'my-view'], { edge, version: () => '1' })).toBe(EXIT.usage);
    expect(edge.err()).toContain('UUID');
  });

  it('shows the password nowhere', async () => {
    const service = await fakeService(
      (_call, response) => json(response, 500, {}),
      (call, response) => json(response, 401, { message: call.body }),
    );
    const edge = fakeEdge({ environment: { TURNSTONE_ANALYTICS_PASSWORD: 'a secret password' } });
    expect(
      await runCommandLine(['report', VIEW, '--url', service.url, '--user', 'u'], { edge, version: () => '1' }),
    ).toBe(EXIT.failure);
    expect(edge.out() + edge.err()).not.toContain('a secret password');
  });
});

describe('a table', () => {
  it('fits the terminal, whatever is in it', () => {
    const rows: JsonObject[] = Array.from({ length: 500 }, (_, index) => ({
      key: 'k'.repeat(index % 300),
      value: 'x'.repeat(90),
      third: index,
    }));
    const formatter = formatterFor('table', 80);
    const text =
      formatter.labels(['key', 'value', 'third']) +
      formatter.rows(rows.slice(0, 250)) +
      formatter.rows(rows.slice(250)) +
      formatter.end();
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(502);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('lets nothing in it move the cursor', () => {
    const formatter = formatterFor('table', 80);
    const label = 'a\u001b]0;title\u0007';
    const text = formatter.labels([label]) + formatter.rows([{ [label]: '\u001b[2J' }]) + formatter.end();
    expect(text.split('\n')).toEqual(['a�]0;title�', '───────────', '�[2J', '']);
  });

  it('is a heading alone when there are no rows', () => {
    const formatter = formatterFor('table', 80);
    expect(formatter.labels(['a', 'b']) + formatter.end()).toBe('a  b\n─  ─\n');
  });
});
