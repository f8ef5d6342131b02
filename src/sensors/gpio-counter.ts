/**
 * Pulses on a GPIO line: `total`, which survives restarts, and `rate` per second since the reading before. The total is written every
 * `saveEvery`, and at close; a power cut loses what came after the last write, which is the price for sparing the card.
 */
import { join } from 'node:path';
import type { SensorConfigOf } from '../config/agent-config.ts';
import { messageOf } from '../errors.ts';
import type { LineEdge } from '../hardware/gpio-port.ts';
import type { Clock } from '../host/clock.ts';
import { makeFolder, readWhole, setAside, writeDurably } from '../host/durable-file.ts';
import type { Log } from '../host/log.ts';
import { rounded } from './i2c-chip.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';

const FORMAT = 'turnstone-counter';
const VERSION = 1;

export async function openGpioCounter(config: SensorConfigOf<'gpio-counter'>, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, line, activeLow, bias, debounceMs, edge, saveEveryMs } = config;
  const { clock, log, ports, stateFolder } = deps;
  const total = await SavedTotal.open(join(stateFolder, 'counters'), name, { clock, log, saveEveryMs });
  const input = await ports.gpio.openInput({ line, activeLow, bias, debounceMs, edges: edge }, signal);
  input.watch(({ missed }: LineEdge) => total.add(1 + missed));
  let before: { readonly count: number; readonly atMs: number } | undefined;
  return {
    name,
    read: async (readSignal) => {
      await input.read(readSignal); // a line whose chip is gone would count nothing for ever
      const now = { count: total.count, atMs: clock.monotonicMs() };
      const readings: Reading[] = [{ key: 'total', value: now.count }];
      if (before !== undefined && now.atMs > before.atMs) {
        readings.push({ key: 'rate', value: rounded(((now.count - before.count) * 1_000) / (now.atMs - before.atMs), 3), unit: '1/s' });
      }
      before = now;
      return readings;
    },
    close: async () => {
      await input.close();
      await total.close();
    },
  };
}

/** A number in a file of its own. */
export class SavedTotal {
  readonly #path: string;
  readonly #deps: { readonly clock: Clock; readonly log: Log; readonly saveEveryMs: number };
  #count: number;
  #savedCount: number;
  #cancelSave: (() => void) | undefined;
  #saving: Promise<void> = Promise.resolve();

  /** Begins where the file ends; a file that is none is set aside and the count begins at 0. */
  static async open(
    folder: string,
    name: string,
    deps: { readonly clock: Clock; readonly log: Log; readonly saveEveryMs: number },
  ): Promise<SavedTotal> {
    await makeFolder(folder);
    const path = join(folder, `${name}.json`);
    const saved = await readWhole(path);
    const count = saved === undefined ? 0 : parseTotal(saved.toString('utf8'));
    if (count === undefined) {
      const aside = await setAside(path);
      deps.log.error({ counter: name, aside }, 'the saved total cannot be read; counting begins at 0');
    }
    return new SavedTotal(path, count ?? 0, deps);
  }

  private constructor(path: string, count: number, deps: { readonly clock: Clock; readonly log: Log; readonly saveEveryMs: number }) {
    this.#path = path;
    this.#deps = deps;
    this.#count = count;
    this.#savedCount = count;
  }

  get count(): number {
    return this.#count;
  }

  add(pulses: number): void {
    this.#count += pulses;
    this.#cancelSave ??= this.#deps.clock.after(this.#deps.saveEveryMs, () => {
      this.#cancelSave = undefined;
      void this.#save();
    });
  }

  /** Saves what is not saved yet. */
  async close(): Promise<void> {
    this.#cancelSave?.();
    await this.#save();
  }

  /** One write at a time; a failed one is tried again with the next pulse. */
  async #save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (this.#count === this.#savedCount) return;
      const count = this.#count;
      try {
        await writeDurably(this.#path, JSON.stringify({ format: FORMAT, version: VERSION, total: count }));
        this.#savedCount = count;
      } catch (error) {
        this.#deps.log.warn({ path: this.#path, reason: messageOf(error) }, 'the total cannot be saved');
      }
    });
    await this.#saving;
  }
}

function parseTotal(text: string): number | undefined {
  try {
    const { format, version, total } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return format === FORMAT && version === VERSION && Number.isSafeInteger(total) && Number(total) >= 0 ? Number(total) : undefined;
  } catch {
    return undefined;
  }
}
