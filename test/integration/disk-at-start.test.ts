/** The whole agent on a disk that does not answer when it starts: it lives and sends without, says so, and keeps what it measured once the disk is back. */
import { expect, it } from 'vitest';
import { STATE_FOLDER } from '../simulation/site.ts';
import type { World } from '../simulation/world.ts';
import { worldWithAgent } from '../support/agent-in-world.ts';
import type { Operation } from '../support/memory-files.ts';

const WITHOUT_MS = 5 * 60_000;
/** The machine boots, and then one room after the other goes on without what the disk does not answer for; the outputs wait for none of it. */
const HANGING_MS = 75_000;
/** Credentials that could not be read are read again within five minutes. */
const AFTERWARDS_MS = 6 * 60_000;

const CHANGES: ReadonlySet<Operation> = new Set<Operation>(['write', 'sync', 'rename', 'unlink', 'truncate']);

/** What was taken until a quarter of a minute ago is with the platform, from memory; nothing where it is not known whose queue it is. */
function expectArrivals(world: World, { readable }: { readonly readable: boolean }): void {
  if (!readable) {
    expect(world.durable).toEqual([]);
    return;
  }
  const { connection, outbox } = world.life?.agent?.status() ?? {};
  expect(world.durable.length).toBeGreaterThan(WITHOUT_MS / 20_000);
  expect(connection?.acknowledgedEntries).toBe(world.durable.length);
  expect(outbox?.heldEntries).toBeLessThan(8);
}

it.each<[string, string, (operation: Operation, path: string) => boolean, boolean]>([
  [
    'the state folder cannot be made',
    'EROFS',
    (operation, path) => operation === 'open' && path === STATE_FOLDER,
    true,
  ],
  [
    'the outbox cannot be listed',
    'EIO',
    (operation, path) => operation === 'list' && path === `${STATE_FOLDER}/outbox`,
    true,
  ],
  ['nothing beneath the state folder answers', 'EIO', (_operation, path) => path.startsWith(STATE_FOLDER), false],
  [
    'the state folder is new and the disk full',
    'ENOSPC',
    (operation, path) => operation === 'write' || (operation === 'open' && path === STATE_FOLDER),
    true,
  ],
  ['the file system is read-only', 'EROFS', (operation) => CHANGES.has(operation), true],
])('the agent lives where %s', async (_what, code, fails, readable) => {
  const world = await worldWithAgent(({ disk }) => {
    disk.faults = { fail: (operation, path) => (fails(operation, path) ? { code } : undefined) };
  });
  await world.timeline.runUntil(WITHOUT_MS);
  expect(world.lives.deaths).toEqual([]);
  expect(world.life?.agent?.status()).toMatchObject({
    outbox: { fault: code },
    sensors: [{ state: 'ok' }, { state: 'ok' }],
  });
  expect(world.life?.agent?.status().alerts.join('\n')).toContain(`the disk does not take readings (${code})`);
  expectArrivals(world, { readable });

  world.disk.faults = {};
  await world.timeline.runUntil(WITHOUT_MS + AFTERWARDS_MS);
  expect(world.lives.deaths).toEqual([]);
  const status = world.life?.agent?.status();
  expect(status?.outbox.fault).toBeUndefined();
  expect(status?.alerts).toEqual([]);
  // Readings from while nothing could be kept are there, too.
  const firstTakenAtMs = Math.min(...world.durable.map(({ takenAtMs }) => takenAtMs));
  expect(firstTakenAtMs).toBeLessThan(60_000);
  expect(status?.connection.acknowledgedEntries).toBe(world.durable.length);
});

it('the agent lives where the disk hangs, and goes on with it once it answers', async () => {
  const answers = Promise.withResolvers<void>();
  const world = await worldWithAgent(({ disk }) => {
    disk.faults = { delay: (_operation, path) => (path.startsWith(STATE_FOLDER) ? answers.promise : undefined) };
  });
  expect(world.timeline.nowMs).toBeLessThan(HANGING_MS);
  await world.timeline.runUntil(WITHOUT_MS);
  expect(world.lives.deaths).toEqual([]);
  const without = world.life?.agent?.status();
  expect(without).toMatchObject({ outbox: { fault: 'ETIMEDOUT' }, sensors: [{ state: 'ok' }, { state: 'ok' }] });
  expect(without?.alerts.join('\n')).toContain('the disk does not take readings (ETIMEDOUT)');
  expect(without?.actuators.every(({ value }) => value !== undefined)).toBe(true);
  expectArrivals(world, { readable: false });

  world.disk.faults = {};
  answers.resolve();
  await world.timeline.runUntil(WITHOUT_MS + AFTERWARDS_MS);
  expect(world.lives.deaths).toEqual([]);
  const status = world.life?.agent?.status();
  expect(status?.outbox.fault).toBeUndefined();
  expect(status?.alerts).toEqual([]);
  expect(Math.min(...world.durable.map(({ takenAtMs }) => takenAtMs))).toBeLessThan(HANGING_MS + 10_000);
  expect(status?.connection.acknowledgedEntries).toBe(world.durable.length);
});
