/** Audit of a machine whose clock nobody set, and of one without data. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PASSWORD_VARIABLE } from '../../../src/cli/command.ts';
import { Printer } from '../../../src/cli/printer.ts';
import { audit } from '../../../src/office/audit.ts';
import type { AuditCall } from '../../../src/office/report-command.ts';

const HOUR_MS = 3_600_000;
/** A board without a clock, 400 days behind what the platform's dates tell. */
const AGENT_NOW_MS = Date.now() + 400 * 24 * HOUR_MS;
const LAST_HOUR_MS = Math.floor(AGENT_NOW_MS / HOUR_MS - 1) * HOUR_MS;
const CELL = {
  device: 'self',
  key: 'temperature',
  hourMs: LAST_HOUR_MS,
  count: 360,
  sum: 7_200,
  first: [LAST_HOUR_MS, 20],
  last: [LAST_HOUR_MS + 3_590_000, 20],
};

let server: Server;
let ledger: (typeof CELL)[];
let said: string;
beforeEach(async () => {
  [ledger, said] = [[CELL], ''];
  server = createServer((request, response) => {
    const isReport = !/login|auth/.test(request.url ?? '');
    const token = `a.${Buffer.from('{"exp":9000000000}').toString('base64url')}.b`;
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        isReport ? { dataTable: [], columnLabels: ['Time', 'temperature'] } : { token, refreshToken: 'x' },
      ),
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterEach(() => void server.close());

async function audited(): Promise<Printer> {
  const write = (text: string): void => {
    said += text;
  };
  const out = { write, drained: async () => {}, isTerminal: false, columns: 120 };
  const edge = {
    stdout: out,
    stderr: out,
    environment: { [PASSWORD_VARIABLE]: 'p' },
    signal: new AbortController().signal,
  };
  const print = new Printer({ ...edge, isInteractive: false, ask: async () => '' } as never, false);
  const ask = async (method: string, range: { readonly fromMs: number; readonly toMs: number }): Promise<unknown> =>
    method === 'getStatus'
      ? { wallMs: AGENT_NOW_MS, deviceName: 'gw' }
      : ledger.filter(({ hourMs }) => hourMs + HOUR_MS > range.fromMs && hourMs < range.toMs);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await audit({
    args: { viewId: '7e57ab1e-0000-4000-8000-000000000001' },
    flags: { last: '24h', url, user: 'u' },
    edge,
    print,
    agent: async () => ({ isRunning: true, ask }),
  } as unknown as AuditCall);
  return print;
}

it('looks at the last day of the agent, not of this machine', async () => {
  const { exitCode } = await audited();
  expect([exitCode, said]).toEqual([1, expect.stringContaining('360 of 360 entries missing')]);
});

it('is no proof where nothing was sent', async () => {
  ledger = [];
  const { exitCode } = await audited();
  expect([exitCode, said]).toEqual([1, expect.stringContaining('the view shows nothing that was sent in this range')]);
});
