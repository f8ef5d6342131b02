/** The power is cut between steps of provisioning attached devices. The judge is the platform's device list, and what lies under each of its devices. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeviceConfig } from '../../src/config/schema/devices.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AttachedLives, type Death } from '../support/attached-lives.ts';
import { mulberry32 } from '../support/random-bytes.ts';

/** The campaign of the issue; more with TURNSTONE_KILLS. */
const KILLS = Number(process.env.TURNSTONE_KILLS ?? 100);
const SEED = Number(process.env.TURNSTONE_SEED ?? 20_261_128);
const SECRET = { deviceKey: 'key', deviceSecret: 'secret' };
const PLACES = ['before', 'inside', 'after'] as const;
/** A death falls within so many changes of the disk, or requests: a device needs about twenty of the one, and one to three of the other. */
const [CHANGES, REQUESTS] = [120, 12];
/** Cuts of one gateway, after which it is left in peace. */
const CUTS = 8;

let platform: LocalPlatform;
let random: () => number;

beforeAll(async () => {
  platform = await LocalPlatform.start();
  platform.allowProvisioning({ key: SECRET.deviceKey, secret: SECRET.deviceSecret, profile: 'meters' });
});
afterAll(() => platform.close());

/** Ten slots, of which three tell their serial numbers. */
const slots = Array.from(
  { length: 10 },
  (_, at): DeviceConfig => ({
    name: `meter${at}`,
    ...(at < 3
      ? { deviceName: '{gateway} {serialNumber}', serialNumber: { sensor: `meter${at}`, key: 'serial' } }
      : { deviceName: '{gateway} {name}' }),
  }),
);
const serialOf = (slot: string): string => `4711-${slot}`;
const nameOf = (gateway: string, { name, serialNumber }: DeviceConfig): string =>
  `${gateway} ${serialNumber === undefined ? name : serialOf(name)}`;

function lives(gateway: string): AttachedLives {
  return new AttachedLives({ gateway, url: platform.url, slots, serialOf, secret: SECRET, random });
}

function death(): Death {
  const from = (count: number): number => 1 + Math.floor(random() * count);
  return random() < 0.7
    ? { atChange: from(CHANGES), place: PLACES[from(3) - 1] as (typeof PLACES)[number] }
    : { atRequest: from(REQUESTS), place: random() < 0.5 ? 'before' : 'after' };
}

/** Deaths that were met, before the first life to its end. */
async function cutOften(world: AttachedLives, most: number): Promise<number> {
  for (let kills = 0; kills < most; kills += 1) if ((await world.live(death())) !== undefined) return kills;
  return most;
}

describe('attached devices whose gateway is cut off its power', () => {
  it(`${KILLS} times while they are provisioned, are on the platform once each, with the token that it has`, async () => {
    random = mulberry32(SEED);
    let gateways = 0;
    for (let kills = 0; kills < KILLS; gateways += 1) {
      const gateway = `gateway${gateways}`;
      const world = lives(gateway);
      kills += await cutOften(world, Math.min(CUTS, KILLS - kills));
      const outcomes = await world.live();
      const expected = slots.map((slot) => nameOf(gateway, slot));
      expect(outcomes, `seed ${SEED}, ${gateway}`).toEqual(new Map(expected.map((name) => [name, 'ready'])));
      const there = platform.state.registry.devices.all.filter(({ name }) => name.startsWith(`${gateway} `));
      expect(there.map(({ name }) => name).sort()).toEqual([...expected].sort());
      for (const slot of slots)
        expect(
          new Set((platform.deviceView(nameOf(gateway, slot))?.points.get('slot') ?? []).map(({ value }) => value)),
        ).toEqual(new Set([slot.name]));
    }
  }, 120_000);

  it('lose tokens on a disk that forgets what it synced: the campaign would see it', async () => {
    random = mulberry32(SEED);
    const reasons: string[] = [];
    for (let gateway = 0; gateway < 5; gateway += 1) {
      const world = lives(`forgetful${gateway}`);
      world.files.ignoreSync = true;
      await cutOften(world, CUTS);
      reasons.push(...((await world.live())?.values() ?? []));
    }
    expect(reasons.some((reason) => reason.includes('device exists, token unknown'))).toBe(true);
  }, 60_000);
});
