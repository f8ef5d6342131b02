/**
 * The agent's part of a configuration from afar: it checks the file, asks root to install it on trial, judges the trial, and asks root to keep or
 * return it. One configuration at a time. Root checks each request again, and the boot guard returns the file even without the agent.
 *
 *   received ─► refused
 *      └──────► trying ─► kept | returned         waiting: a package that cannot be tried now
 */
import { join } from 'node:path';
import type { ReadConfig } from '../config/read-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import type { Sentence } from '../errors/sentence.ts';
import type { ConfigurationOrigin, HelperRequest, ReleasePaths } from '../firmware/guard-state.ts';
import type { UpdateFiles } from '../firmware/update-files.ts';
import type { Clock, EpochMs } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonOf } from '../values/json.ts';
import type { Candidate, WantedConfiguration } from './candidate.ts';
import { fileHash } from './file-hash.ts';
import { judgeTrial, type SeenOnTrial } from './trial-judge.ts';
import {
  CANDIDATE_NAME,
  type ConfigurationResult,
  type ConfigurationTrial,
  readConfigurationResult,
  readConfigurationTrial,
  trialPaths,
} from './trial-state.ts';

export const REMOTE_CONFIGURATION_FORMAT = { format: 'turnstone/remote-configuration', version: 1 } as const;

const STATES = ['waiting', 'received', 'refused', 'trying', 'kept', 'returned'] as const;
const ORIGINS = ['package', 'patch', 'page', 'local'] as const satisfies ConfigurationOrigin[];

/** A package of the platform, as a person has named it. */
export interface PackageName {
  readonly title: string;
  readonly version: string;
}

/** The package that a configuration comes in; the trial has its id, so that every process knows which one is on. */
export interface ConfigurationPackage extends PackageName {
  readonly id: string;
}

/** State of a package's configuration: under way with the id of its request, or ended. */
export type PackageStanding =
  | { readonly state: 'on'; readonly id: string }
  | { readonly state: 'kept' }
  | { readonly state: 'refused' | 'returned'; readonly reason: string };

/** Fate of the last configuration from afar. */
export interface ConfigurationState {
  readonly state: (typeof STATES)[number];
  /** SHA-256 of the file that it is about; empty where a patch made none. */
  readonly hash: string;
  readonly atMs: EpochMs;
  readonly origin: ConfigurationOrigin;
  readonly package?: PackageName | undefined;
  readonly reason?: string | undefined;
  readonly faults?: Candidate['faults'];
}

export interface RemoteConfigDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly files: UpdateFiles;
  readonly paths: ReleasePaths;
  readonly settings: () => AgentConfig['remoteConfiguration'];
  /** SHA-256 of the file that runs. */
  readonly runningHash: () => string | undefined;
  readonly readInPlace: () => Promise<Uint8Array>;
  readonly check: (bytes: Uint8Array) => Promise<ReadConfig>;
  /** Sections of the new configuration that only a restart takes up. */
  readonly restartFor: (config: AgentConfig) => readonly string[];
  /** Returns what a trial has to wait for, in words; a restart waits for more. */
  readonly busy: (needs: 'reload' | 'restart') => string | undefined;
  /** Sensors of the new configuration that had a reading within so many ms. */
  readonly readingWithin: (ms: number, config: AgentConfig) => readonly string[];
  readonly observe: (sinceMs: number) => Omit<SeenOnTrial, 'nowMs'>;
  /** Rejects where no helper of root would come for a request. */
  readonly expectHelper: () => Promise<void>;
  /** Leaves a request for the helper. */
  readonly leaveRequest: (request: HelperRequest) => Promise<void>;
  readonly file: StateFile;
  readonly newId: () => string;
  readonly onState: (state: ConfigurationState) => void;
}

/** A configuration by its file, its origin and its package. */
type Named = Pick<ConfigurationState, 'hash' | 'origin' | 'package'>;

interface Asked {
  readonly bytes: Uint8Array;
  readonly config: AgentConfig;
  readonly needs: 'reload' | 'restart';
  /** SHA-256 of the file in place. */
  readonly base: string;
  readonly from: ConfigurationPackage | undefined;
}

/** Request of this agent, with what its judge needs after a restart. */
interface Pending extends Named {
  readonly id: string;
  readonly sensors: readonly string[];
  /** Outputs that were in fault before the change. */
  readonly faulty: readonly string[];
}

export interface Taken extends Omit<Candidate, 'bytes' | 'config'> {
  readonly state: 'received' | 'refused' | 'checked';
  readonly needs?: 'reload' | 'restart';
  readonly reason?: string;
  /** True for a refusal with a passing reason: the same configuration may be sent again. */
  readonly isForNow?: true;
  /** True where root's helper is missing: only a person mends that. */
  readonly hasNoHelper?: true;
}

export interface TakeOptions {
  /** Checks the configuration, and changes nothing. */
  readonly check?: boolean;
  /** Package that it comes in. A refusal with a passing reason is then told as `waiting`, and a file that is in place already is no refusal. */
  readonly from?: ConfigurationPackage | undefined;
}

/** Outcome of the last package's request, for the process after a kill. */
interface PackageEnd extends Pick<ConfigurationState, 'reason'> {
  readonly id: string;
  readonly state: 'kept' | 'refused' | 'returned';
}

const LOOK_EVERY_MS = 1_000;
/** Deadline of root's helper, which answers within seconds; a helper of an earlier release never answers. */
const ANSWER_WITHIN_MS = 120_000;
/** Packages that are remembered: as many as root's history has files. */
const MAX_PACKAGES = 10;
/** Time after which a settle request without an outcome is repeated. */
const SETTLE_AGAIN_MS = 30_000;

export class RemoteConfig {
  readonly #deps: RemoteConfigDeps;
  #pending: Pending | undefined;
  #state: ConfigurationState | undefined;
  #lastPatch: string | undefined;
  #lastPackage: PackageEnd | undefined;
  /** Packages with the ids of their requests, which root's history has, too. */
  #packages: readonly ConfigurationPackage[] = [];
  #waitsFor: readonly Sentence[] = [];
  #askedAtMs: number;
  #settledAtMs = Number.NEGATIVE_INFINITY;
  #takes = Promise.resolve();
  #wake = (): void => {};

  readonly #loaded: Promise<void>;

  constructor(deps: RemoteConfigDeps) {
    this.#deps = deps;
    this.#askedAtMs = deps.clock.monotonicMs();
    // The start does not wait for a disk that hangs.
    this.#loaded = deps.file.read().then(
      (kept) => this.#load(kept),
      () => {},
    );
  }

  #load(kept: JsonObject | undefined): void {
    this.#pending = pendingOf(kept?.pending);
    this.#state = stateOf(kept?.state);
    this.#lastPackage = packageEndOf(kept?.lastPackage);
    this.#packages = Array.isArray(kept?.packages) ? kept.packages.flatMap((one) => packageOf(one) ?? []) : [];
    this.#lastPatch = typeof kept?.lastPatch === 'string' ? kept.lastPatch : undefined;
  }

  get state(): ConfigurationState | undefined {
    return this.#state;
  }

  /** Observations that the trial that is on still waits for. */
  get waitsFor(): readonly Sentence[] {
    return this.#waitsFor;
  }

  /** True from the request to its end. */
  get isOn(): boolean {
    return this.#pending !== undefined;
  }

  /** Tells of the trial that is on; undefined without one. */
  trial(): Promise<ConfigurationTrial | undefined> {
    const { files, paths } = this.#deps;
    return readConfigurationTrial(files, trialPaths(paths.guard));
  }

  /**
   * Checks a configuration and asks root to try it, unless `check` is set. Calls run one after the other. A wrong configuration is an answer, no
   * rejection.
   */
  take(wanted: WantedConfiguration, origin: ConfigurationOrigin, options: TakeOptions = {}): Promise<Taken> {
    const taken = this.#takes.then(async () => {
      await this.#loaded;
      return await this.#take(wanted, origin, options);
    });
    this.#takes = taken.then(
      () => {},
      () => {},
    );
    return taken;
  }

  /** Returns the package of the request with this id; undefined where it came without a package. */
  packageOf(id: string): PackageName | undefined {
    const found = this.#packages.find((one) => one.id === id);
    return found && { title: found.title, version: found.version };
  }

  /**
   * Returns the state of a file that was asked for under this id, by this process or an earlier one, or that another request has on trial.
   * Undefined where nobody has asked for it.
   */
  async standing(id: string, hash: string): Promise<PackageStanding | undefined> {
    const { files, paths } = this.#deps;
    await this.#loaded;
    const ended = this.#lastPackage;
    if (ended?.id === id) return standingOf(ended);
    const pending = this.#pending;
    if (pending !== undefined && (pending.id === id || pending.hash === hash)) return { state: 'on', id: pending.id };
    const trial = await this.trial();
    if (trial !== undefined && (trial.id === id || trial.hash === hash)) return { state: 'on', id: trial.id };
    const result = await readConfigurationResult(files, trialPaths(paths.guard));
    return result?.id === id && result.outcome !== 'trying' ? standingOf(endOf(result, hash)) : undefined;
  }

  /** Tells that a package waits no longer, and why it is not tried. */
  giveUp(hash: string, reason: string): void {
    const waiting = this.#state;
    if (waiting?.state !== 'waiting' || waiting.hash !== hash) return;
    this.#tell({ state: 'refused', hash, origin: waiting.origin, package: waiting.package, reason });
  }

  /** True for a patch that was taken or refused before, whatever else was since: it is not tried again by the process that comes next. */
  knows(patchHash: string): boolean {
    return this.#lastPatch === patchHash;
  }

  remember(patchHash: string): void {
    this.#lastPatch = patchHash;
    this.#save();
  }

  /** Follows a trial until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    await this.#loaded;
    while (!signal.aborted) {
      const isQuiet = await this.#look().catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'the trial of a configuration could not be looked at');
        return false;
      });
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      if (signal.aborted) return;
      await clock.sleep(isQuiet ? 2 ** 31 - 1 : LOOK_EVERY_MS, AbortSignal.any([signal, woken.signal]));
    }
  }

  close(): Promise<void> {
    return this.#deps.file.close();
  }

  async #take(
    wanted: WantedConfiguration,
    origin: ConfigurationOrigin,
    { check: isCheck = false, from }: TakeOptions,
  ): Promise<Taken> {
    const { settings, readInPlace, check, restartFor, runningHash } = this.#deps;
    // Nothing of the file is told where nobody may change it from afar.
    if (!settings().enabled) {
      const reason = 'remoteConfiguration.enabled is not true in the file in place';
      return { state: 'refused', base: runningHash() ?? '', difference: [], locked: [], faults: [], reason };
    }
    // Loaded with the first one: most gateways never get any.
    const { lookAtCandidate } = await import('./candidate.ts');
    const { bytes, config, ...candidate } = await lookAtCandidate(await readInPlace(), wanted, check);
    const needs = config === undefined ? undefined : restartFor(config).length > 0 ? 'restart' : 'reload';
    const wrong = wrongWith(candidate);
    const notNow = wrong !== undefined || isCheck ? undefined : await this.#whyNotNow(needs);
    const reason = wrong ?? notNow?.reason;
    const named = { hash: candidate.hash ?? '', origin, package: from && { title: from.title, version: from.version } };
    if (reason !== undefined || bytes === undefined || config === undefined || needs === undefined) {
      const words = reason ?? 'it is no configuration';
      // Until its end the state is that of the configuration on trial.
      const mayTell = !isCheck && this.#pending === undefined;
      if (mayTell && from !== undefined && notNow !== undefined && !notNow.hasNoHelper) this.#tellWaiting(named, words);
      else if (mayTell && (from === undefined || !isInPlace(candidate)))
        this.#tell({ ...named, state: 'refused', reason: words, faults: candidate.faults });
      return {
        ...candidate,
        state: 'refused',
        reason: words,
        needs,
        ...(wrong === undefined && { isForNow: true as const }),
        ...(notNow?.hasNoHelper === true && { hasNoHelper: true as const }),
      };
    }
    if (isCheck) return { ...candidate, state: 'checked', needs };
    try {
      await this.#ask(named, { bytes, config, needs, base: candidate.base, from });
    } catch (error) {
      // A full disk takes no request: nothing was asked for, and the next one may be.
      this.#pending = undefined;
      const words = `root could not be asked: ${messageOf(error)}`;
      this.#tell({ ...named, state: 'refused', reason: words });
      return { ...candidate, state: 'refused', reason: words, needs };
    }
    return { ...candidate, state: 'received', needs };
  }

  async #whyNotNow(
    needs: 'reload' | 'restart' | undefined,
  ): Promise<{ readonly reason: string; readonly hasNoHelper: boolean } | undefined> {
    const { busy, expectHelper } = this.#deps;
    if (this.#pending !== undefined || (await this.trial()) !== undefined)
      return {
        reason: 'another configuration is on trial: this one can be tried after it',
        hasNoHelper: false,
      };
    try {
      await expectHelper();
    } catch (error) {
      return { reason: messageOf(error), hasNoHelper: true };
    }
    const reason = needs === undefined ? undefined : busy(needs);
    return reason === undefined ? undefined : { reason, hasNoHelper: false };
  }

  async #ask(named: Named, { bytes, config, needs, base, from }: Asked): Promise<void> {
    const { file, files, paths, clock, newId, readingWithin, settings, leaveRequest, observe } = this.#deps;
    const { trialMs } = settings();
    const { hash, origin } = named;
    const id = from?.id ?? newId();
    const faulty = observe(clock.monotonicMs()).faulty.map(({ name }) => name);
    if (from !== undefined) this.#packages = [from, ...this.#packages].slice(0, MAX_PACKAGES);
    this.#pending = { ...named, id, sensors: readingWithin(trialMs, config), faulty };
    this.#tell({ ...named, state: 'received' });
    await files.write(join(paths.firmware, CANDIDATE_NAME), bytes, 0o640);
    // Durable before the request: the process after a kill knows what it was for.
    await file.flush();
    const trialS = Math.round(trialMs / 1_000);
    await leaveRequest({ request: 'configure', id, hash, before: base, trialS, needs, origin });
    this.#askedAtMs = clock.monotonicMs();
    this.#waitsFor = [];
    this.#wake();
  }

  /** Returns true while there is nothing to follow. */
  async #look(): Promise<boolean> {
    const { files, paths, clock } = this.#deps;
    const result = await readConfigurationResult(files, trialPaths(paths.guard));
    const trial = await this.trial();
    const pending = this.#pending;
    if (pending !== undefined && result?.id === pending.id && result.outcome !== 'trying') {
      this.#end(pending, endOf(result, pending.hash), result.outcome, result.reason, result.hash);
      return trial === undefined;
    }
    if (trial !== undefined) {
      await this.#judge(trial, pending);
      return false;
    }
    if (pending === undefined) {
      const { state: told, hash = '', origin = 'package', package: name } = this.#state ?? {};
      // The boot guard returned the previous file at a later start, after this one was kept.
      if (told === 'kept' && result?.outcome === 'returned' && result.hash === hash)
        this.#tell({ state: 'returned', hash, origin, package: name, reason: result.reason });
      return true;
    }
    if (clock.monotonicMs() - this.#askedAtMs > ANSWER_WITHIN_MS) {
      const reason =
        'the root helper does not answer; is turnstone-helper.path active, and is the helper of this release installed?';
      this.#end(pending, { id: pending.id, state: 'refused', reason }, 'refused', reason);
    }
    return false;
  }

  async #judge(trial: ConfigurationTrial, pending: Pending | undefined): Promise<void> {
    const { runningHash, clock, observe } = this.#deps;
    const { id, hash, origin, trialS, bootId } = trial;
    // The agent still runs the previous file: it is about to be reloaded or restarted.
    if (runningHash() === trial.before || bootId !== clock.bootId) return;
    // Root keeps what somebody has put in place on site, whatever is said here; the file on trial is not the one that runs, and proves nothing.
    if (runningHash() !== hash) return this.#settle(id, 'returned', 'the agent runs another file');
    if (this.#state?.state !== 'trying' || this.#state.hash !== hash)
      this.#tell({ state: 'trying', hash, origin, package: this.packageOf(id) });
    const terms = { beganAtMs: trial.beganAtMs, trialMs: trialS * 1_000, sensors: pending?.sensors ?? [] };
    const { faulty, ...seen } = observe(trial.beganAtMs);
    const newlyFaulty = faulty.filter(({ name }) => pending?.faulty.includes(name) !== true);
    const judged = judgeTrial(terms, { nowMs: clock.monotonicMs(), ...seen, faulty: newlyFaulty });
    this.#waitsFor = judged.verdict === 'open' ? judged.missing : [];
    if (judged.verdict === 'open') return;
    const refused = await this.#refusedOnSite(trial);
    if (refused !== undefined) return this.#settle(id, 'returned', refused.reason, refused.hash);
    await this.#settle(id, judged.verdict, judged.verdict === 'kept' ? '' : judged.reason);
  }

  /** Returns the file that somebody has put in place on site, where it has faults: it would not be taken up. */
  async #refusedOnSite({ hash, before }: ConfigurationTrial): Promise<{ hash: string; reason: string } | undefined> {
    const bytes = await this.#deps.readInPlace().catch(() => undefined);
    const inPlace = bytes === undefined ? hash : fileHash(bytes);
    if (bytes === undefined || inPlace === hash || inPlace === before) return undefined;
    const { config, faults } = await this.#deps.check(bytes);
    if (config !== undefined) return undefined;
    return { hash: inPlace, reason: `the file was changed on site during the trial, and has ${faults.length} faults` };
  }

  async #settle(id: string, outcome: 'kept' | 'returned', reason: string, refused?: string): Promise<void> {
    const { clock, log, leaveRequest } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#settledAtMs < SETTLE_AGAIN_MS) return;
    this.#settledAtMs = nowMs;
    log.info({ outcome, reason }, 'the trial of a configuration ends');
    await leaveRequest({ request: 'settle', id, outcome, reason, ...(refused !== undefined && { refused }) });
  }

  /** @param hash of the file that is in place by now, where root knows it. */
  #end(pending: Pending, end: PackageEnd, state: PackageEnd['state'], reason: string, hash = ''): void {
    this.#pending = undefined;
    if (pending.origin === 'package') this.#lastPackage = end;
    this.#tell({ state, hash: hash || pending.hash, origin: pending.origin, package: pending.package, reason });
  }

  /** Tells once of each reason. */
  #tellWaiting(named: Named, reason: string): void {
    const { state, hash, reason: told } = this.#state ?? {};
    if (state !== 'waiting' || hash !== named.hash || told !== reason)
      this.#tell({ ...named, state: 'waiting', reason });
  }

  #save(): void {
    this.#deps.file.save({
      pending: this.#pending === undefined ? null : jsonOf(this.#pending),
      state: this.#state === undefined ? null : jsonOf(this.#state),
      lastPatch: this.#lastPatch ?? null,
      lastPackage: this.#lastPackage === undefined ? null : jsonOf(this.#lastPackage),
      packages: jsonOf(this.#packages),
    });
  }

  #tell(told: Omit<ConfigurationState, 'atMs'>): void {
    const { reason, faults, ...others } = told;
    const state = {
      ...others,
      atMs: Math.round(this.#deps.clock.wallMs()),
      ...(reason !== undefined && reason !== '' && { reason }),
      ...(faults !== undefined && faults.length > 0 && { faults }),
    };
    this.#state = state;
    this.#save();
    this.#deps.onState(state);
  }
}

/** True for a file that is in place already, and good. */
export function isInPlace({ hash, base, faults, locked }: Omit<Candidate, 'bytes' | 'config'>): boolean {
  return hash === base && faults.length === 0 && locked.length === 0;
}

/** Returns the outcome for the file of this hash: `returned` where a file that was changed on site is kept in its place. */
function endOf({ id, outcome, hash: kept, reason }: ConfigurationResult, hash: string): PackageEnd {
  const state = outcome === 'refused' || (outcome === 'kept' && kept === hash) ? outcome : 'returned';
  return { id, state, reason };
}

function standingOf({ state, reason = '' }: PackageEnd): PackageStanding {
  return state === 'kept' ? { state } : { state, reason };
}

/** Returns why it may never be taken, in words. */
function wrongWith({ faults, locked, hash, base }: Omit<Candidate, 'bytes' | 'config'>): string | undefined {
  const [fault] = faults;
  if (fault !== undefined)
    return `${fault.path === '' ? '' : `${fault.path}: `}${fault.problem}, expected ${fault.expected}`;
  const [change] = locked;
  if (change !== undefined) return `locked: ${change.path}: ${change.words}`;
  return hash === base ? 'this file is in place already' : undefined;
}

function pendingOf(kept: JsonValue | undefined): Pending | undefined {
  if (!isJsonObject(kept)) return undefined;
  const { id, hash, origin, package: name, sensors, faulty } = kept;
  if (typeof id !== 'string' || typeof hash !== 'string') return undefined;
  return {
    id,
    hash,
    origin: originOf(origin),
    package: nameOf(name),
    sensors: namesIn(sensors),
    faulty: namesIn(faulty),
  };
}

function nameOf(kept: JsonValue | undefined): PackageName | undefined {
  if (!isJsonObject(kept)) return undefined;
  const { title, version } = kept;
  return typeof title === 'string' && typeof version === 'string' ? { title, version } : undefined;
}

function packageOf(kept: JsonValue): ConfigurationPackage | undefined {
  const name = nameOf(kept);
  const id = isJsonObject(kept) ? kept.id : undefined;
  return name === undefined || typeof id !== 'string' ? undefined : { id, title: name.title, version: name.version };
}

function packageEndOf(kept: JsonValue | undefined): PackageEnd | undefined {
  if (!isJsonObject(kept)) return undefined;
  const { id, state: word, reason } = kept;
  const state = (['kept', 'refused', 'returned'] as const).find((one) => one === word);
  return typeof id !== 'string' || state === undefined
    ? undefined
    : { id, state, reason: typeof reason === 'string' ? reason : undefined };
}

function namesIn(list: JsonValue | undefined): readonly string[] {
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
}

/** Returns the state that was kept, without its faults, which were told. */
function stateOf(kept: JsonValue | undefined): ConfigurationState | undefined {
  if (!isJsonObject(kept)) return undefined;
  const { state: word, hash, atMs, origin, package: name, reason } = kept;
  const state = STATES.find((one) => one === word);
  if (state === undefined || typeof hash !== 'string' || typeof atMs !== 'number') return undefined;
  return {
    state,
    hash,
    atMs,
    origin: originOf(origin),
    package: nameOf(name),
    ...(typeof reason === 'string' && { reason }),
  };
}

function originOf(word: JsonValue | undefined): ConfigurationOrigin {
  return ORIGINS.find((one) => one === word) ?? 'local';
}
