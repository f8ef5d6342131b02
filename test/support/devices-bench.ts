/**
 * A gateway and its attached devices over a virtual clock, disk and board: each with a platform side of its own that hands out commands and shared
 * attributes. The gateway's side is named `self`.
 */
import { createHash } from 'node:crypto';
import { Actuators } from '../../src/actuators/actuators.ts';
import { ownActuators } from '../../src/actuators/own-actuators.ts';
import { DeviceCommands } from '../../src/agent/device-commands.ts';
import { operationsFor } from '../../src/agent/own-commands.ts';
import { openSlotCommands, type SlotCommandsDeps } from '../../src/agent/slot-commands.ts';
import { LiveConfig } from '../../src/config/live-config.ts';
import { type AgentConfig, configSchema, type DeviceConfig } from '../../src/config/schema/agent-config.ts';
import type { DeviceAtPlatform } from '../../src/devices/device.ts';
import { FirmwareUpdates } from '../../src/firmware/firmware-updates.ts';
import type { GpioPort } from '../../src/hardware/gpio-port.ts';
import type { Ports } from '../../src/hardware/ports.ts';
import { SerialBuses } from '../../src/hardware/serial-buses.ts';
import type { SerialPorts } from '../../src/hardware/serial-port.ts';
import { AlertList } from '../../src/host/alert-list.ts';
import { silentLog } from '../../src/host/log.ts';
import { runTogether } from '../../src/host/loops.ts';
import { type ProgramOutcome, runProgram } from '../../src/host/run-program.ts';
import type { TelemetryEntry } from '../../src/outbox/outbox.ts';
import type { DeviceApi, RpcRequest } from '../../src/platform/device-api.ts';
import { PollTurns } from '../../src/platform/poll-turns.ts';
import type { Sample } from '../../src/sensors/kind/sensor.ts';
import type { SensorState } from '../../src/sensors/sampler.ts';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';

const never = new AbortController().signal;

/** The platform as one device sees it. */
export class DeviceSide {
  readonly polls = { rpc: 0, attributes: 0 };
  readonly replies: JsonValue[] = [];
  shared: JsonObject = {};
  client: JsonObject = {};
  /** How often attributes were asked for. */
  reads = 0;
  /** Replies that it does not take. */
  refusesReplies = false;
  /** Package that it hands out in parts. */
  file: Uint8Array = new Uint8Array();
  /** Parts that were asked for. */
  parts = 0;
  /** Parts are asked for in vain. */
  isStuck = false;
  readonly #clock: FakeClock;
  readonly #requests: RpcRequest[] = [];
  #nextId = 0;
  readonly #wake = { rpc: (): void => {}, attributes: (): void => {} };

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  command(method: string, params: JsonValue): void {
    this.#requests.push({ id: this.#nextId, method, params });
    this.#nextId += 1;
    this.#wake.rpc();
  }

  share(values: JsonObject): void {
    this.shared = { ...this.shared, ...values };
    this.#wake.attributes();
  }

  /** Deletes what is shared. */
  unshare(...keys: readonly string[]): void {
    this.shared = Object.fromEntries(Object.entries(this.shared).filter(([key]) => !keys.includes(key)));
    this.#wake.attributes();
  }

  /** Assigns a package, with the right checksum unless another is given. */
  offer(version: string, file: Uint8Array, more: JsonObject = {}): void {
    this.file = file;
    const checksum = createHash('sha256').update(file).digest('hex');
    const offer = {
      fw_title: 'pump',
      fw_version: version,
      fw_size: file.length,
      fw_checksum: checksum,
      fw_checksum_algorithm: 'SHA256',
    };
    this.share({ ...offer, ...more });
  }

  get api(): DeviceApi {
    const api: Partial<DeviceApi> = {
      pollRpc: async (timeoutMs, signal) => {
        this.polls.rpc += 1;
        if (this.#requests.length === 0) await this.#stand('rpc', timeoutMs, signal);
        return this.#requests[0];
      },
      replyRpc: async (id, reply) => this.#take(id, reply),
      failRpc: async (id, text) => this.#take(id, text),
      pollAttributes: async (timeoutMs, signal) => {
        this.polls.attributes += 1;
        const isWoken = await this.#stand('attributes', timeoutMs, signal);
        return isWoken ? { changed: this.shared, deleted: [] } : undefined;
      },
      getAttributes: async ({ sharedKeys }) => {
        this.reads += 1;
        const shared = Object.fromEntries(
          Object.entries(this.shared).filter(([key]) => sharedKeys?.includes(key) ?? true),
        );
        return { client: this.client, shared, empty: false };
      },
      getFirmware: async ({ sizeBytes = this.file.length, chunk = 0 }, signal) => {
        this.parts += 1;
        if (this.isStuck) await this.#clock.sleep(365 * 86_400_000, signal);
        signal.throwIfAborted();
        const part = this.file.subarray(chunk * sizeBytes, (chunk + 1) * sizeBytes);
        return { lengthBytes: part.length, stream: ReadableStream.from([part]) };
      },
      postAttributes: async (attributes) => {
        this.client = { ...this.client, ...attributes };
      },
    };
    // Nothing else is asked for.
    return api as DeviceApi;
  }

  #take(id: number, reply: JsonValue): void {
    if (this.refusesReplies) throw new Error('cut');
    this.replies.push(reply);
    if (this.#requests[0]?.id === id) this.#requests.shift();
  }

  async #stand(kind: 'rpc' | 'attributes', timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const woken = new AbortController();
    this.#wake[kind] = () => woken.abort();
    await this.#clock.sleep(timeoutMs, AbortSignal.any([signal, woken.signal]));
    return woken.signal.aborted;
  }
}

export class DevicesBench {
  readonly clock = new FakeClock({ jitter: 0 });
  readonly files = new MemoryFiles();
  readonly config: AgentConfig;
  /** Levels that each line was given, oldest first. */
  readonly written = new Map<string, number[]>();
  readonly entries: TelemetryEntry[] = [];
  readonly sides = new Map<string, DeviceSide>();
  readonly alerts = new AlertList(silentLog);
  turns: PollTurns;
  /** Of the sampler; a test says what they read. */
  states: readonly SensorState[] = [];
  readonly serialNumbers: Record<string, string> = {};
  /** What was written on serial ports, behind the port's path. */
  readonly told: string[] = [];
  /** Arguments of the programs that were begun. */
  readonly programs: (readonly string[])[] = [];
  /** How a program ends; a test may have it take its time. */
  program: (signal: AbortSignal) => Promise<ProgramOutcome> = async () => ({
    exitCode: 0,
    stdout: '',
    stderr: '',
    cut: false,
  });
  /** Why every update waits, besides. */
  holds: string | undefined;
  #locked = false;
  #actuators: Actuators | undefined;
  firmware: FirmwareUpdates | undefined;
  #gateway: { readonly commands: DeviceCommands; readonly running: Promise<void> } | undefined;
  #stop = new AbortController();
  #open: { readonly commands: Pick<DeviceCommands, 'run' | 'close'>; readonly running: Promise<void> }[] = [];

  constructor(config: JsonObject) {
    const common = {
      version: 1,
      platform: { url: 'http://platform', accessToken: 'secret-token' },
      stateFolder: '/state',
      runFolder: '/run',
    };
    this.config = configSchema.parse({ ...common, ...config });
    this.turns = new PollTurns({ clock: this.clock, max: 8 });
  }

  get actuators(): Actuators {
    if (this.#actuators === undefined) throw new Error('start() first');
    return this.#actuators;
  }

  /** Someone begins to work on the machine. */
  lock(isLocked = true): void {
    this.#locked = isLocked;
  }

  stateOf(name: string, state: SensorState['state'], values: Readonly<Record<string, JsonValue>> = {}): SensorState {
    const readings = Object.entries(values).map(([key, value]) => this.#sample(name, key, value));
    return { name, kind: 'host', state, periodMs: 1_000, readings, refused: [], reads: 0, failures: 0, missed: 0 };
  }

  /** Returns the platform's side of a device. */
  side(name: string): DeviceSide {
    const side = this.sides.get(name) ?? new DeviceSide(this.clock);
    this.sides.set(name, side);
    return side;
  }

  /** Opens the actuators, and all devices with them. */
  async start(idOf?: (slot: string) => string): Promise<void> {
    const { clock, files, config } = this;
    const hardware = { ports: this.#ports(), clock, files, runProgram, log: silentLog, alerts: this.alerts };
    this.#actuators = await Actuators.open(
      {
        ...hardware,
        config,
        onRuleEvent: () => {},
        localTime: () => undefined,
        report: (entries) => this.entries.push(...entries),
        ...(idOf === undefined ? {} : { idOf }),
      },
      never,
    );
    this.#stop = new AbortController();
    this.firmware = await this.#openFirmware();
    const commands = await Promise.all(config.devices.map((settings) => this.#device(settings)));
    this.#open = commands.map((one) => ({ commands: one, running: one.run(this.#stop.signal) }));
    this.#gateway = await this.#openGateway(this.firmware, this.#actuators);
    await clock.advance(100);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(0);
    await Promise.all([this.#gateway, ...this.#open].map((one) => one?.running));
    const devices = [this.#gateway, ...this.#open].map((one) => one?.commands);
    const closing = Promise.all([...devices, this.actuators].map((one) => one?.close()));
    await this.clock.advance(10_000);
    await closing;
  }

  /** Stops, as a kill would: nothing that is not synced is kept, nothing is closed. */
  async kill(): Promise<void> {
    this.#stop.abort();
    await this.clock.advance(0);
    this.files.cutPower(() => false);
    this.turns = new PollTurns({ clock: this.clock, max: 8 });
  }

  #sample(sensor: string, key: string, value: JsonValue): Sample {
    return { sensor, key, value, bootId: this.clock.bootId, monotonicMs: this.clock.monotonicMs() };
  }

  get #sampler(): SlotCommandsDeps['sampler'] {
    return {
      readNow: async (sensor) => [this.#sample(sensor, 'read', sensor)],
      states: () => this.states,
    };
  }

  get #self(): DeviceAtPlatform {
    return { id: 'self', name: '', folder: '/state', deviceApi: this.side('self').api };
  }

  #openFirmware(): Promise<FirmwareUpdates> {
    const { clock, files, config, alerts } = this;
    let ids = 0;
    return FirmwareUpdates.open({
      clock,
      files,
      config,
      alerts,
      log: silentLog,
      self: this.#self,
      locked: () => this.#locked,
      holds: () => this.holds,
      newId: () => `${clock.bootId}-${ids++}`,
      runProgram: (program, _clock, signal) => {
        this.programs.push(program.args);
        return this.program(signal);
      },
      getUrl: () => Promise.reject(new Error('not asked for')),
      append: async (entries) => void this.entries.push(...entries),
      uploaded: () => true,
      fault: () => undefined,
      restart: () => {},
    });
  }

  async #openGateway(firmware: FirmwareUpdates, actuators: Actuators) {
    const { clock, files, config, alerts } = this;
    const { signal } = this.#stop;
    const own = ownActuators(actuators);
    const commands = await DeviceCommands.open(
      {
        clock,
        files,
        alerts,
        log: silentLog,
        config: () => config,
        slot: undefined,
        device: this.#self,
        actuators: own,
        methods: operationsFor({
          slot: undefined,
          config: () => config,
          actuators: own,
          sampler: this.#sampler,
          parts: {},
        }),
        polls: { rpc: {}, attributes: {} },
        wakes: () => undefined,
        locked: () => this.#locked,
        live: new LiveConfig(config),
        firmware: firmware.offers,
        identity: () => ({ model: 'board' }),
      },
      never,
    );
    const loops = [commands, firmware].map((one) => (either: AbortSignal) => one.run(either));
    return { commands, running: runTogether(loops, signal) };
  }

  async #device(settings: DeviceConfig): Promise<Pick<DeviceCommands, 'run' | 'close'>> {
    const { clock, files, config, alerts, actuators, turns, firmware } = this;
    if (firmware === undefined) throw new Error('start() first');
    const { name } = settings;
    const folder = `/state/devices/known/${name}`;
    await files.makeFolder(folder);
    return await openSlotCommands(
      {
        settings,
        clock,
        files,
        alerts,
        actuators,
        turns,
        sampler: this.#sampler,
        ports: this.#ports(),
        log: silentLog,
        config: () => config,
        locked: () => this.#locked,
        device: { id: `gateway ${name}`, folder, deviceApi: this.side(name).api, name: `Gateway ${name}` },
        firmware,
        link: { wakes: () => undefined },
        alarms: () => ({
          acknowledgeAlarm: ({ sensor, key, name = 'hot' }, by) => [
            { sensor, key, name, acknowledged: { by, atMs: clock.wallMs() } },
          ],
        }),
        gateway: () => 'Gateway',
        serialNumber: () => this.serialNumbers[name],
      },
      never,
    );
  }

  #ports(): Ports {
    const gpio: Partial<GpioPort> = {
      openOutput: async ({ line }) => {
        const levels = this.written.get(String(line)) ?? [];
        this.written.set(String(line), levels);
        return {
          write: async (level) => void levels.push(level),
          read: async () => (levels.at(-1) === 1 ? 1 : 0),
          close: async () => {},
        };
      },
    };
    const serial: Partial<SerialPorts> = {
      open: async ({ port: path }) => ({
        path,
        plugged: true,
        onBytes: () => () => {},
        onPlug: () => () => {},
        write: async (bytes) => void this.told.push(`${path} ${Buffer.from(bytes).toString()}`),
        close: async () => {},
      }),
    };
    const serialBuses = new SerialBuses(serial as SerialPorts, this.clock);
    // Nothing else is asked for.
    return { gpio, serialBuses, close: async () => {} } as Partial<Ports> as Ports;
  }
}
