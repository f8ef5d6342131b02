/**
 * The configuration in force: the file's, with what shared attributes changed laid over it. A reload replaces what is beneath and
 * keeps what is laid over, as far as it still fits.
 */

import { AgentError } from '../errors.ts';
import type { JsonValue } from '../host/json.ts';
import { Listeners } from '../host/listeners.ts';
import type { ValueShape } from '../host/value-shape.ts';
import type { AgentConfig } from './agent-config.ts';
import { liveSettings, withLiveSetting, withLiveSettings } from './live-settings.ts';

/** What a setting without a value is shown as: attributes cannot be null. */
const NOT_SET = 'not set';

/** A setting that can change while the agent runs. */
export interface ChangeableSetting {
  /** The shared attribute that sets it, and the client attribute that shows the effective value. */
  readonly key: string;
  readonly shape: ValueShape;
  /** Undefined goes back to the configured value. */
  readonly apply: (value: JsonValue | undefined) => Promise<void> | void;
  readonly effective: () => JsonValue;
}

export class LiveConfig {
  #beneath: AgentConfig;
  #current: AgentConfig;
  #effective: ReadonlyMap<string, JsonValue>;
  /** Of the file's configuration: finding them walks all of it, and they are asked for at each look at the shared attributes. */
  #settings: readonly ChangeableSetting[];
  readonly #laidOver = new Map<string, JsonValue>();
  readonly #changes = new Listeners<[AgentConfig]>();

  constructor(config: AgentConfig) {
    this.#beneath = config;
    this.#current = config;
    this.#effective = effectiveValues(config);
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

  #settingsOf(config: AgentConfig): readonly ChangeableSetting[] {
    return liveSettings(config).map(({ key }) => ({
      key,
      shape: {},
      apply: (value) => this.set(key, value),
      effective: () => this.#effective.get(key) ?? NOT_SET,
    }));
  }

  #takeUp(): void {
    const config = withLiveSettings(this.#beneath, this.#laidOver);
    this.#current = config;
    this.#effective = effectiveValues(config);
    this.#changes.tell(config);
  }
}

function effectiveValues(config: AgentConfig): ReadonlyMap<string, JsonValue> {
  return new Map(liveSettings(config).flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]])));
}
