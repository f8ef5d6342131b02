/** Configuration that the agent reads: as it was installed, with each change of a technician until it is taken back. */

import type { FileConfig } from '../../src/config/config-file.ts';
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import type { Timeline } from './timeline.ts';

export class Configuration {
  file: FileConfig;
  /** Why it cannot be read now. */
  fault: Error | undefined;
  readonly #installed: AgentConfig;
  /** Former configurations, each with its beginning. */
  readonly #history: { readonly sinceMs: number; readonly config: AgentConfig }[];
  readonly #timeline: Timeline;
  readonly #changes = new Set<(config: AgentConfig) => AgentConfig>();

  constructor(installed: AgentConfig, timeline: Timeline) {
    this.#installed = installed;
    this.#timeline = timeline;
    this.#history = [{ sinceMs: 0, config: installed }];
    this.file = { config: installed, missing: [] };
  }

  /** The file is another one from now on, until the returned function is called. */
  change(one: (config: AgentConfig) => AgentConfig): () => void {
    this.#changes.add(one);
    this.#write();
    return () => {
      this.#changes.delete(one);
      this.#write();
    };
  }

  /** True when the sensor was missing from it at some time between the two. */
  isWithout(sensor: string, fromMs: number, untilMs: number): boolean {
    return this.#history.some(
      ({ sinceMs, config }, n) =>
        sinceMs <= untilMs &&
        (this.#history[n + 1]?.sinceMs ?? untilMs) >= fromMs &&
        !config.sensors.some(({ name }) => name === sensor),
    );
  }

  #write(): void {
    const config = [...this.#changes].reduce((before, one) => one(before), this.#installed);
    this.#history.push({ sinceMs: this.#timeline.nowMs, config });
    this.file = { config, missing: [] };
  }
}
