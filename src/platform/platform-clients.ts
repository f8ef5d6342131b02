/** Clients of the platform over the agent's connections: one of the gateway itself, and one for each device beside it over connections that these share. */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { AgentLog } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Connect, Traffic } from './connections.ts';
import { Contact } from './contact.ts';
import { contactOfMany, paceOfMany } from './contact-of-many.ts';
import type { DeviceApi, ProvisionAnswer, ProvisionRequest } from './device-api.ts';
import { HostPace } from './host-pace.ts';
import { HttpDeviceApi } from './http-device-api.ts';
import { type ApiSettings, apiSettings } from './platform-settings.ts';
import { requestProvisioning } from './provision-request.ts';
import { SharedConnections } from './shared-connections.ts';
import { sumOfLanes } from './wire-count.ts';

export interface PlatformClientsDeps {
  /** Asked once, when the first client is wanted: changes to it have no effect here. */
  readonly config: () => Pick<AgentConfig, 'platform' | 'link'>;
  readonly machine: Pick<HostMachine, 'clock' | 'files' | 'networkAddresses'> & { readonly connect: Connect };
  readonly log: AgentLog;
  /** Told the platform's own time. */
  readonly onPlatformDate: (platformMs: number, tookMs: number) => void;
}

/** Way of one device to the platform. */
export interface DeviceWay {
  readonly openApi: (token: () => string) => DeviceApi;
  /** Opens a client that asks with one token whether the platform knows it. */
  readonly openProbe: (token: string) => DeviceApi;
  readonly provision: (request: ProvisionRequest, signal: AbortSignal) => Promise<ProvisionAnswer>;
}

/** Uploads and standing polls of many devices go side by side, each at most so many. */
const SOCKETS_OF_MANY = { upload: 8, 'rpc-poll': 8, 'attribute-poll': 8 };

export class PlatformClients {
  /** Fed by every exchange with the platform, whoever makes it. */
  readonly contact: Contact;
  readonly #deps: PlatformClientsDeps;
  /** Shared by all clients of the same host. */
  readonly #pace: HostPace;
  /** Connections that the devices beside the gateway share. */
  readonly #shared: SharedConnections;
  /** The gateway's client. Until the certificates are read, one without them that is never used. */
  #own: HttpDeviceApi;
  #settings: ApiSettings | undefined;

  constructor(deps: PlatformClientsDeps) {
    this.#deps = deps;
    this.#pace = new HostPace(deps.machine);
    this.contact = new Contact({ ...deps.machine, log: deps.log });
    this.#own = this.#open({ settings: { url: deps.config().platform.url } }, () => '');
    this.#shared = new SharedConnections(deps.machine.connect, SOCKETS_OF_MANY);
  }

  /** Way of the gateway itself; `equip` comes before its first use. */
  readonly ofSelf: DeviceWay = {
    openApi: (token) => {
      this.#own = this.#open(this.#equipped, token);
      return this.#own;
    },
    openProbe: (token) => {
      const { clock, connect } = this.#deps.machine;
      const { contact } = this;
      return new HttpDeviceApi({ ...this.#equipped, clock, connect, contact, pace: this.#pace, token: () => token });
    },
    provision: (request, signal) => {
      const { clock, connect } = this.#deps.machine;
      const { settings } = this.#equipped;
      return requestProvisioning(request, { settings, clock, connect, contact: this.contact }, signal);
    },
  };

  /** Way of each device beside the gateway; `equip` comes before its first use. */
  readonly ofMany: DeviceWay = {
    openApi: (token) => this.#openOfMany(token),
    openProbe: (token) => this.#openOfMany(() => token),
    provision: (request, signal) => requestProvisioning(request, this.#sharedByMany, signal),
  };

  /** Bytes over the wire since start, of all devices. */
  get traffic(): Traffic {
    const [own, many] = [this.#own.traffic, this.#shared.traffic];
    return {
      sentBytes: own.sentBytes + many.sentBytes,
      receivedBytes: own.receivedBytes + many.receivedBytes,
      lanes: sumOfLanes(own.lanes, many.lanes),
    };
  }

  /** The gateway's entries that were accepted under another key than they were kept under, since start. */
  get renamedEntries(): number {
    return this.#own.renamedEntries;
  }

  /** Reads the certificates, once. @throws AgentError `agent/unreadable-file` (retry). */
  async equip(): Promise<void> {
    const { platform, link } = this.#deps.config();
    this.#settings ??= await apiSettings(platform, this.#deps.machine.files, link.metered);
  }

  /** Ends every connection. Idempotent. */
  async close(): Promise<void> {
    this.contact.close();
    await Promise.all([this.#own.close(), this.#shared.close()]);
  }

  get #equipped(): ApiSettings {
    if (this.#settings === undefined) throw new Error('a client is asked for before the certificates are read');
    return this.#settings;
  }

  get #sharedByMany() {
    const { clock } = this.#deps.machine;
    const { settings, codec } = this.#equipped;
    return { settings, codec, clock, connect: this.#shared.connect, contact: contactOfMany(this.contact) };
  }

  #openOfMany(token: () => string): DeviceApi {
    return new HttpDeviceApi({ ...this.#sharedByMany, pace: paceOfMany(this.#pace, this.contact), token });
  }

  #open(settings: Pick<ApiSettings, 'settings'>, token: () => string): HttpDeviceApi {
    const { machine, onPlatformDate } = this.#deps;
    const { clock, connect } = machine;
    const { contact } = this;
    return new HttpDeviceApi({ ...settings, clock, connect, contact, pace: this.#pace, onPlatformDate, token });
  }
}
