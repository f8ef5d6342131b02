/** Built-in methods of the configuration are those that an agent answers. */
import { existsSync, readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { BUILT_IN_METHODS, builtInMethods, type MethodParts } from '../../../src/methods/built-in-methods.ts';
import { MethodTable } from '../../../src/rpc/method-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const SRC = new URL('../../../src/', import.meta.url);
const part = {} as never;
const parts: MethodParts = {
  ...{
    status: part,
    sensors: part,
    outbox: part,
    settings: part,
    restarts: { restart: () => {}, expectReboots: async () => {}, reboot: () => {} },
  },
  ...{ actuators: part, credentials: part },
};

it('are those of the method table, each once', () => {
  const methods = builtInMethods(parts);
  const table = new MethodTable({ clock: new FakeClock(), methods, permissions: {}, locked: () => false });
  expect(BUILT_IN_METHODS.filter((name) => table.find(name) === undefined)).toEqual([]);
  expect(new Set(BUILT_IN_METHODS).size).toBe(BUILT_IN_METHODS.length);
  expect(BUILT_IN_METHODS).toHaveLength(methods.length + 1);
});

it('are known of every room that declares some', async () => {
  for (const room of readdirSync(SRC)) {
    const file = new URL(`${room}/rpc-methods.ts`, SRC);
    if (!existsSync(file)) continue;
    const tables = Object.entries(await import(file.href)).filter(([name]) => name.endsWith('_METHODS'));
    expect(tables, room).not.toEqual([]);
    for (const [, table] of tables) expect(BUILT_IN_METHODS).toEqual(expect.arrayContaining(Object.keys(table as object)));
  }
});
