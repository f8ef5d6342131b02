/** Makes a failing plan short: leaves out whatever it fails without, in ever smaller parts (Zeller's delta debugging). */
import type { Verdict } from './live.ts';
import type { Plan, Planned } from './plan.ts';

type Live = (plan: Plan) => Promise<Pick<Verdict, 'contradictions'>>;

/**
 * The verdict of a plan, and the plan without what its contradictions do not need; a world that is well lives once, and has no shorter plan.
 */
export async function shortened<L extends Live>(
  plan: Plan,
  live: L,
): Promise<{ readonly verdict: Awaited<ReturnType<L>>; readonly short?: Plan }> {
  const verdict = (await live(plan)) as Awaited<ReturnType<L>>;
  const first = new Set(sentencesOf(verdict));
  if (first.size === 0) return { verdict };
  const short = await shorten(plan, async (candidate) =>
    sentencesOf(await live(candidate)).some((name) => first.has(name)),
  );
  return { verdict, short };
}

function sentencesOf({ contradictions }: Pick<Verdict, 'contradictions'>): string[] {
  return contradictions.map((one) => one.split(':')[0] as string);
}

/** @param fails whether a plan contradicts the same sentence. Asked at most `tries` times. */
async function shorten(plan: Plan, fails: (plan: Plan) => Promise<boolean>, tries = 150): Promise<Plan> {
  let left = tries;
  const ask = async (candidate: Plan): Promise<boolean> => left-- > 0 && (await fails(candidate));
  let short = plan;
  for (const part of ['deeds', 'troubles', 'deeds'] as const)
    short = { ...short, [part]: await fewest(short[part], (kept) => ask({ ...short, [part]: kept })) };
  return short;
}

async function fewest(
  all: readonly Planned[],
  fails: (kept: readonly Planned[]) => Promise<boolean>,
): Promise<readonly Planned[]> {
  if (all.length === 0 || (await fails([]))) return [];
  let kept = all;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < kept.length && kept.length > 1; ) {
      const without = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (await fails(without)) kept = without;
      else from += size;
    }
  }
  return kept;
}
