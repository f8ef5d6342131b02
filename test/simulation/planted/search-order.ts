/**
 * In which order worlds are searched for a planted fault: of those that are drawn as always the few that have most of what it takes to show it and
 * are short; then directed ones, an hour long, in which nothing else happens; then all others.
 */
import { attachedOf } from '../attached-devices.ts';
import { Chance } from '../chance.ts';
import { CALM_MS } from '../live.ts';
import { hasMeasures } from '../measures.ts';
import { optionsOf } from '../options.ts';
import { type PlanOptions, planOf } from '../plan.ts';
import { drawSite, provisionsOf } from '../site.ts';
import { RARE_TROUBLES, TROUBLES, TROUBLES_APART } from '../troubles.ts';
import type { Task } from '../workers.ts';
import type { PlantedFault } from './fault.ts';

/** More of the same need not show more. */
const ENOUGH = 12;
/** Drawn as always, before directed ones. */
const FIRST = 3;
/** Largest share of directed worlds among all. */
const DIRECTED_SHARE = 0.3;
/** Directed ones are drawn for so many seeds each, and the most promising live. */
const DRAWN_EACH = 3;
const HOURS = 1;
const TROUBLES_AN_HOUR = 15;
const DEEDS_AN_HOUR = 150;

const TROUBLE_NAMES: ReadonlySet<string> = new Set(
  [...TROUBLES, ...RARE_TROUBLES, ...TROUBLES_APART].map(({ name }) => name),
);

/** As many worlds as there are seeds. */
export function searchOrder(fault: PlantedFault, seeds: readonly number[]): Task[] {
  const { needs = [] } = fault;
  const ordinary = mostPromising({ needs, options: {} }, seeds);
  const options = directedOptions(fault);
  const count = Math.floor(seeds.length * DIRECTED_SHARE);
  const drawn = Array.from({ length: count * DRAWN_EACH }, (_, n) => n + 1);
  const directed = mostPromising({ needs, options }, drawn).slice(0, count);
  return [...ordinary.slice(0, FIRST), ...directed, ...ordinary.slice(FIRST)].slice(0, seeds.length);
}

export function isDirected({ options }: Task): boolean {
  return options.only !== undefined;
}

function directedOptions({ needs = [], perHour = TROUBLES_AN_HOUR, hours = HOURS }: PlantedFault): PlanOptions {
  const only = needs.flatMap((need) => need.split('|')).filter((name) => TROUBLE_NAMES.has(name));
  return { hours, perHour, deedsPerHour: DEEDS_AN_HOUR, only };
}

interface Sought {
  readonly needs: readonly string[];
  readonly options: PlanOptions;
}

/** All of them, the most promising first. */
function mostPromising(sought: Sought, seeds: readonly number[]): Task[] {
  return seeds
    .map((seed) => ({ seed, promise: promiseOf(seed, sought) }))
    .sort((a, b) => b.promise - a.promise || a.seed - b.seed)
    .map(({ seed }) => ({ seed, options: sought.options }));
}

/** How often a world has the most seldom of what is needed, for each hour that it takes. */
function promiseOf(seed: number, { needs, options }: Sought): number {
  const { troubles, deeds, calmFromMs } = planOf(seed, options);
  const happening = [...troubles, ...deeds].map(({ name }) => name);
  const equipment = namesOf(seed);
  const counts = needs.map((need) => {
    const any = need.split('|');
    return any.some((name) => equipment.has(name)) ? ENOUGH : happening.filter((name) => any.includes(name)).length;
  });
  return Math.min(ENOUGH, ...(needs.length === 0 ? [troubles.length] : counts)) / (calmFromMs + CALM_MS);
}

function namesOf(seed: number): ReadonlySet<string> {
  const { periods, outputs, lockout, smallOutbox } = drawSite(new Chance(seed).fork('site'));
  const names = [...periods.keys(), ...outputs.map(({ name }) => name)];
  return new Set([
    ...names,
    ...(lockout ? ['lockout'] : []),
    ...(smallOutbox ? ['small outbox'] : []),
    ...(provisionsOf(seed) === 'not' ? [] : ['provisions']),
    ...(hasMeasures(seed) ? ['measures'] : []),
    ...(optionsOf(seed).status.includes('page: "off"') ? [] : ['page']),
    ...attachedNames(seed),
  ]);
}

function attachedNames(seed: number): readonly string[] {
  const slots = attachedOf(seed);
  const hasRelays = slots.some(({ relay }) => relay !== undefined);
  return [
    ...(slots.length > 1 ? ['attached devices'] : []),
    ...(slots.length > 1 && hasRelays ? ['attached relays'] : []),
  ];
}
