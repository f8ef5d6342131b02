/** Built-in methods of the configuration are those that an agent answers. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BUILT_IN_METHODS, builtInMethods, type MethodParts } from '../../../src/methods/built-in-methods.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SRC = new URL('../../../src/', import.meta.url);
const part = {} as never;
const parts: MethodParts = {
  status: part,
  sensors: part,
  outbox: part,
  settings: part,
  restarts: { restart: () => {}, expectReboots: async () => {}, reboot: () => {} },
  actuators: part,
  credentials: part,
};

it('are those of the method table, each once', () => {
  const methods = builtInMethods(parts);
  const table = new MethodTable({ clock: new FakeClock(), methods, permissions: {}, locked: () => false });
  expect(BUILT_IN_METHODS.filter((name) => table.find(name) === undefined)).toEqual([]);
  expect(new Set(BUILT_IN_METHODS).size).toBe(BUILT_IN_METHODS.length);
  expect(BUILT_IN_METHODS).toHaveLength(methods.length + 1);
});

it('are known of every table that lies beside them', async () => {
  const folder = new URL('methods/', SRC);
  const files = readdirSync(folder).filter((file) => file.endsWith('-methods.ts') && file !== 'built-in-methods.ts');
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) {
    const tables = Object.entries(await import(new URL(file, folder).href)).filter(([name]) =>
      name.endsWith('_METHODS'),
    );
    expect(tables, file).not.toEqual([]);
    for (const [, table] of tables)
      expect(BUILT_IN_METHODS).toEqual(expect.arrayContaining(Object.keys(table as object)));
  }
});
