/** The installed service while its configuration is changed from afar and on site: ways in, what a start does with a file, and what is true after each change. */
import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';
import type { CommandResult } from './command-channel.ts';
import type { Guest } from './guest.ts';
import { type PlatformView, until } from './platform-view.ts';
import { signed } from './release.ts';

export const FILE = '/etc/turnstone/turnstone.yaml';
/** Authority that has signed nothing, in the guest. */
export const OTHER_CA = '/etc/turnstone/other-ca.pem';
const PACKAGE_TITLE = 'turnstone-configuration';
/** The shortest that there is. */
const TRIAL = '1m';
/** Section of the configuration of a service that takes changes. */
export const ALLOWED = `remoteConfiguration: { enabled: true, trial: ${TRIAL}, allow: [platform, outputs] }`;
/** From the hand-over to the platform's word: the trial, the guard's 30 s and the restarts, with software emulation. */
const END_DEADLINE_MS = 300_000;
const START_DEADLINE_MS = 180_000;
const FOLDER = '/var/lib/turnstone-guard/configuration';

/** Words in the file at which a start fails in its own way: what no schema sees. */
export const STARTS = { refuses: 'lab-refuses', crashes: 'lab-crashes', hangs: 'lab-hangs' } as const;

const DROP_IN = '/etc/systemd/system/turnstone.service.d';
/** A drop-in that has the unit's program fail by these words, inside the unit's walls. */
const FAILING_STARTS = `mkdir -p ${DROP_IN}
cat >${DROP_IN}/lab.conf <<'END'
[Service]
ExecStart=
ExecStart=/bin/sh -c 'case $$(cat ${FILE}) in *${STARTS.refuses}*) exit 78 ;; *${STARTS.crashes}*) exit 3 ;; *${STARTS.hangs}*) exec sleep 3600 ;; esac; exec /opt/turnstone/current/turnstone run --config ${FILE}'
END
sync; systemctl daemon-reload
`;

export interface Patch {
  readonly set?: JsonObject;
  readonly remove?: readonly string[];
  readonly add?: JsonObject;
  readonly base?: string;
}

interface TrialState {
  readonly state: string;
  readonly hash: string;
  readonly atMs: number;
  readonly reason?: string;
}

export interface Machine {
  /** The guest as it runs now; a power cut makes another. */
  readonly guest: () => Guest;
  readonly view: PlatformView;
  readonly device: string;
}

export class ConfigurationBench {
  readonly #machine: Machine;
  #patches = 0;
  #lastAtMs: number | undefined;
  /** Changes that were held against what has to be true after each, and how many of them locked the gateway out. */
  readonly counts = { changes: 0, lockedOut: 0 };

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  get guest(): Guest {
    return this.#machine.guest();
  }

  /** Makes one change, and holds what has to be true after it: the service runs with the file that `change` names, and the platform knows. */
  async make(change: (bench: ConfigurationBench) => Promise<string>): Promise<void> {
    // Reading the units anew takes seconds under emulation.
    await this.guest.run(`[ -s ${DROP_IN}/lab.conf ] || { ${FAILING_STARTS} }`);
    this.#lastAtMs ??= (await this.#said())?.atMs ?? 0;
    await this.#holds(await change(this));
  }

  /** Has the service start again as it was installed. */
  async mendStarts(): Promise<void> {
    await this.guest.run(`rm -rf ${DROP_IN}; systemctl daemon-reload`);
  }

  async text(): Promise<string> {
    return await this.guest.run(`cat ${FILE}`);
  }

  async hash(): Promise<string> {
    return sha256(await this.text());
  }

  /** Asks by RPC; a whole file or a patch of the file in place. */
  async byRpc({ base, ...patch }: Patch): Promise<JsonObject> {
    const { view, device } = this.#machine;
    const whole = { base: base ?? (await this.hash()), ...patch };
    const answer = await view.rpc(device, 'configure', { patch: whole } as unknown as JsonValue);
    const { result = answer } = answer as JsonObject;
    return result as JsonObject;
  }

  async byAttribute({ base, ...patch }: Patch): Promise<void> {
    const { view, device } = this.#machine;
    const configurationPatch = { base: base ?? (await this.hash()), ...patch };
    await view.share(device, { configurationPatch } as unknown as JsonObject);
  }

  /** Assigns a whole file as the device's software, and returns its hash. */
  async byPackage(text: string): Promise<string> {
    const { view, device } = this.#machine;
    this.#patches += 1;
    const owner = (await view.call('GET', `/api/device/${device}`)) as JsonObject;
    const made = (await view.call('POST', '/api/otaPackage', {
      title: PACKAGE_TITLE,
      version: `${this.#patches}`,
      type: 'SOFTWARE',
      deviceProfileId: owner.deviceProfileId ?? null,
    })) as { readonly id: { readonly id: string } };
    const form = new FormData();
    form.append('file', new File([new Uint8Array(await signed(text))], 'turnstone.yaml.signed'));
    await view.call('POST', `/api/otaPackage/${made.id.id}?checksumAlgorithm=SHA256`, form);
    await view.call('POST', '/api/device', { ...owner, softwareId: { id: made.id.id, entityType: 'OTA_PACKAGE' } });
    return sha256(text);
  }

  async byCommand(words: string): Promise<CommandResult> {
    return await this.guest.attempt(`turnstone configure ${words}`, { deadlineMs: END_DEADLINE_MS });
  }

  /** Asks root as whoever holds the service's user could: no schema and no agent has looked at the file. */
  async byServiceUser(text: string, needs: 'reload' | 'restart'): Promise<void> {
    const [before, hash] = [await this.hash(), sha256(text)];
    const request = `request=configure\nid=lab-${hash.slice(0, 20)}\nhash=${hash}\nbefore=${before}\ntrialS=60\nneeds=${needs}\norigin=patch\nbootId=%s\naskedAtMs=%s`;
    await this.guest.run(`cd /var/lib/turnstone/firmware && printf %s '${text.replaceAll("'", "'\\''")}' >configuration &&
      printf '${request}\\n' "$(cat /proc/sys/kernel/random/boot_id)" "$(sed 's/[.]\\(..\\).*/\\10/' /proc/uptime)" >request.lab && chown turnstone:turnstone configuration request.lab && mv request.lab request`);
  }

  /** Waits until root has the trial on, and returns the hash of the file on trial. */
  async onTrial(): Promise<string> {
    return await until(
      'a trial',
      async () => {
        const { stdout } = await this.guest.attempt(`sed -n s/^hash=//p ${FOLDER}/state`);
        const hash = stdout.trim();
        return hash !== '' && (await this.hash()) === hash ? hash : undefined;
      },
      START_DEADLINE_MS,
    );
  }

  /** Waits until the platform has this end of what was asked last. */
  async told(state: 'kept' | 'returned' | 'refused', hash?: string): Promise<TrialState> {
    const said = await this.ended(hash);
    if (said.state !== state) throw new Error(`${said.state} instead of ${state}: ${said.reason}`);
    return said;
  }

  /** Waits until the platform has any end of what was asked last. */
  async ended(hash?: string): Promise<TrialState> {
    const said = await until(
      'the platform to hear the end',
      async () => {
        const newest = await this.#said();
        if (newest === undefined || newest.atMs <= (this.#lastAtMs ?? 0)) return undefined;
        if (!['kept', 'returned', 'refused'].includes(newest.state)) return undefined;
        if (hash !== undefined && newest.hash !== hash) return undefined;
        return newest;
      },
      END_DEADLINE_MS,
    );
    this.#lastAtMs = said.atMs;
    return said;
  }

  async #said(): Promise<TrialState | undefined> {
    const { view, device } = this.#machine;
    const value = await view.attribute(device, 'CLIENT_SCOPE', 'configurationState');
    return value as unknown as TrialState | undefined;
  }

  /** Waits until this file is in place, the service runs with it, no trial is left, and the platform knows. */
  async #holds(hash: string): Promise<void> {
    const { view, device } = this.#machine;
    this.counts.changes += 1;
    this.counts.lockedOut += 1;
    await until(
      `the service to run with ${hash.slice(0, 12)}, and the platform to know`,
      async () => {
        const { stdout } = await this.guest.attempt(
          `sha256sum <${FILE}; systemctl is-active turnstone; ls ${FOLDER}/state /etc/turnstone/.turnstone.yaml.before-trial 2>/dev/null; systemctl is-active turnstone-trial.timer`,
        );
        const isHeld = stdout === `${hash}  -\nactive\ninactive\n`;
        return (isHeld && (await view.attribute(device, 'CLIENT_SCOPE', 'configFileHash')) === hash) || undefined;
      },
      END_DEADLINE_MS,
    );
    this.counts.lockedOut -= 1;
  }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
