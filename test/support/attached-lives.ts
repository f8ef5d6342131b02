/**
 * A gateway whose power is cut again and again while its attached devices are provisioned: each life has the disk that the one before left, and
 * ends at a change of the disk, before a request, or with the answer to one under way.
 */
import type { DeviceConfig } from '../../src/config/schema/devices.ts';
import { DeviceNames } from '../../src/devices/device-names.ts';
import { Devices } from '../../src/devices/devices.ts';
import { DEVICE_NAMES_FORMAT } from '../../src/devices/kept-names.ts';
import { AgentLog } from '../../src/host/log.ts';
import { systemRandomBytes } from '../../src/host/random.ts';
import { EntryColumns } from '../../src/outbox/format/entry-columns.ts';
import type { DeviceApi } from '../../src/platform/device-api.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import { requestProvisioning } from '../../src/platform/provision-request.ts';
import { StateFile } from '../../src/store/state-file.ts';
import { placeName } from '../../src/telemetry/held-devices.ts';
import { Mortality } from '../simulation/mortal.ts';
import { FakeClock } from './fake-clock.ts';
import { type CutAt, MemoryFiles } from './memory-files.ts';

export type Death =
  | { readonly atChange: number; readonly place: CutAt }
  /** Before the so-many-th request, or with its answer on the way. */
  | { readonly atRequest: number; readonly place: 'before' | 'after' };

export interface LivesSettings {
  readonly gateway: string;
  readonly url: string;
  readonly slots: readonly DeviceConfig[];
  /** Serial number of the thing in a slot. */
  readonly serialOf: (slot: string) => string;
  readonly secret: { readonly deviceKey: string; readonly deviceSecret: string };
  /** Chance of what a power cut leaves. */
  readonly random: () => number;
}

/** What became of the devices of a life that was not cut: `ready`, or the reason why not. */
export type Outcomes = ReadonlyMap<string, string>;

const FOLDER = '/state/devices';
const never = new AbortController().signal;

export class AttachedLives {
  readonly files = new MemoryFiles({ keepsChanges: false });
  readonly #settings: LivesSettings;

  constructor(settings: LivesSettings) {
    this.#settings = settings;
  }

  /** One life; resolves to undefined when it met its death, else when each device has credentials and a reading on the platform, or is blocked. */
  async live(death?: Death): Promise<Outcomes | undefined> {
    const { gateway, slots, serialOf, random } = this.#settings;
    const life = new Mortality();
    const died = Promise.withResolvers<undefined>();
    const die = (): void => {
      life.kill();
      died.resolve(undefined);
    };
    const forget =
      death !== undefined && 'atChange' in death ? this.files.cutAt(death.atChange, death.place, die) : () => {};
    const [clock, files, log] = [new FakeClock(), life.bind(this.files), quietLog()];
    const path = '/state/device-names.json';
    const names = await DeviceNames.open({
      file: new StateFile({ ...DEVICE_NAMES_FORMAT, path, files, clock, log }),
      clock,
      log,
      gatewayName: () => gateway,
      matches: () => true,
    });
    names.configure(slots);
    const devices = this.#devices({ life, names, clock, log, die, death });
    const ended = new AbortController();
    const running = devices.run(ended.signal);
    for (const { name, serialNumber } of slots)
      for (let time = 0; serialNumber !== undefined && time < 2; time += 1)
        devices.observe(name, serialNumber.key, serialOf(name));
    const outcomes = await Promise.race([died.promise, this.#outcomes(devices, names)]);
    forget();
    if (outcomes === undefined) {
      // What had reached the kernel is done first.
      await new Promise(setImmediate);
      this.files.cutPower(() => random() < 0.5);
      return undefined;
    }
    ended.abort();
    await running;
    await names.close();
    return outcomes;
  }

  #devices(parts: {
    readonly life: Mortality;
    readonly names: DeviceNames;
    readonly clock: FakeClock;
    readonly log: AgentLog;
    readonly die: () => void;
    readonly death: Death | undefined;
  }): Devices {
    const { life, names, clock, log, die, death } = parts;
    const { url, secret } = this.#settings;
    let requests = 0;
    /** A request that the death may fall upon. */
    const mortal = <A extends unknown[], R>(ask: (...args: A) => Promise<R>): ((...args: A) => Promise<R>) =>
      life.guard(async (...args) => {
        requests += 1;
        const isLast = death !== undefined && 'atRequest' in death && death.atRequest === requests;
        if (isLast && death.place === 'before') die();
        const answer = await life.guard(ask)(...args);
        if (isLast) die();
        return answer;
      });
    const provisioning = { deviceName: 'gateway', onUnauthorised: 'hold' as const };
    const devices = new Devices({
      names,
      log,
      placeName,
      clock,
      files: life.bind(this.files),
      randomBytes: systemRandomBytes,
      board: { hostname: 'board' },
      folder: `${FOLDER}/known`,
      credentials: (id) => ({ provisioning: { ...provisioning, deviceName: names.nameOf(id), secret } }),
      permission: { held: undefined, settle: async () => {} },
      isConnected: () => true,
      onAccepted: () => {},
      beside: async () => {},
    });
    const openApi = (token: () => string): DeviceApi => {
      const api = new HttpDeviceApi({ settings: { url }, clock, token });
      return new Proxy(api, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? mortal(value.bind(target) as () => Promise<unknown>) : value;
        },
      });
    };
    devices.open({
      openApi,
      openProbe: (token) => openApi(() => token),
      provision: mortal((request, signal) => requestProvisioning(request, { settings: { url }, clock }, signal)),
    });
    return devices;
  }

  async #outcomes(devices: Devices, names: DeviceNames): Promise<Outcomes> {
    const outcomes = new Map<string, string>();
    for (const { name: slot } of this.#settings.slots) {
      const id = names.idOf(slot);
      const device = devices.expect(id);
      while (device.state === 'provisioning') await new Promise((resolve) => setTimeout(resolve, 1));
      const answer = await devices.post(id, EntryColumns.of([{ ...ENTRY, device: id, value: slot }]), never);
      outcomes.set(device.name, answer.kind === 'accepted' ? 'ready' : (device.reason ?? answer.kind));
    }
    return outcomes;
  }
}

const ENTRY = { sequence: 1, key: 'slot', ts: 1_700_000_000_000, class: 'regular' } as const;

function quietLog(): AgentLog {
  return new AgentLog({ level: 'error', clock: new FakeClock(), sink: { write: () => {} } });
}
