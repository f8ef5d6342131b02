/**
 * One device of this gateway at the platform: its credentials, obtained, kept and rotated, its name, and what the platform says of it. The gateway
 * is the first of its devices; what it has more is given to it as parts (self.ts).
 *
 *   provisioning ─▶ ready ◀─ accepted ─ ─ refused (401, 403, 404) ─▶ blocked
 */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { Told } from '../errors/sentence.ts';
import type { Alerts } from '../host/alert-list.ts';
import { Backoff } from '../host/backoff.ts';
import { outcomeWithin, untilAborted } from '../host/bounded-wait.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { AgentLog } from '../host/log.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import { english, sentence } from '../names/sentences.ts';
import { toldBy } from '../names/told-error.ts';
import type { DeviceApi, TelemetryRows, UploadAnswer } from '../platform/device-api.ts';
import type { DeviceWay } from '../platform/platform-clients.ts';
import { refusesDevice } from '../platform/status-meaning.ts';
import { SELF } from '../values/self.ts';
import { expectAccessToken } from './access-token.ts';
import { type ClaimRequest, claimDevice, type OpenClaim } from './claim-device.ts';
import { BESIDE_WORDS, GATEWAY_WORDS } from './credential-words.ts';
import type { CredentialsPlace } from './credentials-record.ts';
import { CredentialsStore } from './credentials-store.ts';
import {
  type CredentialsSettings,
  type DeviceCredentials,
  keptCredentials,
  obtainCredentials,
} from './obtain-credentials.ts';
import { tokenAwareDeviceApi } from './token-aware-device-api.ts';
import { tokenWorks } from './token-check.ts';

/** Permission to speak to the platform, of a device that has credentials. */
export interface Permission {
  /** Says why this device must not speak now, in words. */
  readonly held: string | undefined;
  /** Says why another board is this device now, in words. */
  readonly replaced?: string | undefined;
  /** Resolves when the device may speak, or when its token is refused. @throws the signal's reason. */
  readonly settle: (signal: AbortSignal) => Promise<void>;
  /** Runs from then on, as long as the agent does. */
  readonly run?: (signal: AbortSignal) => Promise<void>;
}

export interface DeviceDeps extends Pick<HostMachine, 'clock' | 'files' | 'randomBytes'> {
  readonly log: AgentLog;
  readonly board: BoardIdentity;
  readonly way: DeviceWay;
  /** Told the faults of its credentials; where there are none, these are its state and stand in the log. */
  readonly alerts?: Alerts | undefined;
  /** Runs before credentials are obtained. @throws AgentError: it is tried again. */
  readonly prepare?: (device: Device) => Promise<void>;
  /** Gives the permission to speak of a device that has credentials; asked once. */
  readonly permission: (device: Device) => Permission;
  /** Told of each upload that the platform has accepted. */
  readonly onAccepted?: (id: string) => void;
}

export interface DeviceSettings {
  readonly id: string;
  /** Name while the platform's is not known. */
  readonly name: string;
  /** Folder of its credentials. */
  readonly folder: string;
  /** Undefined of a device that is in no slot: it goes on with what is kept. @throws AgentError (hold) while a file of them is missing. */
  readonly credentials: () => CredentialsSettings | undefined;
}

/** A device as its commands, attributes and updates have it. The folder exists, and is this device's alone; the name is for people. */
export type DeviceAtPlatform = Pick<Device, 'id' | 'name' | 'folder' | 'deviceApi'>;

export type DeviceState = 'provisioning' | 'ready' | 'blocked';

/** A start does without credentials that a disk does not give in this time. */
const READ_WITHIN_MS = 5_000;
/** A fault that keeps a device from its credentials may pass: a full disk, a folder of another user, a file that comes later. */
const CONNECT_BACKOFF = { firstMs: 2_000, maxMs: 300_000 };
const CONNECT_ALERT = 'credentials';

export class Device {
  readonly id: string;
  readonly folder: string;
  readonly store: CredentialsStore;
  /** Refuses every call until the device may speak. */
  readonly deviceApi: DeviceApi;
  /** For the question whether this device may speak; all other calls wait for its answer. */
  readonly askingApi: DeviceApi;
  readonly #deps: DeviceDeps;
  readonly #settings: DeviceSettings;
  /** Reasons why it has no credentials, by name of the alert; empty once it may speak. */
  readonly #faults = new Map<string, Told>();
  readonly #named = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  #api: DeviceApi | undefined;
  #credentials: DeviceCredentials | undefined;
  #permission: Permission | undefined;
  #isConnected = false;
  #refusal: string | undefined;
  #state: DeviceState = 'provisioning';
  #sinceMs: number;
  #accepted = 0;
  #lastAcceptedAtMs: number | undefined;

  constructor(deps: DeviceDeps, settings: DeviceSettings) {
    const { clock, files, log } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.id = settings.id;
    this.folder = settings.folder;
    this.#sinceMs = clock.monotonicMs();
    this.store = new CredentialsStore({
      stateFolder: settings.folder,
      files,
      clock,
      log,
      alerts: deps.alerts ?? this.#alerts,
      hide: (secret) => log.hide(secret),
    });
    const inUse = { deviceApi: () => this.#openedApi, token: () => this.#credentials?.token };
    const aware = tokenAwareDeviceApi({ ...inUse, held: () => this.#held });
    this.deviceApi = { ...aware, postTelemetry: (rows, signal) => this.#post(aware, rows, signal) };
    // The token may have been rotated: that question too is asked with whichever token works.
    this.askingApi = tokenAwareDeviceApi({ ...inUse, held: () => undefined });
  }

  /** The marks of the board that it is on. */
  get board(): BoardIdentity {
    return this.#deps.board;
  }

  /** Name on the platform. */
  get name(): string {
    return this.#credentials?.deviceName ?? this.#settings.name;
  }

  get state(): DeviceState {
    return this.#state;
  }

  /** Monotonic ms. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Reason why it is not `ready`, or may not send though it is, in words. */
  get reason(): string | undefined {
    if (this.#state === 'ready') return this.#credentials?.held ?? this.#permission?.held;
    return this.#refusal ?? this.#faultWords;
  }

  /** Fault of its credentials for which nothing is asked of the platform, in words: they cannot be read, had or kept. */
  get fault(): Told | undefined {
    return [...this.#faults.values()].at(-1);
  }

  /** Whose credentials are used: a token of the configuration goes before the device's own. */
  get place(): CredentialsPlace {
    return this.#credentials?.place ?? (this.tokenIn === 'file' ? 'configured' : 'own');
  }

  /** Place in the configuration that its token comes from; undefined where the agent keeps the token itself. */
  get tokenIn(): 'file' | 'missing-file' | undefined {
    try {
      return this.#settings.credentials()?.accessToken === undefined ? undefined : 'file';
    } catch {
      return 'missing-file';
    }
  }

  /** The credentials, once there are any. */
  get credentials(): DeviceCredentials | undefined {
    return this.#credentials;
  }

  /** @throws AgentError `provisioning/no-credentials` (hold) while there is none. */
  get token(): DeviceCredentials['token'] {
    if (this.#credentials !== undefined) return this.#credentials.token;
    throw new AgentError('provisioning/no-credentials', 'there are no credentials yet', { recovery: 'hold' });
  }

  get acceptedEntries(): number {
    return this.#accepted;
  }

  /** Monotonic ms of the last upload that the platform accepted. */
  get lastAcceptedAtMs(): number | undefined {
    return this.#lastAcceptedAtMs;
  }

  /** True once calls may be made. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /**
   * Why no device of this board may send, in words: it is another board's card, or the platform has not said yet whose it is. A token of this
   * device that is refused is its alone.
   */
  get heldBoard(): string | undefined {
    const replaced = this.#credentials?.held ?? this.#permission?.replaced;
    return replaced ?? (this.#isConnected ? undefined : (this.#faultWords ?? this.#permission?.held));
  }

  /** Resolves once this device has credentials, and so its name, whether the platform answers or not. @throws the signal's reason. */
  async named(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#named.promise, signal);
  }

  /** Resolves once this device may speak; for calls that may come before it. @throws the signal's reason. */
  async ready(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#ready.promise, signal);
  }

  /** Reads the kept credentials and connects to nothing; what cannot be read now is read again when it is needed. */
  async readKept(): Promise<void> {
    const read = (): Promise<string | undefined> => this.store.read().then(() => undefined, messageOf);
    const why = await outcomeWithin(this.#deps.clock, READ_WITHIN_MS, read, () => 'the disk does not answer');
    if (why !== undefined) this.#wait(why);
  }

  /** Obtains credentials and the permission to speak, and changes over to a new token when the platform has; runs as long as the agent does. */
  async run(signal: AbortSignal): Promise<void> {
    await runTogether(
      [
        (either) => this.connect(either),
        async (either) => {
          await this.named(either);
          await runTogether([(own) => this.token.run(own), (own) => this.store.keepWhole(own)], either);
        },
        async (either) => {
          await this.ready(either);
          await this.#permission?.run?.(either);
        },
      ],
      signal,
    );
  }

  /**
   * Resolves once this device may speak, or when `signal` aborts; waits for a network, a disk, a person or a claim as long as it takes, and says
   * what for. Never rejects.
   */
  async connect(signal: AbortSignal): Promise<void> {
    const { alerts, clock } = this.#deps;
    const backoff = new Backoff(CONNECT_BACKOFF, clock);
    while (!signal.aborted && !this.#isConnected) {
      try {
        const permission = this.#permission ?? (await this.#obtain(signal));
        await permission.settle(signal);
        this.#isConnected = true;
        this.#ready.resolve();
        alerts?.clear(CONNECT_ALERT);
        this.#faults.clear();
      } catch (error) {
        if (signal.aborted) return;
        this.#wait(toldBy(error));
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  }

  /**
   * Puts the next token beside the present one; a device without credentials has it as its own. Resolves to true when it is to be made anew.
   * @throws AgentError as `expectAccessToken` and DeviceToken.offerNext, `host/write-failed` (retry).
   */
  async enterToken(accessToken: string): Promise<boolean> {
    expectAccessToken(accessToken);
    this.#deps.log.hide(accessToken);
    if (this.#credentials !== undefined) {
      await this.#credentials.token.offerNext(accessToken);
      return false;
    }
    const { board } = this.#deps;
    await this.store.replaceOwn({
      phase: 'in-use',
      source: 'imported',
      deviceName: this.name,
      accessToken,
      board,
      generation: 1,
    });
    return true;
  }

  /** Opens a claim on this device. @throws AgentError as claimDevice. */
  async claim(request: ClaimRequest, signal: AbortSignal): Promise<OpenClaim> {
    const { clock, files, randomBytes, log } = this.#deps;
    return await claimDevice(
      {
        clock,
        files,
        randomBytes,
        deviceApi: this.#credentials && this.deviceApi,
        reason: this.reason,
        stateFolder: this.folder,
        deviceName: this.name,
        hide: (secret) => log.hide(secret),
      },
      request,
      signal,
    );
  }

  /** Posts with its token, and notes what the platform says of the device. */
  async #post(aware: DeviceApi, rows: TelemetryRows, signal: AbortSignal): Promise<UploadAnswer> {
    const answer = await aware.postTelemetry(rows, signal);
    if (answer.kind === 'accepted') {
      this.#accepted += rows.keys.length;
      this.#lastAcceptedAtMs = this.#deps.clock.monotonicMs();
      this.#refusal = undefined;
      this.#deps.onAccepted?.(this.id);
      this.#enter('ready');
    } else if (answer.kind === 'unauthorised' && refusesDevice(answer.status)) {
      this.#refusal = `the platform refuses its token (status ${answer.status})`;
      this.#enter('blocked');
    }
    return answer;
  }

  async #obtain(signal: AbortSignal): Promise<Permission> {
    const { clock, randomBytes, log, board, way, prepare } = this.#deps;
    await this.store.read();
    await prepare?.(this);
    const shared = {
      store: this.store,
      board,
      clock,
      randomBytes,
      log,
      alerts: this.#alerts,
      provision: way.provision,
      words: this.id === SELF ? GATEWAY_WORDS : BESIDE_WORDS,
      tokenWorks: (token: string, probeSignal: AbortSignal) => tokenWorks(way.openProbe, token, probeSignal),
      hide: (secret: string) => log.hide(secret),
    };
    const settings = this.#settings.credentials();
    const credentials =
      settings === undefined
        ? await keptCredentials({ ...shared, settings: {} })
        : await obtainCredentials({ ...shared, settings }, signal);
    if (credentials === undefined) throw noCredentials(this.name);
    log.hide(credentials.token.accessToken);
    // Set together: with credentials and without a permission every call would be let through.
    this.#credentials = credentials;
    this.#permission = this.#deps.permission(this);
    this.#enter('ready');
    this.#named.resolve();
    return this.#permission;
  }

  /** Opened at the first call: there is a way then. */
  get #openedApi(): DeviceApi {
    this.#api ??= this.#deps.way.openApi(() => this.#credentials?.token.accessToken ?? '');
    return this.#api;
  }

  #wait(why: Told): void {
    this.#deps.alerts?.raise(CONNECT_ALERT, sentence('nothingSent', { why }));
    this.#noteFault(CONNECT_ALERT, why);
  }

  get #faultWords(): string | undefined {
    const { fault } = this;
    return fault === undefined ? undefined : english(fault);
  }

  #noteFault(name: string, why: Told): void {
    this.#faults.set(name, why);
    if (this.#credentials === undefined) this.#enter('blocked');
  }

  /** Alerts of its credentials, noted as its faults. */
  get #alerts(): Alerts {
    const { alerts } = this.#deps;
    return {
      raise: (name, message) => {
        this.#noteFault(name, message);
        alerts?.raise(name, message);
      },
      clear: (name) => {
        this.#faults.delete(name);
        alerts?.clear(name);
      },
    };
  }

  get #held(): string | undefined {
    if (this.#credentials === undefined) return this.reason ?? 'this device has no credentials yet';
    return this.#credentials.held ?? this.#permission?.held;
  }

  #enter(state: DeviceState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#sinceMs = this.#deps.clock.monotonicMs();
    const { alerts, log } = this.#deps;
    if (alerts !== undefined) return;
    const told = { device: this.name, state };
    if (state === 'blocked') log.error({ ...told, reason: this.reason }, 'an attached device is blocked');
    else log.info(told, 'an attached device may send');
  }
}

function noCredentials(name: string): AgentError {
  return new AgentError(
    'provisioning/no-credentials',
    `${name} has no access token, and none can be got: give it one, or a provisioning key`,
    { recovery: 'hold' },
  );
}
