/** Simulates worlds and says which of them contradict a promise. */
import { createHash } from 'node:crypto';
import { askedFor } from './asked-for.ts';
import { enter, hashOfSource, isIn, openLedger, saveLedger, worldsOf } from './ledger.ts';
import { live, measureSpeed, type Verdict, warmUp } from './live.ts';
import { type PlanOptions, planOf } from './plan.ts';
import { REGRESSIONS } from './regressions.ts';
import { shortened } from './shorten.ts';
import { liveAll } from './workers.ts';

const asked = askedFor(process.argv.slice(2));
if ('usage' in asked) {
  process[asked.exitCode === 0 ? 'stdout' : 'stderr'].write(asked.usage);
  process.exit(asked.exitCode);
}
const { values } = asked;
/** Minutes of CI's four: a world that has begun still takes its time. */
const SAMPLE_MINUTES = 3.5;
/**
 * Seeds that come with this state of `src`, the same on every machine: who changed it can try them before CI does. Behind them come seeds that
 * stay the same, so that what fails among them is what was changed.
 */
const SAMPLE_NEW = 15;
const SAMPLE_FIRST = 90;
const options: PlanOptions = {
  ...(values.hours === undefined ? {} : { hours: Number(values.hours) }),
  ...(values.troubles === undefined ? {} : { perHour: Number(values.troubles) }),
  ...(values.long ? { long: true } : {}),
  ...(values.only === undefined ? {} : { only: values.only.split(',') }),
  ...(values.without === undefined ? {} : { without: values.without.split(',') }),
};

const failed = values.seed === undefined ? await campaign() : await one(Number(values.seed));
process.exit(failed ? 1 : 0);

/** Many worlds, entered into the ledger where they are a campaign's. @returns whether any failed. */
async function campaign(): Promise<boolean> {
  const ledger = openLedger();
  const isEntered = Object.keys(options).length === 0 && !values.sample;
  const from = Number(values.from);
  const drawn = values.sample
    ? [...seedsOfSource(SAMPLE_NEW), ...Array.from({ length: SAMPLE_FIRST }, (_, n) => n + 1)]
    : Array.from({ length: Number(values.seeds) }, (_, n) => from + n).filter(
        (seed) => values.again || !isEntered || !isIn(ledger, seed),
      );
  const regressions = values.sample ? REGRESSIONS.map(({ seed, options: own = {} }) => ({ seed, options: own })) : [];
  const minutes = Number(values.minutes ?? (values.sample ? SAMPLE_MINUTES : Number.POSITIVE_INFINITY));
  const endMs = performance.now() + minutes * 60_000;
  let virtualMs = 0;
  let cpuSeconds = 0;
  let worlds = 0;
  const failures: number[] = [];
  await liveAll([...regressions, ...drawn.map((seed) => ({ seed, options }))], {
    count: Number(values.workers),
    onLived: (lived) => {
      const { verdict } = lived;
      worlds += 1;
      virtualMs += verdict.virtualMs;
      cpuSeconds += lived.cpuSeconds;
      if (verdict.contradictions.length > 0) {
        failures.push(verdict.seed);
        tell(verdict);
      }
      if (isEntered) {
        enter(ledger, verdict, lived.cpuSeconds);
        saveLedger(ledger);
      }
      return performance.now() < endMs;
    },
  });
  if (values.json) {
    await warmUp();
    const speed = await measureSpeed();
    const planted = Object.values(ledger.planted);
    const sums = { worlds: worldsOf(ledger), virtualDays: ledger.virtualDays, speed, failures: ledger.failures.length };
    console.log(
      JSON.stringify({
        ...sums,
        planted: planted.length,
        plantedFound: planted.filter((shown) => shown !== null).length,
      }),
    );
  } else
    console.log(
      `${worlds} worlds, ${(virtualMs / 86_400_000).toFixed(1)} virtual days, ${Math.round(virtualMs / 1_000 / cpuSeconds)} times as fast as time passes`,
    );
  if (values.json) return failures.length > 0;
  const [seed] = failures;
  if (seed !== undefined) {
    const { without } = REGRESSIONS.find((one) => values.sample && one.seed === seed)?.options ?? options;
    const beside = without === undefined ? '' : ` --without "${without.join(',')}"`;
    console.log(`failed: ${failures.join(', ')}; npm run simulate -- --seed ${seed}${beside} --trace tells the story`);
  }
  console.log(`${worlds - failures.length} passed, ${failures.length} failed`);
  return failures.length > 0;
}

function seedsOfSource(count: number): readonly number[] {
  const hash = Buffer.from(hashOfSource());
  return Array.from(
    { length: count },
    (_, n) => createHash('sha256').update(hash).update(String(n)).digest().readUInt32BE() % 2 ** 31,
  );
}

/** One world, told as it happens if asked. @returns whether it failed. */
async function one(seed: number): Promise<boolean> {
  await warmUp();
  const told = values.trace ? (line: string) => console.log(line) : undefined;
  const plan = planOf(seed, options);
  if (!values.short) {
    const verdict = await live(plan, told);
    tell(verdict);
    return verdict.contradictions.length > 0;
  }
  const { verdict, short } = await shortened(plan, live);
  if (short === undefined) {
    tell(verdict);
    console.log('this world is well: nothing to shorten');
    return false;
  }
  console.log(`${plan.troubles.length} troubles and ${plan.deeds.length} deeds, of which these matter:`);
  for (const { name, atMs } of [...short.troubles, ...short.deeds].sort((a, b) => a.atMs - b.atMs))
    console.log(`  ${(atMs / 1_000).toFixed(3)} s  ${name}`);
  tell(await live(short, told));
  return true;
}

function tell({ seed, contradictions, durable, commands }: Verdict): void {
  if (contradictions.length === 0)
    console.log(`seed ${seed}: ${durable} durable entries, ${commands} commands, all well`);
  else console.log(`seed ${seed}:\n${contradictions.map((line) => `  ${line}`).join('\n')}`);
}
