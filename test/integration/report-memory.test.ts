/** The report client's memory, measured from outside: server and reader are processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const PROGRAM = join(import.meta.dirname, '../support/large-report-child.ts');
const ROWS = 1_000_000;
const MAX_ABOVE_IDLE_MB = 60;

function start(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [piece] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  return piece.toString().trim();
}

describe('a report of 1,000,000 rows', () => {
  it('is read in at most 60 MB above idle, every row of it', async () => {
    const url = await firstLine(start('serve', String(ROWS)));
    const figures = JSON.parse(await firstLine(start('read', url, String(ROWS))));
    console.log(`report of ${ROWS} rows: ${JSON.stringify(figures)}`);
    expect(figures).toMatchObject({ rows: ROWS, complete: true, sum: 49_950_000 });
    expect(figures.aboveIdleMb).toBeLessThanOrEqual(MAX_ABOVE_IDLE_MB);
  }, 120_000);
});
