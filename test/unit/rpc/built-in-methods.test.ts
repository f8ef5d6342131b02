/** Built-in methods of the configuration are those that an agent answers. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  builtInOperations,
  type OperationParts,
  PLATFORM_OPERATIONS,
} from '../../../src/operations/operation-table.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SRC = new URL('../../../src/', import.meta.url);
const part = {} as never;
const parts: OperationParts = {
  status: part,
  sensors: part,
  outbox: part,
  settings: part,
  restarts: { restart: () => {}, expectReboots: async () => {}, reboot: () => {} },
  actuators: part,
  credentials: part,
};

it('are those of the method table, each once', () => {
  const methods = builtInOperations(parts);
  const table = new MethodTable({ clock: new FakeClock(), methods, permissions: {}, locked: () => false });
  expect(PLATFORM_OPERATIONS.filter((name) => table.find(name) === undefined)).toEqual([]);
  expect(new Set(PLATFORM_OPERATIONS).size).toBe(PLATFORM_OPERATIONS.length);
  expect(PLATFORM_OPERATIONS).toHaveLength(methods.length + 1);
});

it('are known of every table that lies beside them, but for what is asked at the device alone', async () => {
  const folder = new URL('operations/', SRC);
  const files = readdirSync(folder).filter((file) => file.endsWith('-operations.ts'));
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) {
    if (file === 'local-operations.ts') continue;
    const tables = Object.entries(await import(new URL(file, folder).href)).filter(([name]) =>
      name.endsWith('_OPERATIONS'),
    );
    expect(tables, file).not.toEqual([]);
    for (const [, table] of tables)
      expect(PLATFORM_OPERATIONS).toEqual(expect.arrayContaining(Object.keys(table as object)));
  }
});
