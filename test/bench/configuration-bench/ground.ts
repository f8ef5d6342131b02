/** Ground of all worlds: the files that configurations name, on the real disk, the configuration that each begins with, and a reader that reads nothing twice. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ReadConfig, readConfig } from '../../../src/config/read-config.ts';
import type { RemoteAllowance } from '../../../src/config/schema/agent-config.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { fileHash } from '../../../src/remote-config/file-hash.ts';

export const PLATFORM_URL = 'https://iot.example.org';
export const TOKEN = 'the-token-of-this-gateway';
export const CONFIG_FILE = '/etc/turnstone/turnstone.yaml';
/** Lines of outputs that something else holds. */
export const HELD_LINE = 'GPIO5';

export interface BaseOptions {
  readonly allow: readonly RemoteAllowance[];
  readonly trial: string;
  /** False: the output of the router has no state for the start. */
  readonly hasSafeStart: boolean;
}

export class Ground {
  readonly folder: string;
  readonly #read = new Map<string, Promise<ReadConfig>>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<Ground> {
    const ground = new Ground(await mkdtemp(join(tmpdir(), 'turnstone-configurations-')));
    const dates = { fromMs: Date.UTC(2025, 0, 1), untilMs: Date.UTC(2045, 0, 1) };
    for (const name of ['ca', 'other-ca'])
      await writeFile(join(ground.folder, `${name}.pem`), makeCertificate({ names: [name], ...dates }).cert);
    await writeFile(join(ground.folder, 'proxy'), 'http://proxy.example.org:3128\n', { mode: 0o600 });
    await writeFile(join(ground.folder, 'token'), `${TOKEN}\n`, { mode: 0o600 });
    await writeFile(join(ground.folder, 'other-token'), 'the-token-of-nobody\n', { mode: 0o600 });
    return ground;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  base({ allow, trial, hasSafeStart }: BaseOptions): string {
    return `version: 1
remoteConfiguration: { enabled: true, allow: [${allow.join(', ')}], trial: ${trial} }
# The way to the platform.
platform:
  url: ${PLATFORM_URL}
  accessTokenFile: ${this.path('token')}
  caFile: ${this.path('ca.pem')}

sensors:
  # The machine itself is read often.
  - { name: roof, kind: host, period: 10s }
  - name: board
    kind: tmp102
    address: 0x48 # its only place
    period: 20s
    keys: { temperature: { rename: boardTemperature, deadband: 0.1 } }
  - name: door
    kind: gpio-input
    line: GPIO17
    period: 30s

actuators:
  - { name: pump, kind: gpio-output, line: GPIO27, safe: { start: off, stop: off }, limits: { maxOn: 10m } }
  - { name: router, kind: gpio-output, line: GPIO22${hasSafeStart ? ', safe: { start: on }' : ''} }

rules:
  - name: drain
    when: { sensor: board, key: boardTemperature, above: 60, hysteresis: 5 }
    set: { actuator: pump, value: on }
    otherwise: off
`;
  }

  /** Reads bytes as the agent does; the same ones once. */
  read(bytes: Uint8Array): Promise<ReadConfig> {
    const hash = fileHash(bytes);
    const known = this.#read.get(hash);
    if (known !== undefined) return known;
    const reading = readConfig(CONFIG_FILE, { environment: {}, bytes });
    this.#read.set(hash, reading);
    return reading;
  }

  /** Forgets what a world has read, so that ten thousand of them do not fill the memory. */
  forget(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#read.delete(hash);
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true });
  }
}
