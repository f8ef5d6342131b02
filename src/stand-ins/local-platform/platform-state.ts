/** Everything the local platform keeps: each change goes to the stores and to the journal, a file of JSON lines that survives the end of the process. */

import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../host/clock.ts';
import { isJsonObject, type JsonObject, parseJsonNumbers, stringifyJson } from '../../values/json.ts';
import { LineReader } from '../../values/line-reader.ts';
import { BUILT_IN_VIEWS, type SavedView } from './analytics-report.ts';
import { AttributeStore, isScope, type Scope } from './attribute-store.ts';
import { DeviceRegistry, KeptTable, type PlatformDevice } from './device-registry.ts';
import type { LibraryItem } from './library-item.ts';
import type { OtaPackage } from './ota-packages.ts';
import type { TimedValues } from './payload.ts';
import type { PersistentRpc } from './rpc-broker.ts';
import { type StoredValue, spelledNumber } from './stored-value.ts';
import { TelemetryStore } from './telemetry-store.ts';

const FILE = 'platform.jsonl';
const HEAD: JsonObject = { t: 'format', format: 'turnstone-local-platform', version: 1 };

export class Journal {
  readonly #file: number;
  #lines: string[] = [];
  #closed = false;

  private constructor(file: number) {
    this.#file = file;
  }

  /** Opens the folder's file, giving every record of it to `replay` in order. Throws when the file is another program's. */
  static async open(folder: string, replay: (record: JsonObject) => void): Promise<Journal> {
    mkdirSync(folder, { recursive: true, mode: 0o750 });
    const path = join(folder, FILE);
    const file = openSync(path, 'a+', 0o600);
    let wholeBytes = 0;
    try {
      wholeBytes = await readLines(path, (line) => {
        const record = recordIn(line);
        if (record?.t === 'format') checkFormat(record);
        else if (record !== undefined) replay(record);
      });
      ftruncateSync(file, wholeBytes);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    const journal = new Journal(file);
    if (wholeBytes === 0) journal.append(HEAD);
    return journal;
  }

  /** Written when the code that runs now is done, together with what else it appends: before any answer of it leaves. */
  append(record: JsonObject): void {
    if (this.#closed) return;
    if (this.#lines.length === 0) queueMicrotask(() => this.#write());
    this.#lines.push(`${stringifyJson(record)}\n`);
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#write();
    this.#closed = true;
    closeSync(this.#file);
  }

  #write(): void {
    const text = this.#lines.splice(0).join('');
    if (text !== '') writeSync(this.#file, text);
  }
}

/** Calls back for each whole line; answers the bytes up to the end of the last one. */
async function readLines(path: string, onLine: (line: string) => void): Promise<number> {
  const reader = new LineReader(Number.POSITIVE_INFINITY);
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (const line of reader.readLines(chunk) ?? []) onLine(line);
  }
  return bytes - reader.heldBytes;
}

/** A damaged line costs only itself. */
function recordIn(line: string): JsonObject | undefined {
  try {
    const record = parseJsonNumbers(line, spelledNumber, { depth: 512 });
    return isJsonObject(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function checkFormat({ format, version }: JsonObject): void {
  if (format === HEAD.format && version === HEAD.version) return;
  throw new Error(
    `the data folder holds ${String(format)} version ${String(version)}, not ${String(HEAD.format)} version ${String(HEAD.version)}`,
  );
}

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
  readonly dashboards: KeptTable<LibraryItem>;
  readonly customers: KeptTable<LibraryItem>;
  readonly calculatedFields: KeptTable<LibraryItem>;
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
    this.dashboards = new KeptTable('dashboard', ({ id }) => id, record);
    this.customers = new KeptTable('customer', ({ id }) => id, record);
    this.calculatedFields = new KeptTable('calculatedField', ({ id }) => id, record);
    this.views = new KeptTable('view', ({ id }) => id.toLowerCase(), record, BUILT_IN_VIEWS);
  }

  /** Reads the data folder, when there is one. */
  static async open(options: PlatformStateOptions): Promise<PlatformState> {
    const state = new PlatformState(options);
    if (options.dataFolder !== undefined)
      state.#journal = await Journal.open(options.dataFolder, (record) => state.#replay(record));
    const { profiles } = state.registry;
    if (profiles.all.length === 0)
      profiles.put({
        id: randomUUID(),
        name: 'default',
        isDefault: true,
        createdMs: options.clock.wallMs(),
        provisionType: 'DISABLED',
      });
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
    const { packages, rpcs, views, dashboards, customers, calculatedFields } = this;
    for (const table of [devices, profiles, packages, rpcs, views, dashboards, customers, calculatedFields])
      table.replay(record);
    // Written above, in these very forms.
    const { t, d, s, k } = record as {
      readonly t: string;
      readonly d: string;
      readonly s: string;
      readonly k: string[];
    };
    const { id, ts, v, at } = record as {
      readonly id: string;
      readonly ts: number;
      readonly v: Values;
      readonly at: number;
    };
    if (t === 'device-gone') this.#forget(id);
    if (t === 'ts') this.telemetry.save(d, ts, v);
    if (t === 'attributes' && isScope(s)) this.attributes.set(d, s, v, at);
    if (t === 'attributes-gone' && isScope(s)) this.attributes.remove(d, s, k);
  }
}
