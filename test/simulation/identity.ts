/** Who the gateway is: the device that the platform knows it as, by which token, and the board that it runs on. All three may change. */
import type { LocalPlatform } from '../../src/local-platform/local-platform.ts';
import type { StoredValue } from '../../src/local-platform/stored-value.ts';
import { TOKEN } from './site.ts';

const NAME = 'gateway';

interface Point {
  readonly ts: number;
  readonly value: StoredValue;
}

export class Identity {
  readonly #platform: LocalPlatform;
  /** What devices had that are no longer there. */
  /** When the device was deleted. */
  readonly removals: number[] = [];
  readonly #nowMs: () => number;
  readonly #former = new Map<string, Map<number, StoredValue>>();
  #deviceId: string;
  #tokens = 1;
  #boards = 1;
  /** What the platform takes. */
  token = TOKEN;
  /** Somebody is at it, and no other person begins meanwhile. */
  isBusy = false;

  constructor(platform: LocalPlatform, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#platform = platform;
    this.#deviceId = platform.ensureDevice(NAME, TOKEN).id;
  }

  get deviceId(): string {
    return this.#deviceId;
  }

  /** Of the board. */
  get serial(): string {
    return `board-${this.#boards}`;
  }

  /** One that nobody has used. */
  nextToken(): string {
    this.#tokens += 1;
    return `${this.#tokens}-token-of-the-world`;
  }

  moveCard(): void {
    this.#boards += 1;
  }

  /** From now on the platform takes this token and no other. */
  changeToken(token: string): void {
    this.token = token;
    this.#deviceId = this.#platform.ensureDevice(NAME, token).id;
  }

  /** The device is gone, with all that it had; who looks later finds what was seen until then. */
  remove(): void {
    this.removals.push(this.#nowMs());
    const { telemetry } = this.#platform.state;
    for (const key of telemetry.keys(this.#deviceId)) {
      const points = this.#former.get(key) ?? new Map<number, StoredValue>();
      for (const { ts, value } of telemetry.scan(this.#deviceId, key, 0, Number.MAX_SAFE_INTEGER)) points.set(ts, value);
      this.#former.set(key, points);
    }
    this.#platform.state.deleteDevice(this.#deviceId);
  }

  /** All that ever arrived: keys, and the points of one. */
  keys(): readonly string[] {
    return [...new Set([...this.#former.keys(), ...this.#platform.state.telemetry.keys(this.#deviceId)])];
  }

  points(key: string): readonly Point[] {
    const present = [...this.#platform.state.telemetry.scan(this.#deviceId, key, 0, Number.MAX_SAFE_INTEGER)];
    const former = this.#former.get(key);
    if (former === undefined) return present;
    const all = new Map(former);
    for (const { ts, value } of present) all.set(ts, value);
    return [...all].map(([ts, value]) => ({ ts, value })).sort((a, b) => a.ts - b.ts);
  }
}
