/** Everything the local platform keeps, in one place: each change goes to the stores, to the journal, and to who listens. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { AttributeStore, isScope, type Scope } from './attribute-store.ts';
import { type DeviceProfile, DeviceRegistry, type PlatformDevice } from './device-registry.ts';
import { Journal } from './journal.ts';
import type { TimedValues } from './payload.ts';
import type { StoredValue } from './stored-value.ts';
import { TelemetryStore } from './telemetry-store.ts';

export interface PlatformStateOptions {
  readonly clock: Clock;
  /** In memory only, without it. */
  readonly dataFolder?: string;
  readonly maxPointsPerKey: number;
}

export type TelemetryListener = (device: PlatformDevice, record: TimedValues) => void;
export type Replay = (record: JsonObject) => void;

export class PlatformState {
  readonly registry = new DeviceRegistry();
  readonly attributes = new AttributeStore();
  readonly telemetry: TelemetryStore;
  readonly #clock: Clock;
  readonly #telemetryListeners = new Set<TelemetryListener>();
  readonly #deletionListeners = new Set<(deviceId: string) => void>();
  #journal: Journal | undefined;

  private constructor(options: PlatformStateOptions) {
    this.#clock = options.clock;
    this.telemetry = new TelemetryStore({ maxPointsPerKey: options.maxPointsPerKey });
  }

  /** Reads the data folder, when there is one; records of other parts (packages, views) go to `replayOther`. */
  static async open(options: PlatformStateOptions, replayOther: Replay): Promise<PlatformState> {
    const state = new PlatformState(options);
    if (options.dataFolder !== undefined) {
      state.#journal = await Journal.open(options.dataFolder, (record) => {
        if (!state.#replay(record)) replayOther(record);
      });
    }
    if (state.registry.profiles.length === 0) {
      state.saveProfile({
        id: randomUUID(),
        name: 'default',
        isDefault: true,
        createdMs: options.clock.wallMs(),
        provisionType: 'DISABLED',
      });
    }
    return state;
  }

  saveDevice(device: PlatformDevice): void {
    this.registry.put(device);
    this.record({ t: 'device', device: { ...device } });
  }

  deleteDevice(id: string): void {
    this.#forget(id);
    this.record({ t: 'device-gone', id });
    for (const listener of [...this.#deletionListeners]) listener(id);
  }

  saveProfile(profile: DeviceProfile): void {
    this.registry.putProfile(profile);
    this.record({ t: 'profile', profile: { ...profile } });
  }

  deleteProfile(id: string): void {
    this.registry.removeProfile(id);
    this.record({ t: 'profile-gone', id });
  }

  saveTelemetry(device: PlatformDevice, record: TimedValues): void {
    this.telemetry.save(device.id, record.ts, record.values);
    this.record({ t: 'ts', d: device.id, ts: record.ts, v: record.values });
    for (const listener of [...this.#telemetryListeners]) listener(device, record);
  }

  /** Takes telemetry out behind everybody's back. Answers how many points went. */
  removeTelemetry(deviceId: string, key: string, startTs: number, endTs: number): number {
    this.record({ t: 'ts-gone', d: deviceId, k: key, startTs, endTs });
    return this.telemetry.remove(deviceId, key, startTs, endTs);
  }

  setAttributes(deviceId: string, scope: Scope, values: Readonly<Record<string, StoredValue>>): void {
    const at = this.#clock.wallMs();
    this.record({ t: 'attributes', d: deviceId, s: scope, v: values, at });
    this.attributes.set(deviceId, scope, values, at);
  }

  removeAttributes(deviceId: string, scope: Scope, keys: readonly string[]): void {
    this.record({ t: 'attributes-gone', d: deviceId, s: scope, k: keys });
    this.attributes.remove(deviceId, scope, keys);
  }

  /** Returns the function that ends it. */
  onTelemetry(listener: TelemetryListener): () => void {
    this.#telemetryListeners.add(listener);
    return () => this.#telemetryListeners.delete(listener);
  }

  onDeleted(listener: (deviceId: string) => void): () => void {
    this.#deletionListeners.add(listener);
    return () => this.#deletionListeners.delete(listener);
  }

  /** Writes a record of any part to the journal. */
  record(record: JsonObject): void {
    this.#journal?.append(record);
  }

  close(): void {
    this.#journal?.close();
  }

  #forget(id: string): void {
    this.registry.remove(id);
    this.telemetry.forget(id);
    this.attributes.forget(id);
  }

  /** Whether the record was one of this part's. */
  #replay(record: JsonObject): boolean {
    // Written by `record` above, in this very form.
    const field = <T extends JsonValue | object>(name: string): T => record[name] as T;
    switch (record.t) {
      case 'device':
        this.registry.put(field<PlatformDevice>('device'));
        return true;
      case 'device-gone':
        this.#forget(field<string>('id'));
        return true;
      case 'profile':
        this.registry.putProfile(field<DeviceProfile>('profile'));
        return true;
      case 'profile-gone':
        this.registry.removeProfile(field<string>('id'));
        return true;
      case 'ts':
        this.telemetry.save(field<string>('d'), field<number>('ts'), field<Record<string, StoredValue>>('v'));
        return true;
      case 'ts-gone':
        this.telemetry.remove(field<string>('d'), field<string>('k'), field<number>('startTs'), field<number>('endTs'));
        return true;
      case 'attributes': {
        const scope = field<string>('s');
        if (isScope(scope)) this.attributes.set(field<string>('d'), scope, field<Record<string, StoredValue>>('v'), field<number>('at'));
        return true;
      }
      case 'attributes-gone': {
        const scope = field<string>('s');
        if (isScope(scope)) this.attributes.remove(field<string>('d'), scope, field<string[]>('k'));
        return true;
      }
      default:
        return false;
    }
  }
}
