/**
 * Cuts the power of a whole agent, and kills it, at random moments: what was read more than the commit age before is at the platform or on the disk.
 *
 *   npm run cuts [-- --cuts 20] [-- --kills 100] [-- --seed 1] [-- --json]
 *
 * Four sites live side by side, two for cuts and two for kills: the bundle at its defaults, ten entries a second, each on an ext4 image of its own.
 * Needs the rights to make and mount an image. The platform answers at once, late, with errors or not at all, in turn after each cut and kill.
 *
 *   cut    the agent stands still while the file behind its block device is copied, between two equal counts of what the device wrote. The copy is
 *          mounted, and its outbox drained as in another boot. Four cuts within one run, 20 to 120 s after its start
 *   kill   SIGKILL 5 to 12 s after the first reading of a life; the next one begins with the same state
 *
 * A stop of the agent, after each run of cuts, loses nothing but reads under way. In the end each site runs with a platform that answers until all
 * has arrived. Fails when anything is missing, came with another time or value,
 * or when the disk had two entries of one sequence. `oldestUnsafeMs` is the age of the oldest reading that a cut or kill found nowhere, `fromDisk`
 * how many were due and at the disk alone, `repeated` how many the platform took again, with the same time. `givenUp` are answers of sensors that the
 * agent's log says it gave up, which a busy machine causes: they are asked for only where they were found.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { mulberry32 } from '../support/random-bytes.ts';
import { MANNERS } from './cuts/platform-child.ts';
import { type Seen, Site } from './cuts/site.ts';
import { repeatsIn, SequenceBook, Witness } from './cuts/witness.ts';

const COMMIT_AGE_MS = 5_000;
/** What one commit takes on a busy machine. */
const COMMIT_TAKES_MS = 1_000;
/** A stop ends reads that are under way. */
const READ_TAKES_MS = 1_000;
const SITES_OF_A_KIND = 2;
const CUTS_IN_A_RUN = 4;
const CUT_MS = { from: 20_000, to: 120_000 };
/** The pause of one cut is over, and what it held up is written, before the next. */
const BETWEEN_CUTS_MS = 8_000;
const KILL_MS = { from: 5_000, to: 12_000 };
/** Nothing more arrives after so long. */
const ARRIVES_WITHIN_MS = 180_000;
const LOOK_EVERY_MS = 1_000;

interface Figures {
  readonly ends: number;
  readonly readings: number;
  readonly judged: number;
  readonly fromDisk: number;
  readonly givenUp: number;
  readonly missing: number;
  readonly oldestUnsafeMs: number;
  readonly repeated: number;
  readonly contradictory: number;
  readonly sequencesUsedTwice: number;
  readonly damaged: number;
}

type Kind = 'cut' | 'kill';

const { values: flags } = parseArgs({
  options: {
    cuts: { type: 'string', default: '20' },
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'boolean', default: false },
  },
});
const seed = Number(flags.seed);
console.log(`seed ${seed}`);
const folder = await mkdtemp(join(tmpdir(), 'turnstone-cuts-'));
await buildBundle(ownNativeModules());
const [cut, kill] = await Promise.all([
  campaign('cut', shares(Number(flags.cuts))),
  campaign('kill', shares(Number(flags.kills))),
]);
for (const [kind, figures] of Object.entries({ cut, kill }))
  for (const [name, value] of Object.entries(figures)) console.log(`${kind.padEnd(6)}${name.padEnd(20)}${value}`);
if (flags.json) console.log(JSON.stringify({ seed, cut, kill }));
if ([cut, kill].every(isWell)) await rm(folder, { recursive: true });
else {
  console.log(`ledgers, logs and disks are in ${folder}`);
  process.exitCode = 1;
}

function isWell({ ends, judged, missing, contradictory, sequencesUsedTwice }: Figures): boolean {
  return missing + contradictory + sequencesUsedTwice === 0 && (ends === 0 || judged > 0);
}

async function campaign(kind: Kind, ends: readonly number[]): Promise<Figures> {
  const sites = await Promise.all(ends.map((own, at) => oneSite(kind, at, own)));
  const sum = (name: keyof Figures): number => sites.reduce((total, figures) => total + figures[name], 0);
  return {
    ends: sum('ends'),
    readings: sum('readings'),
    judged: sum('judged'),
    fromDisk: sum('fromDisk'),
    givenUp: sum('givenUp'),
    missing: sum('missing'),
    oldestUnsafeMs: Math.max(0, ...sites.map(({ oldestUnsafeMs }) => oldestUnsafeMs)),
    repeated: sum('repeated'),
    contradictory: sum('contradictory'),
    sequencesUsedTwice: sum('sequencesUsedTwice'),
    damaged: sum('damaged'),
  };
}

async function oneSite(kind: Kind, at: number, ends: number): Promise<Figures> {
  const own = seed * 10 + at * 2 + (kind === 'cut' ? 0 : 1);
  const random = mulberry32(own);
  const site = await Site.open(join(folder, `${kind}${at}`), own);
  const { ledger } = site.platform;
  const witness = new Witness(ledger, COMMIT_AGE_MS + COMMIT_TAKES_MS);
  const book = new SequenceBook();
  let damaged = 0;
  let ended = 0;
  /** Judges one end, and has the platform answer in the next manner. */
  const judge = ({ atMs, held, written, damaged: now }: Seen): void => {
    const manner = MANNERS[ended % MANNERS.length];
    const missing = witness.judge(kind === 'cut' ? { atMs, held, isOfCopy: true } : { atMs, held });
    for (const one of missing) contradict(kind, at, `${kind} ${ended} (${manner}) at ${atMs}: ${JSON.stringify(one)}`);
    book.enter(written);
    damaged = Math.max(damaged, now);
    ended += 1;
    site.platform.behave(MANNERS[ended % MANNERS.length] ?? 'at-once');
  };
  try {
    while (ended < ends) {
      await site.start();
      if (kind === 'kill') {
        await delay(KILL_MS.from + random() * (KILL_MS.to - KILL_MS.from));
        judge(await site.kill());
        continue;
      }
      const startedMs = Date.now();
      for (const afterMs of cutTimes(Math.min(CUTS_IN_A_RUN, ends - ended), random)) {
        await delay(Math.max(0, startedMs + afterMs - Date.now()));
        judge(await site.cutPower());
      }
      const { atMs, held, written, tookMs } = await site.stop();
      for (const one of witness.judge({ atMs, held, promisedMs: tookMs + READ_TAKES_MS }))
        contradict(kind, at, `stopped at ${atMs}: ${JSON.stringify(one)}`);
      book.enter(written);
    }
    if (ends > 0) await arriveAll(site, witness);
    for (const one of witness.judge({ atMs: Date.now(), held: new Set() }))
      contradict(kind, at, `never arrived: ${JSON.stringify(one)}`);
  } finally {
    await site.close();
  }
  const { repeated, contradictory } = repeatsIn(ledger.taken);
  for (const arrival of contradictory) contradict(kind, at, `contradictory: ${JSON.stringify(arrival)}`);
  for (const used of book.usedTwice) contradict(kind, at, `sequence used twice: ${used}`);
  return {
    ends: ended,
    readings: ledger.given.length,
    judged: witness.judged,
    fromDisk: witness.fromDisk,
    givenUp: witness.givenUp,
    missing: witness.missing.length,
    oldestUnsafeMs: witness.oldestUnsafeMs,
    repeated,
    contradictory: contradictory.length,
    sequencesUsedTwice: book.usedTwice.length,
    damaged,
  };
}

/** Lets the agent run with a platform that answers until nothing is missing, or for so long. */
async function arriveAll(site: Site, witness: Witness): Promise<void> {
  site.platform.behave('at-once');
  await site.start();
  const untilMs = Date.now() + ARRIVES_WITHIN_MS;
  while (Date.now() < untilMs && !witness.isSafe({ atMs: Date.now(), held: new Set() })) await delay(LOOK_EVERY_MS);
}

/** Ascending, ms after the start. */
function cutTimes(count: number, random: () => number): readonly number[] {
  for (;;) {
    const times = Array.from({ length: count }, () => CUT_MS.from + random() * (CUT_MS.to - CUT_MS.from));
    times.sort((a, b) => a - b);
    if (times.every((ms, at) => at === 0 || ms - (times[at - 1] ?? 0) >= BETWEEN_CUTS_MS)) return times;
  }
}

function shares(count: number): readonly number[] {
  return Array.from({ length: SITES_OF_A_KIND }, (_none, at) => Math.floor((count + at) / SITES_OF_A_KIND));
}

function contradict(kind: Kind, site: number, words: string): void {
  console.log(`CONTRADICTION ${kind} site ${site}, seed ${seed}: ${words}`);
}
