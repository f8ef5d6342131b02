/** Queue set aside: it accounts for what it is, and only where a card was taken from a board that had no device yet. */
import { expect, it } from 'vitest';
import { FORMER_QUEUE } from '../../../src/devices/former-queue.ts';
import { STATE_FOLDER } from '../../simulation/site.ts';
import { SetAside } from '../../simulation/witness/set-aside.ts';
import { World } from '../../simulation/world.ts';

const SECOND_MS = 1_000;
/** Its board comes without a token. */
const SEED = 212;

/** A world whose queue was set aside as the card was moved at its 70th second, and all that was durable by then. */
async function movedWorld(isHeard: boolean): Promise<World> {
  const world = await World.make(SEED);
  expect(world.site.provisions).not.toBe('not');
  const reconnect = isHeard ? (): void => {} : world.network.intercept(() => ({ status: 503, body: '' }));
  world.powerOn();
  await world.timeline.runUntil(70 * SECOND_MS);
  world.cutPower(600 * SECOND_MS, 1);
  world.identity.moveCard();
  reconnect();
  return world;
}

async function setAside({ disk }: World, change: (bytes: Buffer) => Buffer = (bytes) => bytes): Promise<void> {
  for (const path of disk.paths.filter((one) => one.startsWith(`${STATE_FOLDER}/outbox/`)))
    disk.put(path.replace('/outbox/', `/${FORMER_QUEUE}/`), change(disk.contentOf(path)));
}

it('accounts for each entry that lies there, once', async () => {
  const world = await movedWorld(false);
  expect(new SetAside(world).take(world.durable[0] as never)).toBe(false);
  await setAside(world);
  const aside = new SetAside(world);
  expect(world.durable.length).toBeGreaterThan(0);
  expect(world.durable.filter((one) => !aside.take(one))).toEqual([]);
  expect(world.durable.filter((one) => aside.take(one))).toEqual([]);
  await world.close();
});

it('accounts for nothing that is damaged, has another value, or was taken later', async () => {
  const world = await movedWorld(false);
  const one = world.durable.at(-1);
  if (one === undefined) throw new Error('nothing was durable');
  await setAside(world);
  const aside = new SetAside(world);
  expect(aside.take({ ...one, entry: { ...one.entry, value: 'another' } })).toBe(false);
  expect(aside.take({ ...one, takenAtMs: 70 * SECOND_MS })).toBe(false);
  await setAside(world, (bytes) => bytes.map((byte, n) => (n < 200 ? byte : byte ^ 1)) as Buffer);
  expect(new SetAside(world).take(one)).toBe(false);
  await world.close();
});

it('accounts for nothing of a board that had come to its device', async () => {
  const world = await movedWorld(true);
  await setAside(world);
  const aside = new SetAside(world);
  expect(world.durable.filter((one) => aside.take(one))).toEqual([]);
  await world.close();
});
