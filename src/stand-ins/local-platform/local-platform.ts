/**
 * A small platform that serves the same device API and the same part of the REST API as the real one: bench, demo, tests. It opens every
 * part, joins them, and closes them in reverse; it has no rule of its own.
 */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../host/clock.ts';
import { makeCertificate, type SelfSignedCertificate } from '../../host/self-signed-certificate.ts';
import type { JsonObject } from '../../values/json.ts';
import { analyticsRoutes } from './analytics-routes.ts';
import { Arrivals } from './arrivals.ts';
import type { DeviceProfile, PlatformDevice } from './device-registry.ts';
import { deviceRoutes } from './device-routes.ts';
import { Faults } from './faults.ts';
import type { Reply } from './http-reply.ts';
import { type BareRequest, HttpService } from './http-service.ts';
import { type LocalPlatformOptions, type PlatformSettings, platformSettings } from './local-platform-options.ts';
import { LongPolls } from './long-polls.ts';
import { OtaPackages } from './ota-packages.ts';
import { otaRoutes } from './ota-routes.ts';
import { pageRoutes } from './page-routes.ts';
import { People } from './people.ts';
import { PlatformState } from './platform-state.ts';
import { claimRoutes, provisionRoutes } from './provision-routes.ts';
import { ExecutionPool, RateLimit } from './rate-limit.ts';
import { restDeviceRoutes } from './rest-devices.ts';
import { restLibraryRoutes } from './rest-library.ts';
import { restProfileRoutes } from './rest-profiles.ts';
import { restRpcRoutes } from './rest-rpc.ts';
import { restTelemetryRoutes } from './rest-telemetry.ts';
import { RpcBroker } from './rpc-broker.ts';
import type { Point } from './telemetry-store.ts';

export type { LocalPlatformOptions } from './local-platform-options.ts';

const DAY_MS = 86_400_000;
/** Valid from yesterday, for clients whose clock is behind. */
const CERTIFICATE_DAYS = 30;

/** A device with all that arrived of it. */
export interface DeviceView extends PlatformDevice {
  readonly points: ReadonlyMap<string, readonly Point[]>;
  /** Values stored, the same ones each time that they came. */
  readonly storedValues: number;
}

export class LocalPlatform {
  readonly settings: PlatformSettings;
  readonly state: PlatformState;
  readonly people: People;
  readonly rpc: RpcBroker;
  readonly faults: Faults;
  readonly rateLimit: RateLimit;
  readonly attributePolls: LongPolls<JsonObject>;
  /** Data that devices sent and that is not stored yet, and how much of it was lost. */
  readonly arrivals: Arrivals;
  readonly packages: OtaPackages;
  readonly reportPool: ExecutionPool;
  /** PEM of the HTTPS port's certificate, which is its own authority. */
  readonly certificate: string | undefined;
  readonly #service: HttpService;

  private constructor(state: PlatformState, settings: PlatformSettings) {
    const { clock, tlsPort } = settings;
    this.settings = settings;
    this.state = state;
    this.people = new People(settings);
    this.rpc = new RpcBroker(settings, state.rpcs);
    this.arrivals = new Arrivals(state, settings);
    this.attributePolls = new LongPolls(settings);
    this.faults = new Faults({ clock, tokenOf: (name) => state.registry.byName(name)?.accessToken });
    this.rateLimit = new RateLimit(settings);
    this.packages = new OtaPackages(state, settings);
    this.reportPool = new ExecutionPool(settings.analytics);
    const tls = tlsPort === undefined ? undefined : { port: tlsPort, ...certificateFor(settings) };
    this.certificate = tls?.cert;
    state.attributes.onShared((deviceId, message) => this.attributePolls.tell(deviceId, message));
    state.onDeleted((deviceId) => {
      this.attributePolls.forget(deviceId);
      this.rpc.forget(deviceId);
      this.rateLimit.forget(deviceId);
      this.arrivals.forgetDevice(deviceId);
    });
    this.#service = new HttpService({
      ...settings,
      tls,
      interfere: this.faults.interfere,
      routes: {
        ...deviceRoutes(this),
        ...this.people.routes,
        ...pageRoutes(this),
        ...claimRoutes(this),
        ...provisionRoutes(this),
        ...otaRoutes(this),
        ...restDeviceRoutes(this),
        ...restProfileRoutes(this),
        ...restLibraryRoutes(this),
        ...restTelemetryRoutes(this),
        ...analyticsRoutes(this),
        ...restRpcRoutes(this),
      },
    });
  }

  /** Opens the data folder, if there is one, and listens; rejects with the system's error (EADDRINUSE, EACCES) when it cannot. */
  static async start(options: LocalPlatformOptions = {}): Promise<LocalPlatform> {
    const settings = platformSettings({ clock: systemClock, ...options });
    const platform = new LocalPlatform(await PlatformState.open(settings), settings);
    try {
      await platform.comeBack();
    } catch (error) {
      await platform.close();
      throw error;
    }
    return platform;
  }

  /** Answers a request that came over no connection. */
  answer(request: BareRequest, gone: AbortSignal): Promise<Reply> {
    return this.#service.answer(request, gone);
  }

  get url(): string {
    return this.#service.url;
  }

  get tlsUrl(): string | undefined {
    return this.#service.tlsUrl;
  }

  /** Makes a device, or answers the one of this name with this token. */
  ensureDevice(name: string, accessToken?: string): { readonly id: string; readonly accessToken: string } {
    const { registry } = this.state;
    const known = registry.byName(name);
    const kept = known ?? registry.draft({ name }, this.settings.clock.wallMs());
    const device = { ...kept, accessToken: accessToken ?? kept.accessToken };
    if (device.accessToken !== known?.accessToken) registry.devices.put(device);
    return { id: device.id, accessToken: device.accessToken };
  }

  /** Lets devices with this key and secret provision themselves under a profile, which is made when there is none of its name. */
  allowProvisioning({
    key,
    secret,
    profile = 'default',
  }: {
    readonly key: string;
    readonly secret: string;
    readonly profile?: string;
  }): void {
    const { profiles } = this.state.registry;
    const known = profiles.all.find(({ name }) => name === profile);
    const createdMs = this.settings.clock.wallMs();
    const made: Pick<DeviceProfile, 'id' | 'name' | 'isDefault' | 'createdMs'> = known ?? {
      id: randomUUID(),
      name: profile,
      isDefault: false,
      createdMs,
    };
    profiles.put({
      ...made,
      provisionType: 'ALLOW_CREATE_NEW_DEVICES',
      provisionDeviceKey: key,
      provisionDeviceSecret: secret,
    });
  }

  /** All that is there of a device now, by its name; undefined when there is none of it. */
  deviceView(name: string): DeviceView | undefined {
    const { registry, telemetry } = this.state;
    const device = registry.byName(name);
    if (device === undefined) return undefined;
    return { ...device, points: telemetry.all(device.id), storedValues: this.arrivals.stored(device.id) };
  }

  /** Goes away as a killed server does: what it answered with 200 within `storeDelayMs` is lost. */
  async crash(): Promise<void> {
    await this.#service.close();
    this.arrivals.forget();
    await this.goAway();
  }

  /** Stops listening and cuts every connection; what is stored stays. */
  async goAway(): Promise<void> {
    await this.#service.close();
    this.arrivals.flush();
    this.rpc.stop();
    this.attributePolls.close();
  }

  /** Listens again on the same ports; RPC ids start from 0, as after a restart, and queued persistent RPC come again. */
  async comeBack(): Promise<void> {
    this.rpc.requeue();
    await this.#service.listen();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await this.goAway();
    await this.packages.close();
    this.state.close();
  }
}

function certificateFor({ host, clock }: PlatformSettings): SelfSignedCertificate {
  const nowMs = clock.wallMs();
  const names = [...new Set(['localhost', '127.0.0.1', '::1', host])];
  return makeCertificate({ names, fromMs: nowMs - DAY_MS, untilMs: nowMs + CERTIFICATE_DAYS * DAY_MS });
}
