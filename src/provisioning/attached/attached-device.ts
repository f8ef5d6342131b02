/**
 * One attached device: its credentials, kept and rotated with the same care as the gateway's own, and what the platform says of it.
 *
 *   provisioning ─▶ ready ◀─ accepted ─ ─ refused (401, 403, 404) ─▶ blocked
 */
import { AgentError, messageOf } from '../../errors/agent-error.ts';
import type { Alerts } from '../../host/alert-list.ts';
import { Backoff } from '../../host/backoff.ts';
import type { BoardIdentity } from '../../host/identity.ts';
import type { AgentLog } from '../../host/log.ts';
import { runTogether } from '../../host/loops.ts';
import type { HostMachine } from '../../host/machine.ts';
import type {
  DeviceApi,
  ProvisionAnswer,
  ProvisionRequest,
  TelemetryRows,
  UploadAnswer,
} from '../../platform/device-api.ts';
import { ATTACHED_WORDS } from '../credential-words.ts';
import { CredentialsStore } from '../credentials-store.ts';
import {
  type CredentialsSettings,
  type DeviceCredentials,
  keptCredentials,
  obtainCredentials,
} from '../obtain-credentials.ts';
import { tokenAwareDeviceApi } from '../token-aware-device-api.ts';
import { tokenWorks } from '../token-check.ts';

export interface AttachedDeviceDeps extends Pick<HostMachine, 'clock' | 'files' | 'randomBytes'> {
  readonly log: AgentLog;
  readonly board: BoardIdentity;
  /** Opens a client over the shared connections. */
  readonly openApi: (token: () => string) => DeviceApi;
  readonly provision: (request: ProvisionRequest, signal: AbortSignal) => Promise<ProvisionAnswer>;
  /** Says why no device of this gateway may speak to the platform now, in words. */
  readonly held: () => string | undefined;
  /** Told of each upload that the platform has accepted. */
  readonly onAccepted: (id: string) => void;
}

export interface AttachedDeviceSettings {
  readonly id: string;
  readonly name: string;
  /** Folder of its credentials. */
  readonly folder: string;
  /** Undefined of a device that is in no slot: it goes on with what is kept. */
  readonly credentials: () => CredentialsSettings | undefined;
}

export type AttachedState = 'provisioning' | 'ready' | 'blocked';

const OBTAIN_AGAIN = { firstMs: 5_000, maxMs: 300_000 };
/** Statuses by which the platform says that it has no such device, or none that may send. */
const REFUSES_DEVICE: ReadonlySet<number> = new Set([401, 403, 404]);

export class AttachedDevice {
  readonly id: string;
  readonly folder: string;
  /** Refuses every call while there are no credentials. */
  readonly deviceApi: DeviceApi;
  readonly #deps: AttachedDeviceDeps;
  readonly #settings: AttachedDeviceSettings;
  readonly #store: CredentialsStore;
  /** Reasons why it has no credentials, by name of the alert. */
  readonly #faults = new Map<string, string>();
  readonly #ready = Promise.withResolvers<void>();
  #credentials: DeviceCredentials | undefined;
  #refusal: string | undefined;
  #state: AttachedState = 'provisioning';
  #sinceMs: number;
  #accepted = 0;
  #lastAcceptedAtMs: number | undefined;

  constructor(deps: AttachedDeviceDeps, settings: AttachedDeviceSettings) {
    const { clock, files, log } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.id = settings.id;
    this.folder = settings.folder;
    this.#sinceMs = clock.monotonicMs();
    const shared = { stateFolder: settings.folder, files, clock, log, alerts: this.#alerts };
    this.#store = new CredentialsStore({ ...shared, hide: (secret) => log.hide(secret) });
    const api = deps.openApi(() => this.#credentials?.token.accessToken ?? '');
    this.deviceApi = tokenAwareDeviceApi({
      deviceApi: () => api,
      token: () => this.#credentials?.token,
      held: () => this.#held(),
    });
  }

  /** Name on the platform. */
  get name(): string {
    return this.#credentials?.deviceName ?? this.#settings.name;
  }

  get state(): AttachedState {
    return this.#state;
  }

  /** Monotonic ms. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** Reason why it is not `ready`, or may not send though it is, in words. */
  get reason(): string | undefined {
    if (this.#state === 'ready') return this.#credentials?.held ?? this.#deps.held();
    return this.#refusal ?? [...this.#faults.values()][0];
  }

  /** Place in the configuration that its token comes from; undefined where the agent keeps the token itself. */
  get tokenIn(): 'file' | 'missing-file' | undefined {
    try {
      return this.#settings.credentials()?.accessToken === undefined ? undefined : 'file';
    } catch {
      return 'missing-file';
    }
  }

  get acceptedEntries(): number {
    return this.#accepted;
  }

  /** Monotonic ms of the last upload that the platform accepted. */
  get lastAcceptedAtMs(): number | undefined {
    return this.#lastAcceptedAtMs;
  }

  /** Resolves once it has credentials. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Obtains credentials, however long it takes, and changes over to new ones; runs as long as the agent does. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(OBTAIN_AGAIN, this.#deps.clock);
    while (!signal.aborted && this.#credentials === undefined) {
      try {
        this.#credentials = await this.#obtain(signal);
        this.#faults.clear();
        this.#enter('ready');
        this.#ready.resolve();
      } catch (error) {
        if (signal.aborted) return;
        this.#alerts.raise('credentials', messageOf(error));
        await this.#deps.clock.sleep(backoff.nextMs(), signal);
      }
    }
    const token = this.#credentials?.token;
    if (token === undefined) return;
    await runTogether([(either) => token.run(either), (either) => this.#store.keepWhole(either)], signal);
  }

  /** Posts its entries with its token. */
  async post(rows: TelemetryRows, signal: AbortSignal): Promise<UploadAnswer> {
    const answer = await this.deviceApi.postTelemetry(rows, signal);
    if (answer.kind === 'accepted') {
      this.#accepted += rows.keys.length;
      this.#lastAcceptedAtMs = this.#deps.clock.monotonicMs();
      this.#refusal = undefined;
      this.#deps.onAccepted(this.id);
      this.#enter('ready');
    } else if (answer.kind === 'unauthorised' && REFUSES_DEVICE.has(answer.status)) {
      this.#refusal = `the platform refuses its token (status ${answer.status})`;
      this.#enter('blocked');
    }
    return answer;
  }

  /**
   * Puts the next token beside the present one; a device without credentials takes it as its own. Resolves to true when it is to be made anew.
   * @throws AgentError as DeviceToken.offerNext, `host/write-failed` (retry).
   */
  async takeToken(accessToken: string): Promise<boolean> {
    this.#deps.log.hide(accessToken);
    if (this.#credentials !== undefined) {
      await this.#credentials.token.offerNext(accessToken);
      return false;
    }
    const { board } = this.#deps;
    await this.#store.replaceOwn({
      phase: 'in-use',
      source: 'imported',
      deviceName: this.name,
      accessToken,
      board,
      generation: 1,
    });
    return true;
  }

  async #obtain(signal: AbortSignal): Promise<DeviceCredentials> {
    const { clock, randomBytes, log, board, provision, openApi } = this.#deps;
    await this.#store.read();
    const shared = {
      store: this.#store,
      board,
      clock,
      randomBytes,
      log,
      alerts: this.#alerts,
      provision,
      words: ATTACHED_WORDS,
      tokenWorks: (token: string, probeSignal: AbortSignal) =>
        tokenWorks((probed) => openApi(() => probed), token, probeSignal),
      hide: (secret: string) => log.hide(secret),
    };
    const settings = this.#settings.credentials();
    const credentials =
      settings === undefined
        ? await keptCredentials({ ...shared, settings: {} })
        : await obtainCredentials({ ...shared, settings }, signal);
    if (credentials === undefined) throw noCredentials(this.name);
    log.hide(credentials.token.accessToken);
    return credentials;
  }

  /** Faults of its credentials are told as its state, and not as alerts of the gateway. */
  get #alerts(): Alerts {
    return {
      raise: (name, message) => {
        this.#faults.set(name, message);
        if (this.#credentials === undefined) this.#enter('blocked');
      },
      clear: (name) => void this.#faults.delete(name),
    };
  }

  #held(): string | undefined {
    if (this.#credentials === undefined) return this.reason ?? 'this device has no credentials yet';
    return this.#credentials.held ?? this.#deps.held();
  }

  #enter(state: AttachedState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#sinceMs = this.#deps.clock.monotonicMs();
    const told = { device: this.name, state };
    if (state === 'blocked') this.#deps.log.error({ ...told, reason: this.reason }, 'an attached device is blocked');
    else this.#deps.log.info(told, 'an attached device may send');
  }
}

function noCredentials(name: string): AgentError {
  return new AgentError(
    'provisioning/no-credentials',
    `${name} has no access token, and none can be got: give it one, or a provisioning key`,
    {
      recovery: 'hold',
    },
  );
}
