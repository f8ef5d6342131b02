/**
 * The configuration in force: the file's, with what shared attributes changed laid over it. A reload replaces what is beneath and
 * keeps what is laid over, as far as it still fits.
 */

import { AgentError } from '../errors/agent-error.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { Listeners } from '../host/listeners.ts';
import type { ValueShape } from '../host/value-shape.ts';
import { liveSettings, withLiveSetting, withLiveSettings } from './live-settings.ts';
import type { AgentConfig } from './schema/agent-config.ts';

/** A setting that can change while the agent runs. */
export interface ChangeableSetting {
  /** The shared attribute that sets it. */
  readonly key: string;
  readonly shape: ValueShape;
  /** Undefined goes back to the configured value. */
  readonly apply: (value: JsonValue | undefined) => Promise<void> | void;
}

export class LiveConfig {
  #beneath: AgentConfig;
  #current: AgentConfig;
  /** Changeable settings of the file's configuration: finding them walks all of it, and each look at the shared attributes asks for them. */
  #settings: readonly ChangeableSetting[];
  readonly #laidOver = new Map<string, JsonValue>();
  readonly #changes = new Listeners<[AgentConfig]>();

  constructor(config: AgentConfig) {
    this.#beneath = config;
    this.#current = config;
    this.#settings = this.#settingsOf(config);
  }

  get current(): AgentConfig {
    return this.#current;
  }

  /** Calls back with the configuration in force whenever it changes; the returned function ends it. */
  readonly onChange = this.#changes.add;

  /** Takes a new file's configuration. */
  replace(config: AgentConfig): void {
    this.#beneath = config;
    this.#settings = this.#settingsOf(config);
    this.#takeUp();
  }

  /** Lays one setting over the file's, or takes it away. @throws AgentError `agent/setting-refused` (drop) in words for who set it. */
  set(key: string, value: JsonValue | undefined): void {
    if (value !== undefined) {
      const result = withLiveSetting(this.#current, key, value);
      if ('fault' in result) throw new AgentError('agent/setting-refused', result.fault, { recovery: 'drop' });
      this.#laidOver.set(key, value);
    } else if (!this.#laidOver.delete(key)) return;
    this.#takeUp();
  }

  /** The settings as the attributes room wants them; the configuration itself knows what fits. */
  settings(): readonly ChangeableSetting[] {
    return this.#settings;
  }

  /** Effective values, in ms and bytes, of the settings that are laid over the file's: as many as were set, however many there are. */
  get overrides(): JsonObject {
    return Object.fromEntries([...valuesOf(this.#current)].filter(([key]) => this.#laidOver.has(key)));
  }

  #settingsOf(config: AgentConfig): readonly ChangeableSetting[] {
    return liveSettings(config).map(({ key }) => ({
      key,
      shape: {},
      apply: (value) => this.set(key, value),
    }));
  }

  #takeUp(): void {
    const config = withLiveSettings(this.#beneath, this.#laidOver);
    this.#current = config;
    this.#changes.tell(config);
  }
}

function valuesOf(config: AgentConfig): ReadonlyMap<string, JsonValue> {
  return new Map(liveSettings(config).flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]])));
}
