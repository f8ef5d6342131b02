/**
 * Plan of a seed: how long its world lasts, what befalls it and when, and who asks for what. A plan can be shortened: each part of it draws
 * from a source of its own, so that leaving one out changes none of the others.
 */
import { attachedDeedTimes } from './attached-devices.ts';
import { Chance } from './chance.ts';
import { ATTACHED_COMMAND, DEEDS, RARE_DEEDS } from './people.ts';
import { remoteOf } from './remote-section.ts';
import { provisionsOf } from './site.ts';
import { CONFIGURATION_FROM_AFAR } from './troubles/afar.ts';
import { RARE_TROUBLES, TROUBLES } from './troubles.ts';
import { BOOT_TAKES_MS } from './world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Worlds last three hours at the mean. */
const MEAN_HOURS = 3;
const MIN_HOURS = 0.5;
const MAX_HOURS = 24;
const DAY_HOURS = 24;
/** Where everything may happen, the same thing seldom comes twice in a moment: most worlds have only a share of the kinds of troubles. */
const SHARES_OF_KINDS = [1, 0.5, 0.25, 0.1] as const;

/** Share of worlds in which a trouble comes that is drawn by itself, and its largest number. */
const RARE_SHARE = 0.15;
const RARE_MAX = 3;

/** A first boot is short, so what may go wrong in it is drawn for it. */
const FIRST_BOOT_MS = 2 * MINUTE_MS;
const FIRST_BOOT_MAX = 4;
const FIRST_BOOT_TROUBLES: readonly string[] = [
  'device made unheard',
  'device made unheard',
  'power cut in a change',
  'kill in a change',
  'bad line',
  'no network',
  'portal',
  'server errors',
  'platform restart',
  'read-only disk',
  'hanging sync',
  'no clock battery',
];

const FROM_AFAR_AN_HOUR = [2, 12] as const;
/** The last one has some time for its trial. */
const FROM_AFAR_LEFT_MS = 5 * MINUTE_MS;

export interface Planned {
  /** Names where its chance comes from; it stays when others are left out. */
  readonly source: string;
  readonly name: string;
  /** In the world's time. */
  readonly atMs: number;
}

export interface Plan {
  readonly seed: number;
  /** Weeks or a year, with sensors that are read by the hour and little that happens. */
  readonly isLong: boolean;
  /** From then on nothing befalls the world any more. */
  readonly calmFromMs: number;
  readonly troubles: readonly Planned[];
  readonly deeds: readonly Planned[];
}

export interface PlanOptions {
  /** Default: as the seed says, three at the mean. */
  readonly hours?: number;
  /** How many an hour befall it; default: as the seed says, 1 to 20. */
  readonly perHour?: number;
  /** Default: as the seed says, 20 to 200. */
  readonly deedsPerHour?: number;
  readonly long?: boolean;
  /** None of these names. */
  readonly without?: readonly string[];
  /** Only troubles of these names. */
  readonly only?: readonly string[];
}

export function planOf(seed: number, options: PlanOptions = {}): Plan {
  const chance = new Chance(`plan ${seed}`);
  const isLong = options.long === true;
  const drawnHours = isLong
    ? chance.magnitude(14 * DAY_HOURS, 400 * DAY_HOURS)
    : Math.min(MAX_HOURS, MIN_HOURS - (MEAN_HOURS - MIN_HOURS) * Math.log(1 - chance.random()));
  const drawnPerHour = isLong ? chance.magnitude(0.02, 0.5) : chance.magnitude(1, 20);
  const calmFromMs = (options.hours ?? drawnHours) * HOUR_MS;
  const share = chance.pick(SHARES_OF_KINDS);
  const drawnKinds = TROUBLES.filter(() => chance.happens(share)).filter(
    ({ name }) => options.without?.includes(name) !== true,
  );
  const drawnDeedsPerHour = isLong ? chance.magnitude(0.1, 2) : chance.magnitude(20, 200);
  const kinds = options.only === undefined ? drawnKinds : TROUBLES.filter(({ name }) => options.only?.includes(name));
  const planned = (
    part: string,
    perHour: number,
    pool: readonly { readonly name: string; readonly weight: number }[],
  ): Planned[] => {
    const names = pool.flatMap(({ name, weight }) => Array<string>(weight).fill(name));
    const count = names.length === 0 ? 0 : Math.round((perHour * calmFromMs) / HOUR_MS);
    return Array.from({ length: count }, (_, number) => ({
      source: `${part} ${number}`,
      name: chance.pick(names),
      atMs: chance.between(0, calmFromMs - MINUTE_MS),
    }));
  };
  const troubles = planned('trouble', options.perHour ?? drawnPerHour, kinds);
  const deeds = planned('deed', options.deedsPerHour ?? drawnDeedsPerHour, DEEDS);
  const rare = (
    pool: readonly { readonly name: string; readonly weight: number }[],
    only?: readonly string[],
  ): Planned[] =>
    isLong
      ? []
      : pool
          .filter(
            ({ name, weight }) =>
              (weight > 0 || only !== undefined) &&
              options.without?.includes(name) !== true &&
              only?.includes(name) !== false,
          )
          .flatMap(({ name }) => drawnAlone({ seed, calmFromMs }, name, only !== undefined));
  return {
    seed,
    isLong,
    calmFromMs,
    troubles: [
      ...troubles,
      ...rare(RARE_TROUBLES, options.only),
      ...(isLong ? [] : firstBoot(seed, options)),
      ...(isLong ? [] : fromAfar(seed, calmFromMs, options)),
    ],
    deeds: [...deeds, ...rare(RARE_DEEDS), ...(isLong ? [] : attachedDeeds(seed, calmFromMs - MINUTE_MS))],
  };
}

function attachedDeeds(seed: number, untilMs: number): Planned[] {
  return attachedDeedTimes(seed, untilMs).map((atMs, number) => ({
    source: `attached ${number}`,
    name: ATTACHED_COMMAND,
    atMs,
  }));
}

/** In worlds whose configuration may be changed from afar, and in no other. */
function fromAfar(seed: number, calmFromMs: number, { only, without }: PlanOptions): Planned[] {
  if (remoteOf(seed) === undefined) return [];
  if (only?.includes(CONFIGURATION_FROM_AFAR) === false || without?.includes(CONFIGURATION_FROM_AFAR) === true)
    return [];
  const chance = new Chance(`plan ${seed} ${CONFIGURATION_FROM_AFAR}`);
  const count = Math.max(1, Math.round((chance.magnitude(...FROM_AFAR_AN_HOUR) * calmFromMs) / HOUR_MS));
  return Array.from({ length: count }, (_, number) => ({
    source: `${CONFIGURATION_FROM_AFAR} ${number}`,
    name: CONFIGURATION_FROM_AFAR,
    atMs: chance.between(BOOT_TAKES_MS, Math.max(BOOT_TAKES_MS, calmFromMs - FROM_AFAR_LEFT_MS)),
  }));
}

function firstBoot(seed: number, { only, without }: PlanOptions): Planned[] {
  if (provisionsOf(seed) === 'not') return [];
  const chance = new Chance(`plan ${seed} first boot`);
  return Array.from({ length: chance.between(0, FIRST_BOOT_MAX) }, (_, number) => ({
    source: `first boot ${number}`,
    name: chance.pick(FIRST_BOOT_TROUBLES),
    // Half of them are there before it begins.
    atMs: chance.happens(0.5)
      ? chance.between(0, BOOT_TAKES_MS)
      : Math.round(BOOT_TAKES_MS + chance.magnitude(1, FIRST_BOOT_MS)),
  })).filter(({ name }) => only?.includes(name) !== false && without?.includes(name) !== true);
}

/** In a share of all worlds, or surely, once or a few times; what it draws changes nothing for anything else. */
function drawnAlone({ seed, calmFromMs }: Pick<Plan, 'seed' | 'calmFromMs'>, name: string, isSure: boolean): Planned[] {
  const chance = new Chance(`plan ${seed} ${name}`);
  const isThere = chance.happens(RARE_SHARE);
  const count = isThere || isSure ? chance.between(1, RARE_MAX) : 0;
  return Array.from({ length: count }, (_, number) => ({
    source: `${name} ${number}`,
    name,
    atMs: chance.between(0, calmFromMs - MINUTE_MS),
  }));
}

/** The source of one part of a plan. */
export function chanceOf({ seed }: Plan, { source }: Planned): Chance {
  return new Chance(`${seed} ${source}`);
}
