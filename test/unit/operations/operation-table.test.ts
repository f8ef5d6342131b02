/** The one table of operations: all that lies beside it stands in it, each name once, and the configuration knows those of the platform. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mayAsk } from '../../../src/operations/may-ask.ts';
import { type OperationParts, operationsOf, PLATFORM_OPERATIONS } from '../../../src/operations/operation-table.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SRC = new URL('../../../src/', import.meta.url);
/** An agent with every part, none of which is called. */
const rows = operationsOf(new Proxy({}, { get: () => ({}) }) as OperationParts);

it('has each operation once, and each can be asked for by somebody', () => {
  const names = rows.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(rows.filter(({ askers }) => askers?.length === 0)).toEqual([]);
});

it('gives the platform those that it may ask for, and no other', () => {
  const table = new MethodTable({ clock: new FakeClock(), methods: rows, permissions: {}, locked: () => false });
  const answered = rows.filter(({ name }) => table.find(name) !== undefined).map(({ name }) => name);
  expect([...answered, 'listMethods'].sort()).toEqual([...PLATFORM_OPERATIONS].sort());
  expect(answered).toContain('getStatus');
  expect(table.find('removeDevice')).toBeUndefined();
  expect(rows.some((row) => row.name === 'removeDevice' && mayAsk('site', row))).toBe(true);
});

it('has all that is declared beside it', async () => {
  const folder = new URL('operations/', SRC);
  const files = readdirSync(folder).filter((file) => file.endsWith('-operations.ts'));
  expect(files.length).toBeGreaterThan(10);
  const names = rows.map(({ name }) => name);
  for (const file of files) {
    const tables = Object.entries(await import(new URL(file, folder).href)).filter(([name]) =>
      name.endsWith('_OPERATIONS'),
    );
    expect(tables, file).not.toEqual([]);
    for (const [, table] of tables) expect(names, file).toEqual(expect.arrayContaining(Object.keys(table as object)));
  }
});

it('leaves out operations on parts that are not there', () => {
  expect(operationsOf({ timeline: () => ({ events: [], more: false }) }).map(({ name }) => name)).toEqual(['timeline']);
});
