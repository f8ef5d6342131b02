/**
 * Everything that needs the platform: credentials first, however long they take, then the loops that speak to it. The agent
 * measures and stores from its first second, whatever happens here.
 */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { Backoff } from '../host/backoff.ts';
import { outcomeWithin, untilAborted } from '../host/bounded-wait.ts';
import type { BoardIdentity } from '../host/identity.ts';
import type { AgentLog } from '../host/log.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Connect } from '../platform/connections.ts';
import { Contact } from '../platform/contact.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { HostPace } from '../platform/host-pace.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { type ApiSettings, apiSettings } from '../platform/platform-settings.ts';
import { requestProvisioning } from '../platform/provision-request.ts';
import { SharedConnections } from '../platform/shared-connections.ts';
import { sumOfLanes } from '../platform/wire-count.ts';
import type { CredentialsPlace } from './credentials-record.ts';
import { CredentialsStore } from './credentials-store.ts';
import {
  credentialsSettings,
  type DeviceCredentials,
  leaveOtherBoard,
  obtainCredentials,
} from './obtain-credentials.ts';
import { IdentityOwnership } from './ownership.ts';
import { tokenAwareDeviceApi } from './token-aware-device-api.ts';
import { tokenWorks } from './token-check.ts';

export interface PlatformConnectionDeps {
  /** The configuration in force; after `connect` has resolved, changes to it have no effect here. */
  readonly config: () => AgentConfig;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'readIdentity' | 'randomBytes' | 'networkAddresses'> & {
    readonly connect: Connect;
  };
  readonly log: AgentLog;
  readonly alerts: Alerts;
  /** Told the platform's own time. */
  readonly onPlatformDate: (platformMs: number, tookMs: number) => void;
  /** Called when the queue must be set aside before anything is sent; that is done before the outbox is opened. */
  readonly onQueueOfAnother: () => unknown;
  /** Time between two questions at least, where the link is too dear for more. */
  readonly wakes?: () => number | undefined;
}

/** A start does without credentials that a disk does not give in this time. */
const READ_WITHIN_MS = 5_000;
/** A fault that keeps this device from its credentials may pass: a full disk, a folder of another user. */
const CONNECT_BACKOFF = { firstMs: 2_000, maxMs: 300_000 };
const CONNECT_ALERT = 'credentials';
/** Uploads and standing polls of attached devices go side by side, each at most so many. */
const ATTACHED_SOCKETS = { upload: 8, 'rpc-poll': 8, 'attribute-poll': 8 };

export class PlatformConnection {
  /** The marks of this board. */
  readonly board: BoardIdentity;
  readonly #deps: PlatformConnectionDeps;
  readonly store: CredentialsStore;
  /** Fed by every exchange with the platform, whoever makes it. */
  readonly contact: Contact;
  /** Until the certificates are read, one without them that is never used. */
  #http: HttpDeviceApi;
  #settings: ApiSettings | undefined;
  #config: AgentConfig;
  /** Shared by all clients of the same host. */
  readonly pace: HostPace;
  /** Refuses every call until `connect` has resolved. */
  readonly deviceApi: DeviceApi;
  /** For the question which board is the device; all other calls wait for its answer. */
  readonly #askingApi: DeviceApi;
  /** Connections that all attached devices share. */
  readonly attached: SharedConnections;
  #credentials: DeviceCredentials | undefined;
  #ownership: IdentityOwnership | undefined;
  /** Waits of `connect`, in words, by the alert that says so; empty once it has resolved. */
  readonly #waitsFor = new Map<string, string>();
  readonly #connectAlerts: Alerts;
  readonly #named = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  #isConnected = false;

  private constructor(deps: PlatformConnectionDeps, store: CredentialsStore, board: BoardIdentity) {
    this.#deps = deps;
    const { alerts } = deps;
    this.#connectAlerts = {
      raise: (name, message) => {
        this.#waitsFor.set(name, message);
        alerts.raise(name, message);
      },
      clear: (name) => {
        this.#waitsFor.delete(name);
        alerts.clear(name);
      },
    };
    this.board = board;
    this.store = store;
    this.#config = deps.config();
    this.pace = new HostPace(deps.machine);
    this.contact = new Contact({ ...deps.machine, log: deps.log });
    this.#http = this.#open({ settings: { url: this.#config.platform.url } });
    this.attached = new SharedConnections(deps.machine.connect, ATTACHED_SOCKETS);
    const inUse = { deviceApi: () => this.#http, token: () => this.#credentials?.token };
    this.deviceApi = tokenAwareDeviceApi({ ...inUse, held: () => this.#held });
    // The token may have been rotated: that question too is asked with whichever token works.
    this.#askingApi = tokenAwareDeviceApi({ ...inUse, held: () => undefined });
  }

  /** Reads the kept credentials; connects to nothing. */
  static async open(deps: PlatformConnectionDeps): Promise<PlatformConnection> {
    const { log, alerts } = deps;
    const config = deps.config();
    const { clock, files, readIdentity } = deps.machine;
    const store = new CredentialsStore({
      stateFolder: config.stateFolder,
      files,
      clock,
      log,
      alerts,
      hide: (secret) => log.hide(secret),
    });
    // Measuring does not wait for credentials that cannot be read now: they are read again when they are needed.
    const read = (): Promise<string | undefined> => store.read().then(() => undefined, messageOf);
    const why = await outcomeWithin(clock, READ_WITHIN_MS, read, () => 'the disk does not answer');
    const connection = new PlatformConnection(deps, store, await readIdentity({ runFolder: config.runFolder }));
    if (why !== undefined) connection.#wait(why);
    return connection;
  }

  /** Before the outbox is opened. @throws AgentError `host/write-failed` (retry). */
  async leaveOtherBoard(): Promise<void> {
    const { alerts, config } = this.#deps;
    await leaveOtherBoard({ settings: credentialsSettings(config()), store: this.store, board: this.board, alerts });
  }

  /** Bytes over the wire since start, with those of attached devices. */
  get traffic(): HttpDeviceApi['traffic'] {
    const [own, attached] = [this.#http.traffic, this.attached.traffic];
    const lanes = sumOfLanes(own.lanes, attached.lanes);
    return {
      sentBytes: own.sentBytes + attached.sentBytes,
      receivedBytes: own.receivedBytes + attached.receivedBytes,
      lanes,
    };
  }

  /** Entries that were accepted under another key than they were kept under, since start. */
  get renamedEntries(): number {
    return this.#http.renamedEntries;
  }

  /** As the platform calls this device; empty while that is not known. */
  get deviceName(): string {
    return this.#credentials?.deviceName ?? '';
  }

  /** Whose credentials are used: a token of the configuration goes before the board's own. */
  get place(): CredentialsPlace {
    return this.#config.platform.accessToken === undefined ? 'own' : 'configured';
  }

  /** @throws AgentError `provisioning/no-credentials` (hold) while there is none. */
  get token(): DeviceCredentials['token'] {
    if (this.#credentials !== undefined) return this.#credentials.token;
    throw new AgentError('provisioning/no-credentials', 'there are no credentials yet', { recovery: 'hold' });
  }

  /** The credentials, once there are any. */
  get credentials(): DeviceCredentials | undefined {
    return this.#credentials;
  }

  /** Why nothing is asked of the platform, whether it is reached or not: credentials cannot be read, had or kept. Undefined when all is. */
  get silence(): string | undefined {
    return [...this.#waitsFor.values()].at(-1);
  }

  /** Resolves once this device has credentials, and so its name, whether the platform answers or not. @throws the signal's reason. */
  async named(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#named.promise, signal);
  }

  /** Resolves once `connect` has; for calls that may come before it. @throws the signal's reason. */
  async ready(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#ready.promise, signal);
  }

  /**
   * Resolves once this device may use the way to the platform, or when `signal` aborts; waits for a network, a disk, a person or a claim as
   * long as it takes, with an alert that says what for. Never rejects.
   */
  async connect(signal: AbortSignal): Promise<void> {
    const { alerts } = this.#deps;
    const { clock } = this.#deps.machine;
    const backoff = new Backoff(CONNECT_BACKOFF, clock);
    this.#config = this.#deps.config();
    while (!signal.aborted) {
      try {
        await this.#connect(signal);
        this.#isConnected = true;
        this.#ready.resolve();
        alerts.clear(CONNECT_ALERT);
        this.#waitsFor.clear();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#wait(messageOf(error));
        await clock.sleep(backoff.nextMs(), signal);
      }
    }
  }

  #wait(why: string): void {
    this.#deps.alerts.raise(CONNECT_ALERT, `nothing is sent: ${why}`);
    this.#waitsFor.set(CONNECT_ALERT, why);
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    const alerts = this.#connectAlerts;
    const { clock, connect, randomBytes } = this.#deps.machine;
    const { board, store, place } = this;
    await store.read();
    await this.leaveOtherBoard();
    // The outbox was opened before the credentials could be read, or is not open yet.
    if (store.setsQueueAside) {
      this.#deps.onQueueOfAnother();
      const reason = 'what waits was measured as another device, and was not set aside yet; a restart does it';
      throw new AgentError('agent/queue-of-another', reason, { recovery: 'hold' });
    }
    const settings = await this.equip();
    const { contact } = this;
    const open = (accessToken: string): HttpDeviceApi =>
      new HttpDeviceApi({ ...settings, clock, connect, contact, pace: this.pace, token: () => accessToken });
    const credentials = await obtainCredentials(
      {
        settings: credentialsSettings(this.#config),
        store,
        board,
        clock,
        randomBytes,
        log,
        alerts,
        provision: (request, requestSignal) =>
          requestProvisioning(request, { settings: settings.settings, clock, connect, contact }, requestSignal),
        tokenWorks: (token, probeSignal) => tokenWorks(open, token, probeSignal),
        hide: (secret) => log.hide(secret),
      },
      signal,
    );
    log.hide(credentials.token.accessToken);
    // Set together: with credentials and without ownership every call would be let through.
    const ownershipDeps = { store, place, board, clock, log, alerts: this.#deps.alerts, deviceApi: this.#askingApi };
    this.#ownership = new IdentityOwnership({ ...ownershipDeps, wakes: () => this.#deps.wakes?.() });
    this.#credentials = credentials;
    this.#named.resolve();
    await this.#ownership.settle(signal);
  }

  /** Changes over to a new token when the platform has, and notices when another board is this device; runs as long as the agent does. */
  async watchCredentials(signal: AbortSignal): Promise<void> {
    await runTogether(
      [
        async (either) => this.#credentials?.token.run(either),
        async (either) => this.#ownership?.run(either),
        (either) => this.store.keepWhole(either),
      ],
      signal,
    );
  }

  /** Ends every connection. Idempotent. */
  async close(): Promise<void> {
    this.contact.close();
    await Promise.all([this.#http.close(), this.attached.close()]);
  }

  /** Returns the settings of every client, with the certificates; reads those once. @throws AgentError `agent/unreadable-file` (retry). */
  async equip(): Promise<ApiSettings> {
    if (this.#settings !== undefined) return this.#settings;
    const settings = await apiSettings(this.#config.platform, this.#deps.machine.files, this.#config.link.metered);
    this.#settings = settings;
    this.#http = this.#open(settings);
    return settings;
  }

  #open(settings: Pick<ApiSettings, 'settings'>): HttpDeviceApi {
    const { machine, onPlatformDate } = this.#deps;
    const { clock, connect } = machine;
    const token = (): string => this.#credentials?.token.accessToken ?? '';
    return new HttpDeviceApi({
      ...settings,
      clock,
      connect,
      contact: this.contact,
      pace: this.pace,
      onPlatformDate,
      token,
    });
  }

  /**
   * Why no device of this board may send, in words: it is another board's card, or the platform has not said yet whose it is. A token of the
   * gateway that is refused is the gateway's alone.
   */
  get heldBoard(): string | undefined {
    const replaced = this.#credentials?.held ?? this.#ownership?.replaced;
    return replaced ?? (this.#isConnected ? undefined : (this.silence ?? this.#ownership?.held));
  }

  /** True once calls may be made: `connect` has resolved. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  get #held(): string | undefined {
    if (this.#credentials === undefined) return 'this device has no credentials yet';
    return this.#credentials.held ?? this.#ownership?.held;
  }
}
