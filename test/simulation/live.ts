/** Lets a planned world live from its first second to its last, and asks the witness what it saw. */
import type { JsonObject } from '../../src/values/json.ts';
import { planCalm } from './calm.ts';
import { People } from './people.ts';
import { chanceOf, type Plan } from './plan.ts';
import { lookAfterProvisioning } from './troubles/identity.ts';
import { RARE_TROUBLES, TROUBLES, TROUBLES_APART } from './troubles.ts';
import { SENTENCES } from './witness/sentences.ts';
import { World } from './world.ts';

/** After the last trouble everything is to be well again within this time. */
export const CALM_MS = 40 * 60_000;

/** In long worlds every period is so many times longer. */
const SLOWER = 60;

export interface Verdict {
  readonly seed: number;
  /** Each with the sentence that it contradicts. */
  readonly contradictions: readonly string[];
  readonly virtualMs: number;
  /** How often the power went, and how often each trouble came. */
  readonly cuts: number;
  readonly troubles: Readonly<Record<string, number>>;
  /** Entries that were called durable, and commands that people gave. */
  readonly durable: number;
  readonly commands: number;
}

export async function live(plan: Plan, show?: (line: string) => void): Promise<Verdict> {
  const world = await World.make(plan.seed, plan.isLong ? { slower: SLOWER } : {});
  if (show !== undefined) world.story.show = show;
  const people = new People(world);
  const befallen: Record<string, number> = {};
  for (const planned of plan.troubles) {
    const { name, atMs } = planned;
    const trouble = [...TROUBLES, ...RARE_TROUBLES, ...TROUBLES_APART].find((one) => one.name === name);
    if (trouble === undefined) throw new Error(`no trouble is called ${name}`);
    world.timeline.after(atMs, () => {
      befallen[name] = (befallen[name] ?? 0) + 1;
      trouble.befall({ world, chance: chanceOf(plan, planned), untilMs: plan.calmFromMs });
    });
  }
  for (const planned of plan.deeds)
    world.timeline.after(planned.atMs, () => people.do(planned.name, chanceOf(plan, planned)));
  // A sensor that is read by the hour needs some, to show that it is read.
  const calmMs = plan.calmFromMs + CALM_MS * (plan.isLong ? SLOWER / 10 : 1);
  const probes: readonly (readonly [string, JsonObject])[] = [
    ...(world.site.outputs.some(({ name }) => name === 'vent')
      ? [['setActuator', { name: 'vent', value: false }] as const]
      : []),
    ['setActuator', { name: 'motorDown', value: false }],
    ['setActuator', { name: 'motorUp', value: true }],
    ['setActuator', { name: 'motorUp', value: false }],
    ['pulse', { name: 'flap', durationMs: 1_000 }],
  ];
  for (const [n, [method, params]] of probes.entries())
    world.timeline.after(calmMs - (probes.length - n + 1) * 60_000, () => people.probe(method, params));
  if (world.site.remote !== undefined) world.timeline.after(plan.calmFromMs, () => world.afar.end());
  planCalm(people, calmMs);
  people.attached.planProbes(calmMs);
  lookAfterProvisioning(world);
  world.powerOn();
  try {
    await world.timeline.runUntil(calmMs);
    return {
      seed: plan.seed,
      contradictions: SENTENCES.flatMap(({ name, contradictions }) =>
        contradictions(world, people).map((one) => `${name}: ${one}`),
      ),
      virtualMs: calmMs,
      cuts: world.rig.cuts.length,
      troubles: befallen,
      durable: world.durable.length,
      commands: people.commands.length,
    };
  } finally {
    await world.close();
  }
}

/** Virtual seconds in a second of the processor: ten sensors read every 10 s, three hours long, nothing befalls. */
export async function measureSpeed(): Promise<number> {
  const world = await World.make(1, { sensors: 10 });
  world.powerOn();
  await world.timeline.runUntil(10 * 60_000);
  const before = process.cpuUsage();
  const seconds = 3 * 3_600;
  await world.timeline.runUntil(10 * 60_000 + seconds * 1_000);
  const { user, system } = process.cpuUsage(before);
  await world.close();
  return Math.round(seconds / ((user + system) / 1e6));
}

/** Loads what the agent loads only when it needs it: that takes the machine's time, which no world has. */
export async function warmUp(): Promise<void> {
  const world = await World.make(0);
  world.powerOn();
  await world.timeline.runUntil(60_000);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await world.timeline.runUntil(120_000);
  await world.close();
}
