/**
 * The configuration's file: read at the start, again when somebody asks for it, and, where it names files that are not there, every now and
 * then until they are. What needs such a file waits for it alone: without its token or certificates the platform is not spoken to.
 */

import { isDeepStrictEqual } from 'node:util';
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { Backoff } from '../host/backoff.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Environment } from '../host/environment.ts';
import type { AgentLog } from '../host/log.ts';
import { oneAtATime } from '../host/shared-work.ts';
import { expectSafeCode, fingerprintsOfCode } from '../host/user-code.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import { sentence } from '../names/sentences.ts';
import { changedItems, changedSections, configHash, secretsOf } from './changes/config-diff.ts';
import { rulesUntilRestart } from './changes/rules-until-restart.ts';
import { ConfigError, type ConfigFault, faultLine, sectionOf } from './fields/config-fault.ts';
import { LiveConfig, withoutLiveSettings } from './live-config.ts';
import type { loadConfigToRun } from './read-config.ts';
import { type AgentConfig, onBoard, type SensorConfig } from './schema/agent-config.ts';

export interface ConfigPlace {
  readonly configFile: string;
  readonly environment: Environment;
  /** A simulated board's socket, in place of the hardware that the configuration names. */
  readonly boardSocket?: string;
  readonly machine: { readonly loadConfig: typeof loadConfigToRun };
}

/** As the file says it, and what it names that is not there. */
export interface FileConfig {
  readonly config: AgentConfig;
  readonly missing: readonly ConfigFault[];
  /** Findings that are no fault and should be looked at. */
  readonly warnings?: readonly ConfigFault[];
  /** The actuators as it names them. */
  readonly written?: unknown;
  /** SHA-256 of its bytes. */
  readonly fileHash?: string | undefined;
  /** Fingerprints of the drivers of a user's own that it names, by their files. */
  readonly drivers?: Drivers;
}

type Drivers = ReadonlyMap<string, string>;

export interface ConfigFileDeps {
  readonly place: ConfigPlace;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly alerts: Alerts;
  /** Loads what a configuration needs of the program before it is in force; never rejects. */
  readonly prepare: (config: AgentConfig) => Promise<void>;
}

export interface ReadAgain {
  readonly changed: readonly string[];
  readonly needRestart: readonly string[];
  /** Names of the rules that came, went or changed. */
  readonly rules?: readonly string[] | undefined;
}

type Section = keyof AgentConfig;

/** Sections that a running agent takes up, except rules of actuators and sensors of devices that are not in force; the rest needs a restart, and a reload says so. Of the link only `metered` does, by which connections are opened. */
const RELOADABLE: ReadonlySet<Section> = new Set(['label', 'log', 'brokers', 'sensors', 'rules', 'upload', 'shutdown']);
const ALERT = 'missing-files';
/** A mount or a credential comes soon after the boot, or when somebody brings it. */
const LOOK_AGAIN = { firstMs: 2_000, maxMs: 60_000 };

export class ConfigFile {
  /** Configuration in force, with the changes of shared attributes. */
  readonly live: LiveConfig;
  /** The actuators that it began with, as the file named them: others are for the next start. */
  readonly startedAsWritten: unknown;
  readonly #deps: ConfigFileDeps;
  #startedWith: AgentConfig;
  #read: AgentConfig;
  #fileHash: string | undefined;
  #drivers: Drivers;
  /** Those that go until a restart. */
  #rules: AgentConfig['rules'];
  #missing: readonly ConfigFault[] = [];
  /** Resolves when the missing files have been found. */
  #found = Promise.withResolvers<void>();
  /** One after the other, so that the file read last is the one in force. */
  readonly readAgain = oneAtATime(() => this.#readAgain());
  readonly #lookAgain = oneAtATime(() => this.#fillIn());

  constructor(deps: ConfigFileDeps, first: FileConfig) {
    this.#deps = deps;
    this.#startedWith = first.config;
    this.#read = first.config;
    this.#fileHash = first.fileHash;
    this.#drivers = first.drivers ?? new Map();
    this.#rules = first.config.rules;
    this.live = new LiveConfig(first.config);
    this.startedAsWritten = first.written;
    this.#hideSecrets(first.config);
    this.#noteMissing(first.missing);
    this.#tellWarnings(first.warnings);
  }

  /** @throws ConfigError (stop). */
  static async read({ configFile, environment, boardSocket, machine }: ConfigPlace): Promise<FileConfig> {
    const { config, ...rest } = await machine.loadConfig(configFile, { environment });
    const drivers = await fingerprintsOfCode(config.sensors.flatMap((sensor) => userCodeOf(sensor) ?? []));
    return { config: onBoard(config, boardSocket), drivers, ...rest };
  }

  /** Text that differs once another driver of a user's own was taken up for this sensor; undefined for a kind that has none. */
  driverOf(sensor: SensorConfig): string | undefined {
    return this.#drivers.get(userCodeOf(sensor) ?? '');
  }

  get path(): string {
    return this.#deps.place.configFile;
  }

  get hash(): string {
    return configHash(this.#read);
  }

  /** Hash of the bytes of the file in force; undefined where there is no file. */
  get fileHash(): string | undefined {
    return this.#fileHash;
  }

  /** Returns the sections of another configuration that only a restart would take up. */
  restartFor(config: AgentConfig): readonly string[] {
    const opened = this.#startedWith.actuators.filter(({ enabled }) => enabled);
    const rules = rulesUntilRestart({ opened, rules: this.#rules }, config);
    return this.#waiting(config, rules);
  }

  /** Resolves when nothing that these sections name is missing, or when `signal` aborts. */
  async untilThere(sections: readonly Section[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#missingSections().some((section) => sections.includes(section)))
      await untilAborted(this.#found.promise, signal).catch(() => {});
  }

  /** Looks again until nothing is missing, or `signal` aborts. */
  async lookForMissing(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(LOOK_AGAIN, this.#deps.clock);
    while (this.#missing.length > 0 && !signal.aborted) {
      await this.#deps.clock.sleep(backoff.nextMs(), signal);
      if (!signal.aborted) await this.#lookAgain();
    }
  }

  async #readAgain(): Promise<ReadAgain> {
    const { place, log, alerts, prepare } = this.#deps;
    const { config, missing, warnings, drivers = new Map(), fileHash } = await ConfigFile.read(place);
    const edited = await this.#editedDrivers(drivers);
    await prepare(config);
    const awaited = this.#missingSections();
    // A file that was there and is gone changes nothing, as any other fault.
    if (sectionsOf(missing).some((section) => !awaited.includes(section)))
      throw new ConfigError(place.configFile, missing);
    this.#hideSecrets(config);
    const changed = new Set(changedSections(this.#read, config));
    if (edited.length > 0) changed.add('sensors');
    const rules = Object.values(changedItems(this.#read.rules, config.rules)).flat();
    this.#drivers = drivers;
    this.#fileHash = fileHash;
    this.#startedWith = withSections(this.#startedWith, config, awaited);
    this.#takeUp(config, missing);
    const needRestart = this.#waiting(config, this.#rules);
    if (needRestart.length === 0) alerts.clear('restart');
    else alerts.raise('restart', sentence('restartNeeded', { sections: needRestart.join(', ') }));
    const outcome: ReadAgain = {
      changed: [...changed],
      needRestart,
      rules: rules.length === 0 ? undefined : rules.map(({ name }) => name),
    };
    this.#tellWarnings(warnings);
    log.info({ ...outcome, ...(edited.length > 0 && { drivers: edited }) }, 'the configuration was read again');
    return outcome;
  }

  /** Files of drivers in force that have other contents now. @throws AgentError `host/unsafe-code` (hold) for one that is not to be run. */
  async #editedDrivers(drivers: Drivers): Promise<readonly string[]> {
    const edited = [...drivers].flatMap(([file, print]) =>
      this.#drivers.has(file) && this.#drivers.get(file) !== print ? [file] : [],
    );
    for (const file of edited)
      await expectSafeCode(file).catch((cause: unknown) => {
        throw new AgentError('host/unsafe-code', `${file}: ${messageOf(cause)}`, { recovery: 'hold', cause });
      });
    return edited;
  }

  /** Takes nothing but what was missing: somebody may be in the middle of changing the rest. */
  async #fillIn(): Promise<void> {
    const { place, log, prepare } = this.#deps;
    try {
      const { config, missing } = await ConfigFile.read(place);
      await prepare(config);
      const awaited = this.#missingSections();
      const still = missing.filter((fault) => awaited.includes(sectionOf(fault) as Section));
      // The same ones, perhaps for other reasons.
      if (isDeepStrictEqual(pathsOf(still), pathsOf(this.#missing))) return this.#noteMissing(still);
      this.#hideSecrets(config);
      // A driver's file is its sensor's own concern, which is tried again by itself.
      const taken = awaited.filter((section) => section === 'brokers' || !RELOADABLE.has(section));
      this.#startedWith = withSections(this.#startedWith, config, taken);
      this.#takeUp(withSections(this.#read, config, taken), still);
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'the configuration cannot be read now');
    }
  }

  #takeUp(config: AgentConfig, missing: readonly ConfigFault[]): void {
    this.#read = config;
    const opened = this.#startedWith.actuators.filter(({ enabled }) => enabled);
    this.#rules = rulesUntilRestart({ opened, rules: this.#rules }, config);
    this.live.replace(config);
    this.#noteMissing(missing);
  }

  /** Compares with what runs, not with the file before: a change that is taken back needs no restart. */
  #waiting(config: AgentConfig, rules: AgentConfig['rules']): readonly Section[] {
    const [running, read] = [this.#startedWith, config].map(withoutLiveSettings) as [AgentConfig, AgentConfig];
    const changed = changedSections(running, read).filter((section) =>
      section === 'link' ? running.link.metered !== read.link.metered : !RELOADABLE.has(section),
    );
    return isDeepStrictEqual(rules, config.rules) ? changed : [...changed, 'rules'];
  }

  #tellWarnings(warnings: readonly ConfigFault[] = []): void {
    const { place, log } = this.#deps;
    for (const warning of warnings)
      log.warn({ reason: faultLine(place.configFile, warning) }, 'the configuration should be looked at');
  }

  #noteMissing(missing: readonly ConfigFault[]): void {
    const { alerts } = this.#deps;
    this.#missing = missing;
    const named = missing.map(({ path, problem, value = '' }) => `${path}: ${problem} ${value}`.trimEnd());
    if (missing.length === 0) alerts.clear(ALERT);
    else
      alerts.raise(
        ALERT,
        `what the configuration names is not there, or no good, and is looked for again: ${named.join('; ')}`,
      );
    this.#found.resolve();
    this.#found = Promise.withResolvers<void>();
  }

  #missingSections(): readonly Section[] {
    return sectionsOf(this.#missing);
  }

  #hideSecrets(config: AgentConfig): void {
    for (const secret of secretsOf(config)) this.#deps.log.hide(secret.reveal());
  }
}

function userCodeOf(sensor: SensorConfig): string | undefined {
  return definitionOf(sensor.kind).userCode?.(sensor);
}

function pathsOf(faults: readonly ConfigFault[]): string[] {
  return faults.map(({ path }) => path);
}

function sectionsOf(missing: readonly ConfigFault[]): readonly Section[] {
  // Only what the schema knows is looked for.
  return missing.map((fault) => sectionOf(fault) as Section);
}

function withSections(config: AgentConfig, other: AgentConfig, sections: readonly Section[]): AgentConfig {
  return { ...config, ...Object.fromEntries(sections.map((section) => [section, other[section]])) };
}
