/**
 * Shows that the simulator sees: plants each fault in a copy of the project and lets worlds live until one contradicts a sentence.
 *
 *   npm run simulate:planted [-- --seeds 300] [--from N] [--workers 2] [--only TEXT]… [--tries N] [--again]
 *
 * The world in which the last campaign saw a fault is tried first, then those that have what the fault needs, at most 60 of the 300 or `--tries`.
 * A world that contradicts a sentence without the fault as well shows nothing. What was found is kept in the ledger.
 */
import { parseArgs } from 'node:util';
import { isIn, openLedger, type Shown, saveLedger, shownBefore } from './ledger.ts';
import type { PlantedFault } from './planted/fault.ts';
import { FAULTS } from './planted/faults.ts';
import { PlantedTree } from './planted/planted-tree.ts';
import { isDirected, searchOrder } from './planted/search-order.ts';
import { SENTENCES } from './witness/sentences.ts';
import { liveAll, type Task } from './workers.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '300' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    only: { type: 'string', multiple: true },
    tries: { type: 'string', default: '60' },
    again: { type: 'boolean', default: false },
  },
});
const SEEDS = Array.from({ length: Number(values.seeds) }, (_, n) => Number(values.from) + n);
const TRIES = Number(values.tries);
/** Least number of faults for each sentence. */
const FAULTS_EACH = 2;
/** True for worlds that are well without any fault. */
const sound = new Map<string, boolean>();
let cpuSeconds = 0;

const before = new Map(FAULTS.map(({ name }) => [name, shownBefore(name)]));
const ledger = openLedger();
const faults = FAULTS.filter(({ name }) => values.only?.some((text) => name.includes(text)) !== false).filter(
  ({ name }) => values.again || ledger.planted[name] == null,
);
for (const fault of faults) {
  const shown = await search(fault);
  console.log(
    `${shown === null ? 'NOT FOUND' : inWords(shown)}  ${fault.name}${shown === null ? '' : `: ${shown.sentences.join('; ')}`}`,
  );
  ledger.planted[fault.name] = shown;
  saveLedger(ledger);
}
const all = Object.values(ledger.planted);
const seen = all.filter((shown) => shown !== null);
const rare =
  values.only !== undefined
    ? []
    : SENTENCES.filter(({ name }) => seen.filter(({ sentences }) => sentences.includes(name)).length < FAULTS_EACH);
for (const { name } of rare) console.log(`contradicted by fewer than ${FAULTS_EACH}: ${name}`);
console.log(`${seen.length} of ${all.length} found, in ${Math.round(cpuSeconds)} s of the processor`);

async function search(fault: PlantedFault): Promise<Shown | null> {
  const tree = new PlantedTree(fault);
  try {
    const known = before.get(fault.name);
    const again = known === undefined ? [] : [{ seed: known.seed, options: known.directed ?? {} }];
    let left: Task[] = [...again, ...searchOrder(fault, SEEDS)].slice(0, TRIES);
    let worlds = 0;
    while (left.length > 0) {
      const lived = new Set<Task>();
      const showing: (readonly [Task, readonly string[]])[] = [];
      await liveAll(left, {
        count: Number(values.workers),
        worker: tree.worker,
        onLived: ({ verdict: { contradictions }, cpuSeconds: taken }, task) => {
          if (contradictions[0]?.startsWith('the world ends: its process'))
            throw new Error(`with "${fault.name}" the program does not run`);
          cpuSeconds += taken;
          lived.add(task);
          if (contradictions.length > 0)
            showing.push([task, [...new Set(contradictions.map((one) => one.split(':')[0] as string))]]);
          return contradictions.length === 0;
        },
      });
      worlds += lived.size;
      for (const [task, sentences] of showing) if (await isSound(task)) return shownIn(task, { worlds, sentences });
      left = left.filter((task) => !lived.has(task));
    }
    return null;
  } finally {
    tree.remove();
  }
}

function shownIn(task: Task, how: Pick<Shown, 'worlds' | 'sentences'>): Shown {
  return { seed: task.seed, ...(isDirected(task) ? { directed: task.options } : {}), ...how };
}

async function isSound(task: Task): Promise<boolean> {
  const key = JSON.stringify(task);
  const isInLedger = !isDirected(task) && isIn(ledger, task.seed);
  const known = sound.get(key) ?? (isInLedger ? !ledger.failures.includes(task.seed) : undefined);
  if (known !== undefined) return known;
  let well = false;
  await liveAll([task], {
    count: 1,
    onLived: ({ verdict, cpuSeconds: taken }) => {
      cpuSeconds += taken;
      well = verdict.contradictions.length === 0;
      return true;
    },
  });
  sound.set(key, well);
  return well;
}

function inWords({ seed, directed, worlds }: Shown): string {
  return `seed ${seed}${directed === undefined ? '' : ', directed'}, of ${worlds} world${worlds === 1 ? '' : 's'}`;
}
