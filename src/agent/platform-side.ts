/**
 * Everything that needs the platform: credentials first, however long they take, then the loops that speak to it. The agent
 * measures and keeps from its first second, whatever becomes of this.
 */
import type { AgentConfig } from '../config/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import { type BoardIdentity, readIdentity } from '../host/identity.ts';
import type { AgentLog } from '../host/log.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { provisionDevice } from '../platform/provision-device.ts';
import type { CredentialsPlace } from '../provisioning/credentials-record.ts';
import { CredentialsStore } from '../provisioning/credentials-store.ts';
import { type DeviceCredentials, obtainCredentials } from '../provisioning/obtain-credentials.ts';
import { IdentityOwnership } from '../provisioning/ownership.ts';
import { TokenAwareDeviceApi } from '../provisioning/token-aware-device-api.ts';
import { tokenWorks } from '../provisioning/token-check.ts';
import type { AlertList } from './alert-list.ts';
import { type ApiSettings, apiSettings, credentialsSettings } from './platform-settings.ts';

export interface PlatformSideDeps {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly alerts: AlertList;
  /** Told the platform's own time. */
  readonly onPlatformDate: (platformMs: number) => void;
}

/** A platform that is slow to say whose device this is does not keep the readings waiting for longer. */
const OWNER_WITHIN_MS = 5_000;

export class PlatformSide {
  /** What this board is. */
  readonly board: BoardIdentity;
  readonly #deps: PlatformSideDeps;
  readonly #store: CredentialsStore;
  readonly #http: HttpDeviceApi;
  readonly #settings: ApiSettings;
  /** Refuses every call until `connect` has resolved. */
  readonly deviceApi: DeviceApi;
  #credentials: DeviceCredentials | undefined;
  #ownership: IdentityOwnership | undefined;

  private constructor(deps: PlatformSideDeps, store: CredentialsStore, settings: ApiSettings, board: BoardIdentity) {
    this.#deps = deps;
    this.board = board;
    this.#store = store;
    this.#settings = settings;
    const token = (): DeviceCredentials['token'] | undefined => this.#credentials?.token;
    this.#http = new HttpDeviceApi({
      ...settings,
      clock: deps.clock,
      onPlatformDate: deps.onPlatformDate,
      token: () => token()?.accessToken ?? '',
    });
    this.deviceApi = new TokenAwareDeviceApi({
      deviceApi: this.#http,
      token: {
        get accessToken() {
          return token()?.accessToken ?? '';
        },
        noteAccepted: (used) => token()?.noteAccepted(used),
        noteRefused: async (used, signal) => (await token()?.noteRefused(used, signal)) ?? false,
      },
      held: () => this.#held(),
    });
  }

  /** Reads the kept credentials and certificates; connects to nothing. @throws AgentError (stop) for files that cannot be read. */
  static async open(deps: PlatformSideDeps): Promise<PlatformSide> {
    const { config, log, alerts } = deps;
    const [store, settings, board] = await Promise.all([
      CredentialsStore.open({ stateFolder: config.stateFolder, log, alerts, hide: (secret) => log.hide(secret) }),
      apiSettings(config.platform),
      readIdentity({ runFolder: config.runFolder }),
    ]);
    return new PlatformSide(deps, store, settings, board);
  }

  /** Bytes over the wire since start. */
  get traffic(): HttpDeviceApi['traffic'] {
    return this.#http.traffic;
  }

  /** As the platform calls this device; empty while that is not known. */
  get deviceName(): string {
    return this.#credentials?.deviceName ?? '';
  }

  get store(): CredentialsStore {
    return this.#store;
  }

  /** Whose credentials are used: a token of the configuration goes before the board's own. */
  get place(): CredentialsPlace {
    return this.#deps.config.platform.accessToken === undefined ? 'own' : 'configured';
  }

  /** The credentials, once there are any. */
  get credentials(): DeviceCredentials | undefined {
    return this.#credentials;
  }

  /**
   * Resolves once this device may use the way to the platform; waits for a network, a person or a claim as long as it takes.
   * @throws AgentError `provisioning/no-credentials` (stop) when there is no way to get any, `provisioning/aborted` when `signal` aborts.
   */
  async connect(signal: AbortSignal): Promise<void> {
    const { config, clock, log, alerts } = this.#deps;
    const { board } = this;
    const open = (accessToken: string): HttpDeviceApi => new HttpDeviceApi({ ...this.#settings, clock, token: () => accessToken });
    const credentials = await obtainCredentials(
      {
        settings: credentialsSettings(config),
        store: this.#store,
        provision: (request, requestSignal) => provisionDevice(request, { settings: this.#settings.settings, clock }, requestSignal),
        tokenWorks: (token, probeSignal) => tokenWorks(open, token, probeSignal),
        clock,
        log,
        alerts,
        hide: (secret) => log.hide(secret),
        board,
      },
      signal,
    );
    this.#credentials = credentials;
    log.hide(credentials.token.accessToken);
    this.#ownership = new IdentityOwnership({ deviceApi: this.#http, store: this.#store, place: this.place, board, clock, log, alerts });
    await this.#askOwner(this.#ownership, signal);
  }

  /** Changes over to a new token when the platform has, and notices when another board is this device; runs as long as the agent does. */
  async watchCredentials(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#credentials?.token.run(signal), this.#ownership?.run(signal)]);
  }

  /** Ends every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  #held(): string | undefined {
    if (this.#credentials === undefined) return 'this device has no credentials yet';
    return this.#credentials.held ?? this.#ownership?.held;
  }

  /** Before the first upload: a board that was replaced while it was away is not to send anything. */
  async #askOwner(ownership: IdentityOwnership, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const cancel = this.#deps.clock.after(OWNER_WITHIN_MS, () => late.abort());
    await ownership.check(AbortSignal.any([signal, late.signal])).catch(() => {});
    cancel();
  }
}
