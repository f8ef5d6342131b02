/** docs/testing.md tells of the last full lab run what its result file says, and nothing else. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { labTable } from '../../scripts/lab-table.ts';
import { PAGE_OF_TABLES, tableInPage, withTable } from '../../scripts/page-table.ts';
import { type LabRun, readLabRun } from '../lab/results/lab-run.ts';

const RUN: LabRun = {
  format: 'turnstone-lab-run',
  version: 1,
  commit: '0123456789abcdef',
  changed: false,
  date: '2026-01-02',
  minutes: 42,
  machine: '2 cores, software emulation',
  tests: { passed: 3, failed: 0, skipped: 0 },
  boots: 9,
  cuts: [
    { during: 'update', cuts: 6, losses: 0 },
    { during: 'provisioning', cuts: 4, losses: 1 },
  ],
  configurations: [{ changes: 30, lockedOut: 0 }],
  replays: [{ of: 'append', flushes: 100, promised: 500, losses: 2 }],
  edges: { made: 1000, counted: 999 },
  exposure: [{ unit: 'turnstone.service', exposure: 1.5 }],
  rpcLatency: [{ disk: 'sound', calls: 12, medianMs: 100, worstMs: 200 }],
};

describe('the lab table', () => {
  it('adds up cuts, and losses of cuts and replays', () => {
    const table = labTable(RUN);
    expect(table).toContain('| power cuts | 10: 6 during update, 4 during provisioning |');
    expect(table).toContain('| losses | 3 |');
    expect(table).toContain(
      '| configurations on trial on an installed service | 30, of which 0 locked the gateway out |',
    );
    expect(table).toContain('| GPIO edges at 200 a second | 999 counted of 1000 |');
  });

  it('replaces what stood between its marks, and only that', () => {
    const page = 'before\n<!-- lab table: made by scripts/lab-table.ts -->\nold\n<!-- end of lab table -->\nafter\n';
    const written = withTable(page, 'lab', 'new');
    expect(tableInPage(written, 'lab')).toBe('new');
    expect(written).toBe(page.replace('old', 'new'));
  });

  it('in docs/testing.md is the one of the result file', async () => {
    const run = await readLabRun();
    expect(tableInPage(await readFile(PAGE_OF_TABLES, 'utf8'), 'lab')).toBe(labTable(run));
    expect([run.tests.failed, run.tests.skipped], 'the run is a whole one').toEqual([0, 0]);
  });
});
