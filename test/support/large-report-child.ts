/**
 * Both ends of a large report, each a process of its own, for tests of memory. `serve ROWS` prints its address and serves a report of
 * so many rows, made as they are sent; `read URL ROWS` reads it with the agent's client and prints what it took as JSON.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/host/clock.ts';
import { ReportClient } from '../../src/office/reports/report-client.ts';

const BATCH_ROWS = 1_000;
const [mode, first = '', second = ''] = process.argv.slice(2);
if (mode === 'serve') serve(Number(first));
else await read(first, Number(second));

function serve(rows: number): void {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.startsWith('/api/auth/')) response.end(JSON.stringify({ token: 'e30.e30.x' }));
    else void report(response, request.url?.startsWith('/small/') === true ? 10 : rows);
  });
  server.listen(0, '127.0.0.1', () =>
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
  );
}

async function report(response: ServerResponse, rows: number): Promise<void> {
  response.write('{"columnLabels":["Date","Device","temperature","note"],"dataTable":[');
  for (let row = 0; row < rows; ) {
    const lines: string[] = [];
    for (const until = Math.min(rows, row + BATCH_ROWS); row < until; row += 1) {
      const cells = {
        Date: String(1_780_000_000_000 + row * 1_000),
        Device: 'gateway-1',
        temperature: (row % 1_000) / 10,
        note: `row ${row}`,
      };
      lines.push((row === 0 ? '' : ',') + JSON.stringify(cells));
    }
    if (!response.write(lines.join(''))) await once(response, 'drain');
  }
  response.end(']}');
}

async function read(url: string, rows: number): Promise<void> {
  const small = clientOf(url, '/small');
  for await (const _part of small.buildReport({ viewConfigId: 'small' }, new AbortController().signal));
  await small.close();
  globalThis.gc?.();
  const idleBytes = process.memoryUsage().rss;
  const client = clientOf(url, '/large');
  let count = 0;
  let sum = 0;
  const startedMs = systemClock.monotonicMs();
  for await (const part of client.buildReport({ viewConfigId: 'large' }, new AbortController().signal)) {
    if (part.kind !== 'rows') continue;
    for (const row of part.rows) sum += row.temperature as number;
    count += part.rows.length;
  }
  await client.close();
  // The kernel's own high-water mark: no peak between two samples escapes it.
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  const figures = {
    rows: count,
    complete: count === rows,
    sum: Math.round(sum),
    idleMb: megabytes(idleBytes),
    peakMb: megabytes(peakBytes),
    aboveIdleMb: megabytes(peakBytes - idleBytes),
    durationMs: Math.round(systemClock.monotonicMs() - startedMs),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

function clientOf(url: string, basePath: string): ReportClient {
  return new ReportClient({
    settings: {
      url,
      basePath,
      user: 'u',
      password: 'p',
      tokenIn: 'header',
      requestTimeoutMs: 30_000,
      deadlineMs: 30_000,
    },
    clock: systemClock,
  });
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
