/** HTTP devices of the board: each answers every request with one text, in which signals stand. */
import type { BoardConfig } from './board-config.ts';
import type { BoardContext } from './simulated-part.ts';

export class SimulatedHttp {
  readonly #devices: ReadonlyMap<string, BoardConfig['http'][number]>;
  readonly #context: BoardContext;

  constructor(config: BoardConfig['http'], context: BoardContext) {
    this.#devices = new Map(config.map((device) => [device.host, device]));
    this.#context = context;
    for (const { host, values } of config)
      for (const [key, { signal }] of Object.entries(values)) context.signals.add(`${host}/${key}`, signal);
  }

  /** Null for a host that is no device of this board. */
  answer(host: string): string | null {
    const device = this.#devices.get(host);
    if (device === undefined || this.#context.faults.of(host) === 'nak') return null;
    const { record, signals } = this.#context;
    return Object.entries(device.values).reduce((body, [key, { digits }]) => {
      const value = Number(signals.value(`${host}/${key}`).toFixed(digits));
      record.add('shown', `${host}/${key}`, device.keys[key] ?? key, value);
      return body.replaceAll(`{${key}}`, String(value));
    }, device.body);
  }
}
