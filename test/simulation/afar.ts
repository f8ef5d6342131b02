/**
 * Somebody far away who changes the configuration of a world, rightly or not, and what an onlooker sees of it: the file in place at each step of
 * the disk, the end of each trial, and when the agent took a file up.
 */
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import { fileHash } from '../../src/remote-config/file-hash.ts';
import { applyPatch } from '../../src/remote-config/patch.ts';
import { trialPaths } from '../../src/remote-config/trial-state.ts';
import { parseKeyValueLines } from '../../src/store/key-value-lines.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonOf, stringifyJson } from '../../src/values/json.ts';
import type { Chance } from './chance.ts';
import { CONFIG_FILE } from './configuration.ts';
import { NOBODY } from './network.ts';
import { RELEASE_PATHS } from './root-side.ts';
import type { World } from './world.ts';

const PATCH_KEY = 'configurationPatch';
const TRIAL_PATHS = trialPaths(RELEASE_PATHS.guard);
const TIMEOUT_MS = 20_000;
const SLIPS = 3;
const TYPED = ' :-{}[]#"abc019.\n\t';

/** A trial as it lies on the disk. */
interface SeenTrial {
  readonly id: string;
  readonly hash: string;
  readonly before: string;
  /** Files that somebody on site had written when it was first seen. */
  readonly writtenOnSite: number;
}

/** A change that somebody sent. */
export interface Sent {
  readonly atMs: number;
  readonly name: string;
  /** Of the file that it makes; undefined where it makes none. */
  readonly hash: string | undefined;
  /** True for one that may never come into place. */
  readonly isBad: boolean;
}

interface Change {
  readonly set?: Readonly<Record<string, JsonValue>>;
  readonly remove?: readonly string[];
  readonly add?: Readonly<Record<string, readonly JsonValue[]>>;
}

type Drawn = readonly [name: string, change: (config: AgentConfig, chance: Chance) => Change];

/** The rooms of all worlds. */
const ROOM = 'sensors.room0';
const GOOD: readonly Drawn[] = [
  ['label', (_config, chance) => ({ set: { label: `House ${chance.between(1, 99)}` } })],
  ['period', (_config, chance) => ({ set: { [`${ROOM}.period`]: `${chance.between(3, 40)}s` } })],
  [
    'alarm limit',
    (_config, chance) => ({ set: { 'sensors.door.keys.state.maxInterval': `${chance.between(6, 9)}m` } }),
  ],
  [
    'new rule',
    (_config, chance) => ({
      add: {
        rules: [
          {
            name: `afar${chance.between(1, 99)}`,
            when: { sensor: 'room0', key: 'temperature0', above: chance.between(60, 90) },
            set: { actuator: 'bell', value: 'on' },
          },
        ],
      },
    }),
  ],
  ['tighter limit', (_config, chance) => ({ set: { 'actuators.heater.limits.maxOn': `${chance.between(30, 44)}s` } })],
  ['sensor removed', ({ sensors }, chance) => ({ remove: [`sensors.${chance.pick(sensors).name}`] })],
  ['output without telemetry', () => ({ set: { 'actuators.motorDown.telemetry': false } })],
];
const UNLIKELY: readonly Drawn[] = [
  ['dead sensor', (_config, chance) => ({ set: { [`${ROOM}.bus`]: chance.between(17, 30) } })],
  ['wrong address', () => ({ set: { 'platform.url': `http://${NOBODY}` } })],
];
const BAD: readonly Drawn[] = [
  ['wider limit', () => ({ set: { 'actuators.heater.limits.maxOn': '90s' } })],
  ['no limit', () => ({ remove: ['actuators.heater.limits'] })],
  ['other safe state', () => ({ set: { 'actuators.heater.safe.stop': 'on' } })],
  ['own leave', () => ({ set: { 'remoteConfiguration.allow': ['platform', 'programs', 'outputs'] } })],
  ['unknown member', () => ({ set: { [`${ROOM}.perid`]: '10s' } })],
  ['lost interlock', () => ({ remove: ['actuators.motorUp.interlocks'] })],
];

export class Afar {
  readonly sent: Sent[] = [];
  /** What was wrong with the file in place, with a file after its trial, and with what guards the plant; in words. */
  readonly fileFaults: string[] = [];
  readonly endFaults: string[] = [];
  readonly looseFaults: string[] = [];
  /** Root's verdicts, by the file that was on trial. */
  readonly outcomes: { readonly hash: string; readonly outcome: string | undefined }[] = [];
  /** When the agent was to take a file up, in the world's time. */
  readonly renewals: { readonly atMs: number; readonly how: 'reload' | 'restart' }[] = [];
  readonly #world: World;
  readonly #made = new Set<string>();
  #trial: SeenTrial | undefined;
  #seenHash = '';

  constructor(world: World) {
    this.#world = world;
  }

  /** Sends a change that is drawn; returns how long its trial may last. */
  send(chance: Chance): number {
    const world = this.#world;
    const { configuration, site } = world;
    const kind = chance.pick(['good', 'good', 'good', 'unlikely', 'bad', 'typing error', 'wrong base'] as const);
    const inPlace = configuration.bytes;
    const pool = kind === 'unlikely' ? UNLIKELY : kind === 'bad' ? BAD : GOOD;
    const [name, change] = chance.pick(pool);
    const base = kind === 'wrong base' ? 'f'.repeat(64) : fileHash(inPlace);
    const patch = { base, ...change(configuration.file.config, chance) };
    const made = kind === 'wrong base' ? undefined : applyPatch(inPlace, patch);
    const bytes = made?.faults === undefined ? made?.bytes : undefined;
    const isFile = kind === 'typing error' || (bytes !== undefined && chance.happens(0.4));
    const file = kind === 'typing error' ? mistyped(inPlace.toString('utf8'), chance) : (bytes ?? '').toString();
    const hash = isFile ? fileHash(Buffer.from(file)) : bytes && fileHash(bytes);
    const isBad = kind === 'bad' || kind === 'wrong base';
    this.sent.push({ atMs: world.timeline.nowMs, name, hash, isBad });
    if (hash !== undefined && !isBad) this.#made.add(hash);
    // Only a file that is kept ends it.
    if (!world.dueAlerts.includes('from afar')) world.dueAlerts.push('from afar');
    const isByAttribute = !isFile && chance.happens(0.5);
    world.story.tell(
      `somebody far away sends ${kind === 'good' || kind === 'unlikely' || kind === 'bad' ? name : kind}, ${isFile ? 'as a file' : stringifyJson(jsonOf(patch))}${isByAttribute ? ', by attribute' : ''}`,
    );
    if (isByAttribute)
      world.platform.state.setAttributes(world.deviceId, 'SHARED_SCOPE', { [PATCH_KEY]: jsonOf(patch) });
    else this.#call(isFile ? { file, base } : { patch: jsonOf(patch) });
    return ((site.remote?.section.trialS ?? 0) + 30) * 1_000;
  }

  /** Ends what was begun: somebody on site puts the installed file back, and restarts the agent where it ran with another. */
  end(): void {
    const { platform, deviceId, configuration, story } = this.#world;
    platform.state.removeAttributes(deviceId, 'SHARED_SCOPE', [PATCH_KEY]);
    if (!configuration.restore()) return;
    story.tell('somebody on site puts the installed file back');
    this.#world.stopAgent();
  }

  /** Told at each step of root's, and at each that the power takes. */
  look(): void {
    const { disk, configuration, timeline } = this.#world;
    configuration.look();
    const at = `at ${(timeline.nowMs / 1_000).toFixed(3)} s`;
    if (!disk.isThereNow(CONFIG_FILE)) {
      this.fileFaults.push(`${at} there is no file in place`);
      return;
    }
    const hash = fileHash(configuration.bytes);
    if (hash !== this.#seenHash) {
      if (!this.#made.has(hash) && !configuration.siteHashes.includes(hash))
        this.fileFaults.push(`${at} the file in place is nobody's`);
      for (const loose of looserThan(this.#world.site.config, configuration.file.config))
        this.looseFaults.push(`${at} ${loose}`);
      this.#seenHash = hash;
    }
    this.#lookAtTrial(at, hash);
  }

  renewed(how: 'reload' | 'restart'): void {
    this.renewals.push({ atMs: this.#world.timeline.nowMs, how });
  }

  /** The state that the platform holds. */
  get told(): JsonObject | undefined {
    const { platform, deviceId } = this.#world;
    const [found] = platform.state.attributes.read(deviceId, 'CLIENT_SCOPE', ['configurationState']);
    return isJsonObject(found?.value) ? found.value : undefined;
  }

  /** Verdict of root's on the last trial. */
  get result(): Readonly<Record<string, string | undefined>> {
    return this.#linesOf(TRIAL_PATHS.result) ?? {};
  }

  get isOnTrial(): boolean {
    return this.#linesOf(TRIAL_PATHS.state) !== undefined;
  }

  #lookAtTrial(at: string, hash: string): void {
    const { id, hash: onTrial, before } = this.#linesOf(TRIAL_PATHS.state) ?? {};
    const { siteHashes } = this.#world.configuration;
    const last = this.#trial;
    const writtenOnSite = last?.id === id && last !== undefined ? last.writtenOnSite : siteHashes.length;
    this.#trial =
      id === undefined || onTrial === undefined || before === undefined
        ? undefined
        : { id, hash: onTrial, before, writtenOnSite };
    if (last === undefined || this.#trial !== undefined) return;
    const { outcome } = this.result;
    this.outcomes.push({ hash: last.hash, outcome });
    const isOnSite = siteHashes.slice(last.writtenOnSite).includes(hash);
    const due = outcome === 'kept' ? last.hash : last.before;
    if (hash !== due && !isOnSite)
      this.endFaults.push(`${at} a trial ends, ${outcome ?? 'without a verdict'}, and another file is in place`);
  }

  #linesOf(path: string): Readonly<Record<string, string | undefined>> | undefined {
    const { disk } = this.#world;
    return disk.isThereNow(path) ? parseKeyValueLines(disk.contentOf(path)) : undefined;
  }

  #call(params: JsonObject): void {
    const { platform, deviceId, story } = this.#world;
    const call = { method: 'configure', params, oneway: false, timeoutMs: TIMEOUT_MS };
    void platform.rpc.call(deviceId, call).then((answer) => {
      const result = isJsonObject(answer) && isJsonObject(answer.result) ? answer.result : answer;
      const { state, reason } = isJsonObject(result)
        ? result
        : { state: answer === undefined ? 'nothing in time' : 'a fault' };
      story.tell(`the agent answers: ${String(state)} ${typeof reason === 'string' ? reason : ''}`);
    });
  }
}

/** Returns in words what of a plant's guards is missing or wider than on site. */
export function looserThan(site: AgentConfig, now: AgentConfig): readonly string[] {
  return site.actuators.flatMap((one) => {
    const other = now.actuators.find(({ name }) => name === one.name);
    if (other === undefined) return [];
    const limits = Object.entries(one.limits).flatMap(([limit, due]) => {
      const found = (other.limits as Readonly<Record<string, unknown>>)[limit];
      if (typeof due !== 'number') return [];
      const isMost = /^max/.test(limit);
      const isWider = typeof found !== 'number' || (isMost ? found > due : found < due);
      return isWider ? [`${one.name} has ${limit} ${String(found)}, and ${due} on site`] : [];
    });
    const lost = one.interlocks.filter(
      (due) => !other.interlocks.some((found) => found.with === due.with && (found.gapMs ?? 0) >= (due.gapMs ?? 0)),
    );
    const isSafe = stringifyJson(jsonOf(one.safe)) === stringifyJson(jsonOf(other.safe));
    return [
      ...limits,
      ...lost.map((due) => `${one.name} has lost its interlock with ${due.with}`),
      ...(isSafe ? [] : [`${one.name} has another safe state`]),
    ];
  });
}

/** A few slips of a hand. */
function mistyped(text: string, chance: Chance): string {
  let typed = text;
  for (let slips = chance.between(1, SLIPS); slips > 0; slips -= 1) {
    const at = chance.between(0, typed.length - 1);
    const rest = typed.slice(at + 1);
    typed = chance.pick([
      `${typed.slice(0, at)}${rest}`,
      `${typed.slice(0, at + 1)}${typed[at]}${rest}`,
      `${typed.slice(0, at)}${chance.pick([...TYPED])}${rest}`,
    ]);
  }
  return typed;
}
