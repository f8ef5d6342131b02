/** DeviceSlots over a virtual clock, disk and platform; only the HTTP client is not the real one. */

import { DeviceSlots } from '../../src/agent/device-slots.ts';
import { SlotsControl } from '../../src/agent/slots-control.ts';
import { type AgentConfig, configSchema } from '../../src/config/schema/agent-config.ts';
import type { Permission } from '../../src/devices/device.ts';
import { DeviceNames } from '../../src/devices/device-names.ts';
import { slotCredentials } from '../../src/devices/device-settings.ts';
import { Devices, type DevicesDeps } from '../../src/devices/devices.ts';
import { DEVICE_NAMES_FORMAT } from '../../src/devices/kept-names.ts';
import type { BoardIdentity } from '../../src/host/identity.ts';
import { silentLog } from '../../src/host/log.ts';
import { keepRunning } from '../../src/host/loops.ts';
import { openOutbox } from '../../src/outbox/open-outbox.ts';
import type { PatientOutbox } from '../../src/outbox/outbox.ts';
import type {
  DeviceApi,
  ProvisionAnswer,
  ProvisionRequest,
  TelemetryRows,
  UploadAnswer,
} from '../../src/platform/device-api.ts';
import { PlatformError } from '../../src/platform/platform-error.ts';
import { StateFile } from '../../src/store/state-file.ts';
import { FanOut } from '../../src/telemetry/fan-out.ts';
import { HeldDevices, placeName } from '../../src/telemetry/held-devices.ts';
import { Uploader } from '../../src/telemetry/uploader.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';
import { FakeTimeSync } from './outbox-fixture.ts';

export interface Arrived {
  readonly device: string;
  readonly key: string;
  readonly token: string;
}

/** Devices by name, with tokens, as the platform has them. */
export class FakePlatform {
  readonly tokens = new Map<string, string>();
  readonly arrived: Arrived[] = [];
  isAway = false;
  secret = 'right';
  uploadAnswer: (device: string) => UploadAnswer | undefined = () => undefined;
  asked: string[] = [];

  provision = async ({ deviceName, provisionDeviceSecret, token = '' }: ProvisionRequest): Promise<ProvisionAnswer> => {
    if (this.isAway) throw new PlatformError('busy', 'connection refused');
    this.asked.push(deviceName);
    if (provisionDeviceSecret !== this.secret)
      return { status: 'NOT_FOUND', errorMsg: 'Provision data was not found!' };
    if (this.tokens.has(deviceName)) return { status: 'FAILURE', errorMsg: 'Failed to provision device!' };
    this.tokens.set(deviceName, token);
    return { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: token };
  };

  openProbe = (token: string): DeviceApi => this.openApi(() => token);

  openApi = (token: () => string): DeviceApi => {
    const known = (): string | undefined => [...this.tokens].find(([, one]) => one === token())?.[0];
    const expect = async (): Promise<void> => {
      if (this.isAway) throw new PlatformError('busy', 'connection refused');
      if (known() === undefined) throw new PlatformError('unauthorised', 'no such token', { status: 401 });
    };
    const api: Partial<DeviceApi> = {
      postTelemetry: async (rows: TelemetryRows) => {
        if (this.isAway) return { kind: 'busy', text: 'connection refused' };
        const device = known();
        if (device === undefined) return { kind: 'unauthorised', status: 401, text: '' };
        const answer = this.uploadAnswer(device) ?? { kind: 'accepted' };
        if (answer.kind === 'accepted') for (const key of rows.keys) this.arrived.push({ device, key, token: token() });
        return answer;
      },
      prepareTelemetry: () => {},
      postAttributes: expect,
      getAttributes: async () => {
        await expect();
        return { client: {}, shared: {}, empty: true };
      },
      claim: expect,
      close: async () => {},
    };
    return api as DeviceApi;
  };
}

/** Permission of a device that waits for nobody. */
function permissionOf(held: () => string | undefined): Permission {
  return {
    get held() {
      return held();
    },
    settle: async () => {},
  };
}

const BOARD: BoardIdentity = {
  hostname: 'roof',
  serial: 'board-1',
  machineId: 'machine-1',
  mac: '00:11:22:33:44:55',
} as BoardIdentity;

export class PartsBench {
  readonly clock: FakeClock;
  readonly files: MemoryFiles;
  readonly platform: FakePlatform;
  config: AgentConfig;
  board = BOARD;
  outbox!: PatientOutbox;
  names!: DeviceNames;
  devices!: Devices;
  held!: HeldDevices;
  control!: SlotsControl;
  counts!: DeviceSlots['counts'];
  readonly logged: string[] = [];
  /** The gateway itself has no credentials yet. */
  skipsWay = false;
  /** Why the gateway itself may not speak to the platform. */
  notConnected: string | undefined;
  beside: DevicesDeps['beside'] = async (device, signal) => {
    // As DeviceSlots.
    for (const { device: kept } of this.held.list()) if (this.names.resolve(kept) === device.id) this.held.retry(kept);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  };
  readonly #stop = new AbortController();

  constructor(config: JsonObject, before?: PartsBench) {
    this.clock = before?.clock ?? new FakeClock({ jitter: 0.5 });
    this.files = before?.files ?? new MemoryFiles();
    this.platform = before?.platform ?? new FakePlatform();
    this.config = configSchema.parse({
      version: 1,
      platform: { url: 'http://p', accessToken: 'secret-token' },
      outbox: { commitAge: '100ms' },
      stateFolder: '/state',
      runFolder: '/run',
      provisioning: { deviceName: 'roof', deviceKey: 'key', deviceSecret: 'right' },
      ...config,
    });
  }

  async start(): Promise<this> {
    const { clock, files, platform, logged } = this;
    const say = (level: string) => (fields: object, message: string) =>
      void logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
    const log = { ...silentLog, info: say('info'), warn: say('warn'), error: say('error'), hide: () => {} } as never;
    const file = new StateFile({
      ...DEVICE_NAMES_FORMAT,
      path: '/state/device-names.json',
      files,
      clock,
      log: silentLog,
    });
    const names = await DeviceNames.open({
      file,
      clock,
      log,
      gatewayName: () => 'roof',
      matches: () => true,
    });
    names.configure(this.config.devices);
    this.names = names;
    const open = (folder: string): Promise<PatientOutbox> =>
      openOutbox(
        {
          stateFolder: folder,
          config: this.config.outbox,
          clock,
          files,
          log: silentLog,
          timeSync: new FakeTimeSync(),
          expectFolder: async () => {},
        },
        this.#stop.signal,
      );
    await files.makeFolder('/state/devices/known');
    this.outbox = await open('/state/devices');
    this.devices = new Devices({
      names,
      log,
      files,
      placeName,
      clock,
      randomBytes: (count: number) => new Uint8Array(count).map(() => Math.random() * 256),
      board: this.board,
      folder: '/state/devices/known',
      credentials: (id: string) =>
        slotCredentials(this.config, {
          slot: names.slotOf(id),
          name: names.nameOf(id),
          store: { provisionSecret: undefined },
        }),
      permission: permissionOf(() => this.notConnected),
      isConnected: () => this.notConnected === undefined && !this.skipsWay,
      onAccepted: () => {},
      beside: (...one: Parameters<DevicesDeps['beside']>) => this.beside(...one),
    } as never);
    const settings = () => this.config.upload;
    const link = () => ({ history: true, present: true });
    this.held = new HeldDevices({
      clock,
      files,
      folder: '/state/devices/held',
      log,
      openOutbox: open,
      post: this.devices.post,
      settings,
      link,
    });
    const fanOut = new FanOut({
      clock,
      held: this.held,
      devices: this.devices,
      limits: () => ({ maxEntries: settings().maxBatchEntries, maxBytes: settings().maxBatchBytes }),
    });
    const uploader = new Uploader({
      clock,
      outbox: this.outbox,
      log,
      link,
      postTelemetry: (rows, signal) => fanOut.post(rows, signal),
      settings: () => ({ ...settings(), maxBatchEntries: 40_000, maxBatchBytes: 5_000_000 }),
    });
    const slots = {
      names,
      devices: this.devices,
      held: this.held,
      outbox: this.outbox,
      uploader,
    } as unknown as DeviceSlots;
    this.counts = () => DeviceSlots.prototype.counts.call(slots);
    this.control = new SlotsControl({
      slots,
      config: () => this.config,
      log,
      board: this.board,
      machine: { clock, files, randomBytes: (count: number) => new Uint8Array(count) } as never,
    });
    await this.held.open();
    if (!this.skipsWay) this.devices.open(platform);
    const { signal } = this.#stop;
    void keepRunning({ clock, log, name: 'devices', run: (own) => this.devices.run(own) }, signal);
    void keepRunning({ clock, log, name: 'uploads', run: (own) => uploader.run(own) }, signal);
    void keepRunning({ clock, log, name: 'held', run: (own) => this.held.run(own) }, signal);
    await clock.advance(1_000);
    return this;
  }

  read(slot: string, key: string): void {
    const { clock, names } = this;
    void this.outbox
      .append([
        {
          device: names.idOf(slot),
          key,
          value: 1,
          bootId: clock.bootId,
          monotonicMs: clock.monotonicMs(),
          class: 'regular',
        },
      ])
      .catch(() => {});
  }

  async seconds(count: number, slots: readonly string[] = []): Promise<void> {
    for (let second = 0; second < count; second += 1) {
      for (const slot of slots) this.read(slot, `${slot}@${this.clock.monotonicMs()}`);
      await this.clock.advance(1_000);
    }
  }

  keysAt(name: string): readonly string[] {
    return this.platform.arrived.filter(({ device }) => device === name).map(({ key }) => key);
  }

  state(id: string) {
    return this.control.list().find((one) => one.id === id);
  }

  async during(work: Promise<unknown>): Promise<unknown> {
    let over = false;
    const settled = work.then(
      (value) => value,
      (error: unknown) => error,
    );
    void settled.finally(() => {
      over = true;
    });
    for (let turn = 0; turn < 200 && !over; turn += 1) await this.clock.advance(100);
    return settled;
  }

  /** Nothing of it runs any more, and nothing is closed. */
  kill(): void {
    this.#stop.abort();
    this.clock.reboot({ bootId: `boot-${this.clock.wallMs()}` });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(10_000);
    const closing = Promise.all([this.outbox.close(), this.held.close(), this.names.close()]);
    await this.clock.advance(10_000);
    await closing;
  }
}
