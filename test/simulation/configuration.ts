/**
 * Configuration that the agent reads: as it was installed, with each change of a technician until it is taken back. Where it may be changed from
 * afar it is a file on the disk, and a technician's change is a line of it: whoever replaces the file keeps or loses that line with it.
 */

import type { FileConfig } from '../../src/config/config-file.ts';
import { ConfigError } from '../../src/config/fields/config-fault.ts';
import type { ReadConfig } from '../../src/config/read-config.ts';
import type { AgentConfig } from '../../src/config/schema/agent-config.ts';
import { sha256 } from '../../src/remote-config/root/file-in-place.ts';
import type { MemoryFiles } from '../support/memory-files.ts';
import type { Timeline } from './timeline.ts';

export const CONFIG_FILE = '/etc/turnstone/turnstone.yaml';
/** A technician's change; it says nothing to the reader. */
const CHANGE_LINE = /^# change of a technician (\d+)\n/gm;

type Change = (config: AgentConfig) => AgentConfig;

/** Text of a configuration, and the disk on which it lies. */
export interface WrittenConfiguration {
  readonly text: string;
  readonly disk: MemoryFiles;
  /** The real reader. */
  readonly read: (text: string) => Promise<ReadConfig>;
}

export class Configuration {
  file: FileConfig;
  /** Why it cannot be read now. */
  fault: Error | undefined;
  /** Hashes of the files that somebody on site has written, the last one at the end. */
  readonly siteHashes: string[] = [];
  readonly #installed: AgentConfig;
  /** Former configurations, each with its beginning. */
  readonly #history: { readonly sinceMs: number; readonly config: AgentConfig }[];
  readonly #timeline: Timeline;
  readonly #written: WrittenConfiguration | undefined;
  readonly #changes = new Map<number, Change>();
  /** Numbers of those that nobody has taken back. */
  readonly #standing = new Set<number>();
  readonly #read = new Map<string, ReadConfig>();
  #made = 0;
  #seen = '';

  constructor(installed: AgentConfig, timeline: Timeline, written?: WrittenConfiguration) {
    this.#installed = installed;
    this.#timeline = timeline;
    this.#written = written;
    this.#history = [{ sinceMs: 0, config: installed }];
    this.file = { config: installed, missing: [] };
    if (written === undefined) return;
    this.#read.set(written.text, { config: installed, faults: [], warnings: [] });
    this.#put(written.text);
  }

  /** Bytes of the file in place; none where it cannot be changed from afar, or is gone. */
  get bytes(): Buffer {
    const disk = this.#written?.disk;
    return disk?.isThereNow(CONFIG_FILE) === true ? disk.contentOf(CONFIG_FILE) : Buffer.alloc(0);
  }

  /** The file is another one from now on, until the returned function is called. */
  change(one: Change): () => void {
    this.#made += 1;
    const number = this.#made;
    this.#changes.set(number, one);
    this.#standing.add(number);
    this.#write((text) => `${text}${lineOf(number)}`);
    return () => {
      this.#standing.delete(number);
      this.#write((text) => text.replace(lineOf(number), ''));
    };
  }

  /** Somebody on site puts the file in place that was installed, with the changes of technicians that stand. @returns whether it was another. */
  restore(): boolean {
    if (this.#written === undefined) return false;
    const text = `${this.#written.text}${[...this.#standing].map(lineOf).join('')}`;
    if (this.bytes.toString('utf8') === text) return false;
    this.#put(text);
    return true;
  }

  /** Reads a file as the agent does, in the machine's time. */
  async read(bytes: Uint8Array): Promise<ReadConfig> {
    const text = Buffer.from(bytes).toString('utf8');
    const plain = text.replace(CHANGE_LINE, '');
    const known = this.#read.get(plain);
    const read = known ?? (await this.#readByMachine(plain));
    this.#read.set(plain, read);
    const { config, faults, warnings, written } = read;
    const changed = config === undefined ? undefined : this.#changed(config, text);
    return {
      faults,
      warnings,
      written,
      fileHash: sha256(bytes),
      ...(changed !== undefined && { config: changed }),
    };
  }

  /** The file in place, as the agent takes it up. @throws ConfigError. */
  async load(): Promise<FileConfig> {
    if (this.#written === undefined) return this.file;
    const { config, faults, written, fileHash } = await this.read(this.bytes);
    if (config === undefined) throw new ConfigError(CONFIG_FILE, faults);
    return { config, missing: [], written, fileHash };
  }

  /** Looks at the file in place: it may be another one. */
  look(): void {
    const text = this.bytes.toString('utf8');
    const config = this.#configOf(text);
    if (config === undefined || text === this.#seen) return;
    this.#seen = text;
    this.#history.push({ sinceMs: this.#timeline.nowMs, config });
    this.file = { config, missing: [] };
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

  #readByMachine(text: string): Promise<ReadConfig> {
    if (this.#written === undefined) return Promise.reject(new Error('there is no file'));
    return this.#timeline.outside(this.#written.read(text));
  }

  #write(edit: (text: string) => string): void {
    if (this.#written !== undefined) {
      this.#put(edit(this.bytes.toString('utf8')));
      return;
    }
    const standing = [...this.#standing].flatMap((number) => this.#changes.get(number) ?? []);
    const config = standing.reduce((before, one) => one(before), this.#installed);
    this.#history.push({ sinceMs: this.#timeline.nowMs, config });
    this.file = { config, missing: [] };
  }

  #put(text: string): void {
    this.#written?.disk.put(CONFIG_FILE, text);
    this.siteHashes.push(sha256(Buffer.from(text, 'utf8')));
    this.look();
  }

  /** Undefined for a text that nobody has read yet. */
  #configOf(text: string): AgentConfig | undefined {
    const config = this.#read.get(text.replace(CHANGE_LINE, ''))?.config;
    return config === undefined ? undefined : this.#changed(config, text);
  }

  #changed(config: AgentConfig, text: string): AgentConfig {
    return [...text.matchAll(CHANGE_LINE)].reduce(
      (before, [, number]) => this.#changes.get(Number(number))?.(before) ?? before,
      config,
    );
  }
}

function lineOf(number: number): string {
  return `# change of a technician ${number}\n`;
}
