/** Everything the local platform keeps, in one place: each change goes to the stores and to the journal. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import { BUILT_IN_VIEWS, type SavedView } from './analytics-views.ts';
import { AttributeStore, isScope, type Scope } from './attribute-store.ts';
import { DeviceRegistry, KeptTable, type PlatformDevice } from './device-registry.ts';
import { Journal } from './journal.ts';
import type { OtaPackage } from './ota-packages.ts';
import type { TimedValues } from './payload.ts';
import type { PersistentRpc } from './rpc-broker.ts';
import type { StoredValue } from './stored-value.ts';
import { TelemetryStore } from './telemetry-store.ts';

export interface PlatformStateOptions {
  readonly clock: Clock;
  /** In memory only, without it. */
  readonly dataFolder?: string;
  readonly maxPointsPerKey: number;
}

type Values = Readonly<Record<string, StoredValue>>;

export class PlatformState {
  readonly registry: DeviceRegistry;
  readonly packages: KeptTable<OtaPackage>;
  readonly rpcs: KeptTable<PersistentRpc>;
  /** By id in lower case. */
  readonly views: KeptTable<SavedView>;
  readonly attributes = new AttributeStore();
  readonly telemetry: TelemetryStore;
  readonly #clock: Clock;
  readonly #deletionListeners: ((deviceId: string) => void)[] = [];
  #journal: Journal | undefined;

  private constructor(options: PlatformStateOptions) {
    const record = (record: JsonObject): void => this.#journal?.append(record);
    this.#clock = options.clock;
    this.telemetry = new TelemetryStore(options);
    this.registry = new DeviceRegistry(record);
    this.packages = new KeptTable('package', ({ id }) => id, record);
    this.rpcs = new KeptTable('rpc', ({ rpcId }) => rpcId, record);
    this.views = new KeptTable('view', ({ id }) => id.toLowerCase(), record, BUILT_IN_VIEWS);
  }

  /** Reads the data folder, when there is one. */
  static async open(options: PlatformStateOptions): Promise<PlatformState> {
    const state = new PlatformState(options);
    if (options.dataFolder !== undefined) state.#journal = await Journal.open(options.dataFolder, (record) => state.#replay(record));
    const { profiles } = state.registry;
    if (profiles.all.length === 0)
      profiles.put({ id: randomUUID(), name: 'default', isDefault: true, createdMs: options.clock.wallMs(), provisionType: 'DISABLED' });
    return state;
  }

  deleteDevice(id: string): void {
    this.registry.devices.remove(id);
    this.#forget(id);
    for (const listener of this.#deletionListeners) listener(id);
  }

  saveTelemetry({ id }: PlatformDevice, { ts, values }: TimedValues): void {
    this.telemetry.save(id, ts, values);
    this.#journal?.append({ t: 'ts', d: id, ts, v: values });
  }

  setAttributes(deviceId: string, scope: Scope, values: Values): void {
    const at = this.#clock.wallMs();
    this.#journal?.append({ t: 'attributes', d: deviceId, s: scope, v: values, at });
    this.attributes.set(deviceId, scope, values, at);
  }

  removeAttributes(deviceId: string, scope: Scope, keys: readonly string[]): void {
    this.#journal?.append({ t: 'attributes-gone', d: deviceId, s: scope, k: keys });
    this.attributes.remove(deviceId, scope, keys);
  }

  onDeleted(listener: (deviceId: string) => void): void {
    this.#deletionListeners.push(listener);
  }

  close(): void {
    this.#journal?.close();
  }

  #forget(deviceId: string): void {
    this.telemetry.forget(deviceId);
    this.attributes.forget(deviceId);
  }

  #replay(record: JsonObject): void {
    const { devices, profiles } = this.registry;
    for (const table of [devices, profiles, this.packages, this.rpcs, this.views]) table.replay(record);
    // Written above, in these very forms.
    const { t, d, s, k } = record as { readonly t: string; readonly d: string; readonly s: string; readonly k: string[] };
    const { id, ts, v, at } = record as { readonly id: string; readonly ts: number; readonly v: Values; readonly at: number };
    if (t === 'device-gone') this.#forget(id);
    if (t === 'ts') this.telemetry.save(d, ts, v);
    if (t === 'attributes' && isScope(s)) this.attributes.set(d, s, v, at);
    if (t === 'attributes-gone' && isScope(s)) this.attributes.remove(d, s, k);
  }
}
