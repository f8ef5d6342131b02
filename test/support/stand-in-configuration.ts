/** A configuration that the page changes, as the agent changes it: patches make a new file by the agent's own code, and a trial goes on as the test says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/read-config.ts';
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import { CONFIGURATION_OPERATIONS } from '../../src/operations/configuration-operations.ts';
import { type LocalDoor, openLocalDoor } from '../../src/operations/local-door.ts';
import { type Operation, operationsOn, QUESTION } from '../../src/operations/operation.ts';
import { lookAtCandidate } from '../../src/remote-config/candidate.ts';
import { fileHash } from '../../src/remote-config/file-hash.ts';
import type { ConfigurationState, Taken } from '../../src/remote-config/remote-config.ts';
import { sensorSettings } from '../../src/remote-config/sensor-settings.ts';
import type { ConfigurationsTold, ToldHistory, ToldTrial } from '../../src/remote-config/told-configurations.ts';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';

export class StandInConfiguration {
  readonly door: LocalDoor;
  /** Operations and their params, in the order in which they were asked for. */
  readonly asked: { readonly name: string; readonly params: JsonValue }[] = [];
  /** Answer to `findParts`. */
  parts: JsonObject = { found: [], ports: [], faults: [] };
  waitsFor: ToldTrial['waitsFor'] = [];
  readonly #folder: string;
  #bytes: Buffer<ArrayBuffer>;
  #config: AgentConfig;
  #before: { readonly bytes: Buffer<ArrayBuffer>; readonly config: AgentConfig } | undefined;
  #state: ConfigurationState | undefined;
  #history: readonly ToldHistory[] = [];

  private constructor(folder: string, bytes: Buffer<ArrayBuffer>, config: AgentConfig) {
    this.#folder = folder;
    [this.#bytes, this.#config] = [bytes, config];
    const configurations = operationsOn(CONFIGURATION_OPERATIONS, {
      take: (wanted, origin, { check }) => this.#take(wanted as { readonly patch: unknown }, origin, check),
      tell: async () => this.#told(),
      settingsOf: (name) => sensorSettings(this.#config, { name, base: this.hash, seen: [] }),
    });
    const findParts: Operation = {
      ...QUESTION,
      name: 'findParts',
      description: 'what is connected',
      askers: ['page'],
      params: { type: 'object' },
      run: () => this.parts,
    };
    const operations = [...configurations, findParts];
    const door = openLocalDoor('page', { operations, locked: () => false, tell: () => {} });
    this.door = {
      operations: door.operations,
      ask: (name, params, ...others) => {
        this.asked.push({ name, params });
        return door.ask(name, params, ...others);
      },
    };
  }

  static async open(yaml: string): Promise<StandInConfiguration> {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-configuration-'));
    await writeFile(join(folder, 'turnstone.yaml'), yaml, { mode: 0o600 });
    const bytes = Buffer.from(yaml);
    const { config, faults } = await readConfig(join(folder, 'turnstone.yaml'), { environment: {}, bytes });
    if (config === undefined) throw new Error(JSON.stringify(faults));
    return new StandInConfiguration(folder, bytes, config);
  }

  get text(): string {
    return this.#bytes.toString();
  }

  get hash(): string {
    return fileHash(this.#bytes);
  }

  get config(): AgentConfig {
    return this.#config;
  }

  /** Changes that were handed over, without those that were only looked at. */
  get handedOver(): readonly JsonValue[] {
    return this.asked
      .filter(({ name, params }) => name === 'configure' && (params as JsonObject).check !== true)
      .map(({ params }) => (params as JsonObject).patch ?? null);
  }

  /** Ends the trial that is on. */
  end(outcome: 'kept' | 'returned', reason = ''): void {
    const hash = this.hash;
    if (outcome === 'returned' && this.#before !== undefined)
      ({ bytes: this.#bytes, config: this.#config } = this.#before);
    this.#before = undefined;
    const atMs = Date.now();
    this.#state = { state: outcome, hash, atMs, origin: 'page', ...(reason !== '' && { reason }) };
    this.#history = [{ number: '0001', hash, origin: 'page', outcome, atMs, reason }, ...this.#history];
  }

  /** Refuses a change that came the other way. */
  refuse(reason: string): void {
    this.#state = { state: 'refused', hash: this.hash, atMs: Date.now(), origin: 'patch', reason };
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #told(): ConfigurationsTold {
    const { hash } = this;
    const trial = this.#before === undefined ? undefined : { hash, secondsLeft: 240, waitsFor: this.waitsFor };
    return { fileHash: hash, state: this.#state, trial, history: this.#history };
  }

  async #take(
    wanted: { readonly patch: unknown },
    origin: 'patch' | 'page' | 'local',
    isCheck: boolean,
  ): Promise<Taken> {
    const path = join(this.#folder, 'turnstone.yaml');
    const looked = await lookAtCandidate(this.#bytes, wanted, (bytes) => readConfig(path, { environment: {}, bytes }));
    const { bytes, config, ...candidate } = looked;
    if (bytes === undefined || config === undefined || candidate.locked.length > 0)
      return { ...candidate, state: 'refused', reason: 'it has faults' };
    if (isCheck) return { ...candidate, state: 'checked', needs: 'reload' };
    this.#before = { bytes: this.#bytes, config: this.#config };
    [this.#bytes, this.#config] = [Buffer.from(bytes), config];
    this.#state = { state: 'trying', hash: this.hash, atMs: Date.now(), origin };
    return { ...candidate, state: 'received', needs: 'reload' };
  }
}
