/**
 * Everything that needs the platform: credentials first, however long they take, then the loops that speak to it. The agent
 * measures and keeps from its first second, whatever becomes of this.
 */
import type { AgentConfig } from '../config/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import { readIdentity } from '../host/identity.ts';
import type { AgentLog } from '../host/log.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { provisionDevice } from '../platform/provision-device.ts';
import { CredentialsStore } from '../provisioning/credentials-store.ts';
import { type DeviceCredentials, obtainCredentials } from '../provisioning/obtain-credentials.ts';
import { TokenAwareDeviceApi } from '../provisioning/token-aware-device-api.ts';
import { tokenWorks } from '../provisioning/token-check.ts';
import type { AlertList } from './alert-list.ts';
import { type ApiSettings, apiSettings, credentialsSettings } from './platform-settings.ts';

export interface PlatformSideDeps {
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly alerts: AlertList;
}

export class PlatformSide {
  readonly #deps: PlatformSideDeps;
  readonly #store: CredentialsStore;
  readonly #http: HttpDeviceApi;
  readonly #settings: ApiSettings;
  /** Refuses every call until `connect` has resolved. */
  readonly deviceApi: DeviceApi;
  #credentials: DeviceCredentials | undefined;

  private constructor(deps: PlatformSideDeps, store: CredentialsStore, settings: ApiSettings) {
    this.#deps = deps;
    this.#store = store;
    this.#settings = settings;
    const token = (): DeviceCredentials['token'] | undefined => this.#credentials?.token;
    this.#http = new HttpDeviceApi({ ...settings, clock: deps.clock, token: () => token()?.accessToken ?? '' });
    this.deviceApi = new TokenAwareDeviceApi({
      deviceApi: this.#http,
      token: {
        get accessToken() {
          return token()?.accessToken ?? '';
        },
        noteAccepted: (used) => token()?.noteAccepted(used),
        noteRefused: async (used, signal) => (await token()?.noteRefused(used, signal)) ?? false,
      },
      held: () => (this.#credentials === undefined ? 'this device has no credentials yet' : this.#credentials.held),
    });
  }

  /** Reads the kept credentials and certificates; connects to nothing. @throws AgentError (stop) for files that cannot be read. */
  static async open(deps: PlatformSideDeps): Promise<PlatformSide> {
    const { config, log, alerts } = deps;
    const [store, settings] = await Promise.all([
      CredentialsStore.open({ stateFolder: config.stateFolder, log, alerts, hide: (secret) => log.hide(secret) }),
      apiSettings(config.platform),
    ]);
    return new PlatformSide(deps, store, settings);
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
    const board = await readIdentity({ runFolder: config.runFolder });
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
  }

  /** Changes over to a new token when the platform has; runs as long as the agent does. */
  async watchToken(signal: AbortSignal): Promise<void> {
    await this.#credentials?.token.run(signal);
  }

  /** Ends every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#http.close();
  }
}
