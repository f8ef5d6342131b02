/** Packages of firmware and software: what there is, which device is to have which, and the shared attributes that say so. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { idIn } from './entities.ts';
import type { UploadedFile } from './multipart.ts';
import type { ChecksumAlgorithm } from './package-checksum.ts';
import { PayloadFault } from './payload-fault.ts';
import type { PlatformState } from './platform-state.ts';
import type { StoredValue } from './stored-value.ts';

export type OtaKind = 'FIRMWARE' | 'SOFTWARE';

export interface OtaPackage {
  readonly id: string;
  readonly kind: OtaKind;
  readonly title: string;
  readonly version: string;
  readonly tag?: string;
  readonly deviceProfileId?: string;
  readonly createdMs: number;
  /** The file lives elsewhere. */
  readonly url?: string;
  readonly file?: UploadedFile;
  readonly checksum?: string;
  readonly checksumAlgorithm?: ChecksumAlgorithm;
}

export interface OtaPackagesDeps {
  readonly state: PlatformState;
  readonly clock: Clock;
  readonly dataFolder?: string;
  /** Knows only the contract: no size among the attributes, no chunks. */
  readonly wholeFileOnly: boolean;
}

/** The attributes' prefix and the devices' field, by kind. */
export const OTA_KINDS = {
  FIRMWARE: { prefix: 'fw', field: 'firmwareId' },
  SOFTWARE: { prefix: 'sw', field: 'softwareId' },
} as const satisfies Record<OtaKind, { readonly prefix: string; readonly field: 'firmwareId' | 'softwareId' }>;

export const OTA_KIND_NAMES: readonly OtaKind[] = ['FIRMWARE', 'SOFTWARE'];

const SUFFIXES = ['title', 'version', 'tag', 'size', 'checksum', 'checksum_algorithm', 'url'] as const;

export class OtaPackages {
  readonly #deps: OtaPackagesDeps;
  readonly #packages = new Map<string, OtaPackage>();
  #folder: string | undefined;
  #ownFolder: string | undefined;

  constructor(deps: OtaPackagesDeps) {
    this.#deps = deps;
  }

  get all(): readonly OtaPackage[] {
    return [...this.#packages.values()];
  }

  byId(id: string): OtaPackage | undefined {
    return this.#packages.get(id);
  }

  put(ota: OtaPackage): void {
    this.#packages.set(ota.id, ota);
    this.#deps.state.record({ t: 'package', package: JSON.parse(JSON.stringify(ota)) as JsonObject });
  }

  async remove(id: string): Promise<void> {
    const path = this.#packages.get(id)?.file?.path;
    this.#packages.delete(id);
    this.#deps.state.record({ t: 'package-gone', id });
    if (path !== undefined) await rm(path, { force: true });
  }

  /** Takes back what a data folder's journal says. */
  replay(record: JsonObject): void {
    if (record.t === 'package' && isJsonObject(record.package)) {
      // Written by `put`, in this very form.
      const ota = record.package as unknown as OtaPackage;
      this.#packages.set(ota.id, ota);
    } else if (record.t === 'package-gone' && typeof record.id === 'string') this.#packages.delete(record.id);
  }

  /** Where a package's file belongs. */
  async pathFor(id: string): Promise<string> {
    if (this.#folder === undefined) {
      const { dataFolder } = this.#deps;
      if (dataFolder === undefined) this.#ownFolder = await mkdtemp(join(tmpdir(), 'turnstone-packages-'));
      this.#folder = this.#ownFolder ?? join(dataFolder ?? '', 'packages');
      await mkdir(this.#folder, { recursive: true });
    }
    return join(this.#folder, id);
  }

  /** What a device is to have now: its own package, or its profile's. */
  assigned(device: PlatformDevice, kind: OtaKind): OtaPackage | undefined {
    const { field } = OTA_KINDS[kind];
    const id = device[field] ?? this.#deps.state.registry.profile(device.profileId)?.[field];
    return id === undefined ? undefined : this.#packages.get(id);
  }

  /** Who is to have a package, so that it must stay; undefined when nobody is. */
  holderOf(id: string): 'devices' | 'device profile' | undefined {
    const { devices, profiles } = this.#deps.state.registry;
    const holds = ({ firmwareId, softwareId }: { readonly firmwareId?: string; readonly softwareId?: string }): boolean =>
      firmwareId === id || softwareId === id;
    if (devices.some(holds)) return 'devices';
    return profiles.some(holds) ? 'device profile' : undefined;
  }

  /** Tells a device of its package, in the real server's order: telemetry of the state, the deletions, then the new values. */
  announce(device: PlatformDevice, kind: OtaKind): void {
    const { state, clock } = this.#deps;
    const { prefix } = OTA_KINDS[kind];
    const ota = this.assigned(device, kind);
    if (ota === undefined) {
      state.removeAttributes(
        device.id,
        'SHARED_SCOPE',
        SUFFIXES.map((suffix) => `${prefix}_${suffix}`),
      );
      return;
    }
    const ts = clock.wallMs();
    const tag: Record<string, StoredValue> = ota.tag === undefined ? {} : { [`target_${prefix}_tag`]: ota.tag };
    const target = { [`target_${prefix}_title`]: ota.title, [`target_${prefix}_version`]: ota.version, [`target_${prefix}_ts`]: ts };
    state.saveTelemetry(device, { ts, values: { ...target, ...tag, [`${prefix}_state`]: 'QUEUED' } });
    state.saveTelemetry(device, { ts: ts + 1, values: { [`${prefix}_state`]: 'INITIATED' } });
    const values = this.#attributes(ota, prefix);
    const gone = SUFFIXES.map((suffix) => `${prefix}_${suffix}`).filter((key) => !Object.hasOwn(values, key));
    state.removeAttributes(device.id, 'SHARED_SCOPE', gone);
    state.setAttributes(device.id, 'SHARED_SCOPE', values);
  }

  /** Removes files that are in no data folder. */
  async close(): Promise<void> {
    if (this.#ownFolder !== undefined) await rm(this.#ownFolder, { recursive: true, force: true });
  }

  #attributes(ota: OtaPackage, prefix: 'fw' | 'sw'): Record<string, StoredValue> {
    const { title, version, tag, url, file, checksum, checksumAlgorithm } = ota;
    const values: Record<string, StoredValue> = { [`${prefix}_title`]: title, [`${prefix}_version`]: version };
    if (tag !== undefined) values[`${prefix}_tag`] = tag;
    if (url !== undefined) values[`${prefix}_url`] = url;
    if (file !== undefined && !this.#deps.wholeFileOnly) values[`${prefix}_size`] = file.until - file.from;
    if (checksum !== undefined) values[`${prefix}_checksum`] = checksum;
    if (checksumAlgorithm !== undefined) values[`${prefix}_checksum_algorithm`] = checksumAlgorithm;
    return values;
  }
}

/** The packages that a body assigns, with those of before where it says nothing. @throws PayloadFault for one without a file. */
export function assignedIn(
  body: JsonObject,
  before: { readonly firmwareId?: string | undefined; readonly softwareId?: string | undefined },
  packages: OtaPackages,
): { readonly firmwareId?: string; readonly softwareId?: string } {
  const assigned: { firmwareId?: string; softwareId?: string } = {};
  for (const kind of OTA_KIND_NAMES) {
    const { field } = OTA_KINDS[kind];
    const id = Object.hasOwn(body, field) ? idIn(body[field]) : before[field];
    if (id === undefined) continue;
    const ota = packages.byId(id);
    if (ota === undefined) throw new PayloadFault(`Can't assign non-existent ${kind.toLowerCase()}!`);
    if (ota.file === undefined && ota.url === undefined)
      throw new PayloadFault(`Can't assign ${kind.toLowerCase()} that doesn't have data!`);
    assigned[field] = id;
  }
  return assigned;
}
