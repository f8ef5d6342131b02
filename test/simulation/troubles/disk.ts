/** The card: it fails, it wears, it fills, it hangs, and each of it may come while another lasts. */
import { dirname } from 'node:path';
import { SECTOR_BYTES } from '../../support/memory-content.ts';
import type { Faults, Operation } from '../../support/memory-files.ts';
import { STATE_FOLDER } from '../site.ts';
import { lasting, MINUTE_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

const READS: ReadonlySet<Operation> = new Set(['read', 'list', 'facts', 'statfs', 'open']);
/** Calls that take a descriptor. */
const OPENING: ReadonlySet<Operation> = new Set(['open', 'list', 'sync-folder']);

export const DISK_TROUBLES: readonly Trouble[] = [
  { name: 'disk fails', weight: 2, befall: failing },
  {
    name: 'read-only disk',
    weight: 1,
    befall: (stroke) =>
      faulty(stroke, 'the disk is read-only', 20 * MINUTE_MS, {
        fail: (operation) => (READS.has(operation) || operation === 'sync' ? undefined : { code: 'EROFS' }),
      }),
  },
  {
    name: 'too many open files',
    weight: 1,
    befall: (stroke) => {
      const share = stroke.chance.pick([0.2, 1]);
      faulty(stroke, `${share * 100} % of what opens a file finds too many open`, 10 * MINUTE_MS, {
        fail: (operation) => (OPENING.has(operation) && stroke.chance.happens(share) ? { code: 'EMFILE' } : undefined),
      });
      if (stroke.chance.happens(0.4)) stroke.world.killAgent();
    },
  },
  { name: 'bad sectors', weight: 2, befall: badSectors },
  { name: 'disk full', weight: 2, befall: full },
  { name: 'slow disk', weight: 1, befall: slow },
  { name: 'hanging sync', weight: 1, befall: hanging },
  { name: 'twin lost', weight: 1, befall: twinLost },
];

/** Lasting, and told to whoever judges what could be kept. */
function troubling(stroke: Stroke, words: string, maxMs: number, begin: () => () => unknown): void {
  lasting(stroke, words, maxMs, () => {
    const over = stroke.world.diskTroubles.begin();
    const end = begin();
    return () => {
      over();
      end();
    };
  });
}

/** Only what is on the card: the run folder is in memory. */
function faulty(stroke: Stroke, words: string, maxMs: number, faults: Faults): void {
  const { fail, delay } = faults;
  const isOnCard = (path: string): boolean => path.startsWith(STATE_FOLDER) || STATE_FOLDER.startsWith(path);
  troubling(stroke, words, maxMs, () =>
    stroke.world.disk.addFaults({
      ...(fail === undefined
        ? {}
        : { fail: (operation, path, span) => (isOnCard(path) ? fail(operation, path, span) : undefined) }),
      ...(delay === undefined
        ? {}
        : { delay: (operation, path) => (isOnCard(path) ? delay(operation, path) : undefined) }),
    }),
  );
}

const CARD_NOT_READ = 'the card could not be read';

function failing(stroke: Stroke): void {
  const { chance } = stroke;
  const share = chance.pick([0.02, 0.2, 1]);
  const reads = chance.happens(0.3);
  if (reads) stroke.world.identity.excuse = CARD_NOT_READ;
  faulty(stroke, `the disk fails in ${share * 100} % of all ${reads ? 'calls' : 'changes'}`, 20 * MINUTE_MS, {
    fail: (operation) =>
      (reads || !READS.has(operation)) && chance.happens(share)
        ? { code: 'EIO', short: chance.happens(0.5) }
        : undefined,
  });
}

/** Some sectors of one file cannot be read, and perhaps not be written. */
function badSectors(stroke: Stroke): void {
  const { world, chance } = stroke;
  const files = world.disk.paths.filter((path) => path.startsWith(STATE_FOLDER));
  if (files.length === 0) return;
  const bad = chance.pick(files);
  if (bad.includes('/credentials')) world.identity.excuse = CARD_NOT_READ;
  const sectors = Math.max(1, Math.ceil(world.disk.contentOf(bad).length / SECTOR_BYTES));
  const from = chance.between(0, sectors - 1) * SECTOR_BYTES;
  const to = from + Math.round(chance.magnitude(1, 32)) * SECTOR_BYTES;
  const writesToo = chance.happens(0.3);
  faulty(
    stroke,
    `bytes ${from} to ${to} of ${bad} cannot be ${writesToo ? 'read or written' : 'read'}`,
    30 * MINUTE_MS,
    {
      fail: (operation, path, span) =>
        path === bad &&
        (operation === 'read' || (writesToo && operation === 'write')) &&
        span !== undefined &&
        span.from < to &&
        span.to > from
          ? { code: 'EIO' }
          : undefined,
    },
  );
  // Most of what the agent keeps it reads only as it starts.
  if (chance.happens(0.4)) world.killAgent();
}

/** Others write until next to nothing is left. */
function full(stroke: Stroke): void {
  const { world, chance } = stroke;
  const left = chance.pick([0, Math.round(chance.magnitude(512, 300_000))]);
  troubling(stroke, `others fill the disk, ${left} bytes are left`, 20 * MINUTE_MS, () => {
    const { disk } = world;
    const taken = Math.max(0, disk.capacityBytes - disk.foreignBytes - disk.usedBytes - left);
    disk.foreignBytes += taken;
    const fromMs = world.timeline.nowMs;
    const before = world.lives.gaveWayTillNow;
    const fill = { fromMs, untilMs: Number.POSITIVE_INFINITY, gaveWay: 0 };
    world.fills.push(fill);
    return () => {
      disk.foreignBytes -= taken;
      fill.untilMs = world.timeline.nowMs;
      fill.gaveWay = world.lives.gaveWayTillNow - before;
    };
  });
}

function slow(stroke: Stroke): void {
  const { world, chance } = stroke;
  const ms = chance.magnitude(10, 20 * SECOND_MS);
  faulty(stroke, `each write and sync takes ${Math.round(ms)} ms`, 10 * MINUTE_MS, {
    delay: (operation) => (operation === 'sync' || operation === 'write' ? world.timeline.wait(ms) : undefined),
  });
}

/** Hangs every sync until it is over, then does all of them. */
function hanging(stroke: Stroke): void {
  const over = Promise.withResolvers<void>();
  const { disk } = stroke.world;
  troubling(stroke, 'no sync ends', 5 * MINUTE_MS, () => {
    const end = disk.addFaults({
      delay: (operation, path) =>
        (operation === 'sync' || operation === 'sync-folder') && path.startsWith(STATE_FOLDER)
          ? over.promise
          : undefined,
    });
    return () => {
      end();
      over.resolve();
    };
  });
}

/** Between two boots one of two files that stand in for each other is gone, or half of it is. */
function twinLost(stroke: Stroke): void {
  const { world, chance } = stroke;
  const { disk } = world;
  const pairs = [
    [`${STATE_FOLDER}/credentials.json`, `${STATE_FOLDER}/credentials.backup.json`],
    [`${STATE_FOLDER}/outbox/delivered-0.state`, `${STATE_FOLDER}/outbox/delivered-1.state`],
  ] as const;
  const pair = chance.pick(pairs);
  const [lost, other] = chance.happens(0.5) ? pair : [pair[1], pair[0]];
  const how = chance.pick(['is gone', 'is cut in half', 'is zeros'] as const);
  world.cutPower(within(stroke, chance.magnitude(2 * SECOND_MS, MINUTE_MS)), 1);
  if (!disk.paths.includes(lost) || !disk.paths.includes(other)) return;
  world.story.tell(`${lost.slice(dirname(lost).length + 1)} ${how}`);
  world.dueAlerts.push(`set aside as ${lost}.corrupt`);
  const content = disk.contentOf(lost);
  if (how === 'is gone') disk.remove(lost);
  else disk.put(lost, how === 'is zeros' ? Buffer.alloc(content.length) : content.subarray(0, content.length >> 1));
}
