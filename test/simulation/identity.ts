/** Identity of the gateway: the device that the platform knows it as, its token, and the board that it runs on. All three may change. */

import { OWNER_KEY } from '../../src/devices/ownership.ts';
import type { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { StoredValue } from '../../src/stand-ins/local-platform/stored-value.ts';
import { DEVICE_NAME, PROVISION_KEY, PROVISION_SECRET, TOKEN } from './site.ts';

interface Point {
  readonly ts: number;
  readonly value: StoredValue;
}

export class Identity {
  readonly #platform: LocalPlatform;
  /** When the device was deleted. */
  readonly removals: number[] = [];
  /** When the card was taken from a board that had no credentials of its own in use: what waited on it is set aside, and stays there. */
  readonly leftBehind: number[] = [];
  readonly #nowMs: () => number;
  /** Data of devices that are no longer there. */
  readonly #former = new Map<string, Map<number, StoredValue>>();
  readonly #provisions: boolean;
  #deviceId: string | undefined;
  #tokens = 1;
  #boards = 1;
  /** Somebody is at it, and no other person begins meanwhile. */
  isBusy = false;
  /** Why a board may find that the device of its name is not its own: somebody changed who is who, or its card could not be read. */
  excuse: string | undefined;
  /** When a board found that without an excuse. */
  readonly strandings: number[] = [];

  /** @param provisions the device comes only when the agent asks for it. */
  constructor(platform: LocalPlatform, nowMs: () => number, provisions: boolean) {
    this.#nowMs = nowMs;
    this.#platform = platform;
    this.#provisions = provisions;
    if (!provisions) platform.ensureDevice(DEVICE_NAME, TOKEN);
    for (const profile of provisions ? platform.state.registry.profiles.all : [])
      platform.state.registry.profiles.put({
        ...profile,
        provisionType: 'ALLOW_CREATE_NEW_DEVICES',
        provisionDeviceKey: PROVISION_KEY,
        provisionDeviceSecret: PROVISION_SECRET,
      });
  }

  /** As the platform knows it, or knew it; of one that never was, nothing can be asked or told. */
  get deviceId(): string {
    this.#deviceId = this.#present?.id ?? this.#deviceId;
    return this.#deviceId ?? 'none yet';
  }

  /** Returns the token that the platform accepts. */
  get token(): string {
    return this.#present?.accessToken ?? '';
  }

  /** True when the platform has, or had, such a device. */
  get wasThere(): boolean {
    return this.#deviceId !== undefined || this.#present !== undefined;
  }

  get #present(): { readonly id: string; readonly accessToken: string } | undefined {
    return this.#platform.state.registry.byName(DEVICE_NAME);
  }

  /** A token that somebody wrote is a device's from the first; else, before a board sends anything, it says which board it is. */
  get #hasDevice(): boolean {
    if (!this.#provisions) return true;
    if (!this.wasThere) return false;
    return (
      this.#present === undefined ||
      this.#platform.state.attributes.read(this.deviceId, 'CLIENT_SCOPE', [OWNER_KEY]).length > 0
    );
  }

  /** Returns the serial number of the board. */
  get serial(): string {
    return `board-${this.#boards}`;
  }

  /** One that nobody has used. */
  nextToken(): string {
    this.#tokens += 1;
    return `${this.#tokens}-token-of-the-world`;
  }

  moveCard(): void {
    this.excuse = 'the card was moved';
    if (!this.#hasDevice) this.leftBehind.push(this.#nowMs());
    this.#boards += 1;
  }

  /** From now on the platform takes this token and no other. */
  changeToken(token: string): void {
    this.excuse = 'the token was changed';
    this.#platform.ensureDevice(DEVICE_NAME, token);
  }

  /** The device is gone, with all that it had; who looks later finds what was seen until then. */
  remove(): void {
    const { deviceId } = this;
    this.excuse = 'the device was deleted';
    this.removals.push(this.#nowMs());
    const { telemetry } = this.#platform.state;
    for (const key of telemetry.keys(deviceId)) {
      const points = this.#former.get(key) ?? new Map<number, StoredValue>();
      for (const { ts, value } of telemetry.series(deviceId, key).scan(0, Number.MAX_SAFE_INTEGER))
        points.set(ts, value);
      this.#former.set(key, points);
    }
    this.#platform.state.deleteDevice(deviceId);
  }

  /** All that ever arrived: keys, and the points of one. */
  keys(): readonly string[] {
    return [...new Set([...this.#former.keys(), ...this.#platform.state.telemetry.keys(this.deviceId)])];
  }

  points(key: string): readonly Point[] {
    const present = [...this.#platform.state.telemetry.series(this.deviceId, key).scan(0, Number.MAX_SAFE_INTEGER)];
    const former = this.#former.get(key);
    if (former === undefined) return present;
    const all = new Map(former);
    for (const { ts, value } of present) all.set(ts, value);
    return [...all].map(([ts, value]) => ({ ts, value })).sort((a, b) => a.ts - b.ts);
  }
}
