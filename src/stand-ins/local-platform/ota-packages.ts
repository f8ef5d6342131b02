/** Packages of firmware and software: what there is, which device is to have which, and the shared attributes that say so. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../../values/json.ts';
import type { AssignedPackages, KeptTable, PlatformDevice } from './device-registry.ts';
import { PayloadFault } from './http-reply.ts';
import type { PlatformSettings } from './local-platform-options.ts';
import type { ChecksumAlgorithm, UploadedFile } from './package-file.ts';
import { idIn } from './payload.ts';
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

/** The attributes' prefix and the devices' field, by kind. */
export const OTA_KINDS = {
  FIRMWARE: { prefix: 'fw', field: 'firmwareId' },
  SOFTWARE: { prefix: 'sw', field: 'softwareId' },
} as const satisfies Record<OtaKind, { readonly prefix: string; readonly field: 'firmwareId' | 'softwareId' }>;

export const OTA_KIND_NAMES: readonly OtaKind[] = ['FIRMWARE', 'SOFTWARE'];

const SUFFIXES = ['title', 'version', 'tag', 'size', 'checksum', 'checksum_algorithm', 'url'] as const;

export class OtaPackages {
  readonly #state: PlatformState;
  readonly #settings: PlatformSettings;
  #folder: string | undefined;
  #ownFolder: string | undefined;

  constructor(state: PlatformState, settings: PlatformSettings) {
    this.#state = state;
    this.#settings = settings;
  }

  async remove(id: string): Promise<void> {
    const { packages } = this.#state;
    const path = packages.byId(id)?.file?.path;
    packages.remove(id);
    if (path !== undefined) await rm(path, { force: true });
  }

  /** Where a package's file belongs. */
  async pathFor(id: string): Promise<string> {
    if (this.#folder === undefined) {
      const { dataFolder } = this.#settings;
      if (dataFolder === undefined) this.#ownFolder = await mkdtemp(join(tmpdir(), 'turnstone-packages-'));
      this.#folder = this.#ownFolder ?? join(dataFolder ?? '', 'packages');
      await mkdir(this.#folder, { recursive: true });
    }
    return join(this.#folder, id);
  }

  /** Returns the package that a device is to have now: its own, or its profile's. */
  assigned(device: PlatformDevice, kind: OtaKind): OtaPackage | undefined {
    const { field } = OTA_KINDS[kind];
    const id = device[field] ?? this.#state.registry.profiles.byId(device.profileId)?.[field];
    return id === undefined ? undefined : this.#state.packages.byId(id);
  }

  /** Returns the kind of user that keeps a package in place; undefined when there is none. */
  holderOf(id: string): 'devices' | 'device profile' | undefined {
    const { devices, profiles } = this.#state.registry;
    const holds = ({ firmwareId, softwareId }: AssignedPackages): boolean => firmwareId === id || softwareId === id;
    if (devices.all.some(holds)) return 'devices';
    return profiles.all.some(holds) ? 'device profile' : undefined;
  }

  /** Tells a device of its package, in the real server's order: telemetry of the state, the deletions, then the new values. */
  announce(device: PlatformDevice, kind: OtaKind): void {
    const state = this.#state;
    const { prefix } = OTA_KINDS[kind];
    const ota = this.assigned(device, kind);
    const values = ota === undefined ? {} : this.#attributes(ota, prefix);
    if (ota !== undefined) {
      const ts = this.#settings.clock.wallMs();
      const tag: Record<string, StoredValue> = ota.tag === undefined ? {} : { [`target_${prefix}_tag`]: ota.tag };
      const target = {
        [`target_${prefix}_title`]: ota.title,
        [`target_${prefix}_version`]: ota.version,
        [`target_${prefix}_ts`]: ts,
      };
      state.saveTelemetry(device, { ts, values: { ...target, ...tag, [`${prefix}_state`]: 'QUEUED' } });
      state.saveTelemetry(device, { ts: ts + 1, values: { [`${prefix}_state`]: 'INITIATED' } });
    }
    const gone = SUFFIXES.map((suffix) => `${prefix}_${suffix}`).filter((key) => !Object.hasOwn(values, key));
    state.removeAttributes(device.id, 'SHARED_SCOPE', gone);
    if (ota !== undefined) state.setAttributes(device.id, 'SHARED_SCOPE', values);
  }

  /** Removes files that are in no data folder. */
  async close(): Promise<void> {
    if (this.#ownFolder !== undefined) await rm(this.#ownFolder, { recursive: true, force: true });
  }

  #attributes(
    { title, version, tag, url, file, checksum, checksumAlgorithm }: OtaPackage,
    prefix: 'fw' | 'sw',
  ): Record<string, StoredValue> {
    const size = file === undefined || this.#settings.wholeFileFirmware ? undefined : file.until - file.from;
    const values = { title, version, tag, url, size, checksum, checksum_algorithm: checksumAlgorithm };
    return Object.fromEntries(
      Object.entries(values).flatMap(([suffix, value]) =>
        value === undefined ? [] : [[`${prefix}_${suffix}`, value]],
      ),
    );
  }
}

/** The packages that a body assigns, with those of before where it says nothing. @throws PayloadFault for one without a file. */
export function assignedIn(
  body: JsonObject,
  before: AssignedPackages,
  packages: KeptTable<OtaPackage>,
): AssignedPackages {
  const assigned: { -readonly [Field in keyof AssignedPackages]: AssignedPackages[Field] } = {};
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
