/**
 * A small platform that serves the same device API and the same part of the REST API as the real one: bench, demo, tests. It opens every
 * part, joins them, and closes them in reverse; it has no rule of its own.
 */
import { type Clock, systemClock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import { analyticsRoutes } from './analytics-routes.ts';
import { AnalyticsViews } from './analytics-views.ts';
import { Arrivals } from './arrivals.ts';
import { claimRoutes } from './claims.ts';
import { type ClientRpcHandler, deviceRoutes } from './device-routes.ts';
import { ExecutionPool } from './execution-pool.ts';
import { Faults } from './faults.ts';
import type { Reply } from './http-reply.ts';
import { type BareRequest, HttpService } from './http-service.ts';
import type { LocalPlatformOptions } from './local-platform-options.ts';
import { LongPolls } from './long-polls.ts';
import { OtaPackages } from './ota-packages.ts';
import { otaRoutes } from './ota-routes.ts';
import { pageRoutes } from './page/page-routes.ts';
import { People } from './people.ts';
import { PersistentRpcs } from './persistent-rpcs.ts';
import { PlatformState } from './platform-state.ts';
import { provisionRoutes } from './provision-routes.ts';
import { RateLimit } from './rate-limit.ts';
import { restDeviceRoutes } from './rest-devices.ts';
import { restProfileRoutes } from './rest-profiles.ts';
import { restRpcRoutes } from './rest-rpc.ts';
import { restTelemetryRoutes } from './rest-telemetry.ts';
import { RpcBroker } from './rpc-broker.ts';
import { makeCertificate, type SelfSignedCertificate } from './self-signed-certificate.ts';

export type { LocalPlatformOptions } from './local-platform-options.ts';

const HOST = '127.0.0.1';
const MAX_POINTS_PER_KEY = 1_000_000;
const ASYNC_LIMIT_MS = 30_000;
const STALE_POLL_MS = 1_000;
const MIN_RPC_TIMEOUT_MS = 5_000;
const THREAD_POOL_SIZE = 4;
const QUEUE_CAPACITY = 10;
const ANALYTICS_PATH = '/apiAnalytics';
const CLAIM_DURATION_MS = 86_400_000;
const DAY_MS = 86_400_000;
/** Valid from yesterday, for clients whose clock is behind. */
const CERTIFICATE_DAYS = 30;

export class LocalPlatform {
  readonly state: PlatformState;
  readonly rpc: RpcBroker;
  readonly faults: Faults;
  readonly rateLimit: RateLimit;
  readonly attributePolls: LongPolls<JsonObject>;
  /** What devices sent and is not stored yet, and how much of it was lost. */
  readonly arrivals: Arrivals;
  readonly persistentRpcs: PersistentRpcs;
  readonly packages: OtaPackages;
  readonly views: AnalyticsViews;
  readonly reportPool: ExecutionPool;
  /** PEM of the HTTPS port's certificate, which is its own authority. */
  readonly certificate: string | undefined;
  readonly #service: HttpService;
  readonly #clock: Clock;

  private constructor(state: PlatformState, options: LocalPlatformOptions) {
    const clock = options.clock ?? systemClock;
    const polls = { clock, asyncLimitMs: options.asyncLimitMs ?? ASYNC_LIMIT_MS, stalePollMs: options.stalePollMs ?? STALE_POLL_MS };
    this.#clock = clock;
    this.state = state;
    this.persistentRpcs = new PersistentRpcs((record) => state.record(record));
    this.rpc = new RpcBroker({ ...polls, persistent: this.persistentRpcs });
    this.arrivals = new Arrivals({ state, clock, storeDelayMs: options.storeDelayMs ?? 0 });
    this.attributePolls = new LongPolls(polls);
    this.faults = new Faults(clock);
    this.rateLimit = new RateLimit({ clock, ...(options.rateLimits === undefined ? {} : { limits: options.rateLimits }) });
    const people = new People({
      clock,
      ...(options.users === undefined ? {} : { users: options.users }),
      ...(options.tokenLifetimeMs === undefined ? {} : { tokenLifetimeMs: options.tokenLifetimeMs }),
    });
    const wholeFileOnly = options.wholeFileFirmware === true;
    this.packages = new OtaPackages({
      state,
      clock,
      wholeFileOnly,
      ...(options.dataFolder === undefined ? {} : { dataFolder: options.dataFolder }),
    });
    const {
      threadPoolSize = THREAD_POOL_SIZE,
      queueCapacity = QUEUE_CAPACITY,
      basePath = ANALYTICS_PATH,
      delayMs = 0,
    } = options.analytics ?? {};
    this.views = new AnalyticsViews({ record: (record) => state.record(record) });
    this.reportPool = new ExecutionPool({ threadPoolSize, queueCapacity });
    const tls = options.tlsPort === undefined ? undefined : { port: options.tlsPort, ...certificateFor(options.host ?? HOST, clock) };
    this.certificate = tls?.cert;
    const shared = { state, people, clock };
    const ofDevices = { ...shared, rateLimit: this.rateLimit };
    state.attributes.onShared((deviceId, message) => this.attributePolls.tell(deviceId, message));
    state.onDeleted((deviceId) => {
      this.attributePolls.forget(deviceId);
      this.rpc.forget(deviceId);
    });
    this.#service = new HttpService({
      clock,
      host: options.host ?? HOST,
      port: options.port ?? 0,
      asyncLimitMs: polls.asyncLimitMs,
      ...(tls === undefined ? {} : { tls }),
      interfere: this.faults.interfere,
      routes: [
        ...deviceRoutes({
          state,
          clock,
          rpc: this.rpc,
          arrivals: this.arrivals,
          attributePolls: this.attributePolls,
          rateLimit: this.rateLimit,
          rules: { castStrings: options.strictTypes !== true },
          clientRpc: options.clientRpc ?? answerTime(clock),
        }),
        ...people.routes,
        ...pageRoutes({ analyticsPath: basePath }),
        ...claimRoutes({ ...ofDevices, defaultDurationMs: options.claimDurationMs ?? CLAIM_DURATION_MS }),
        ...provisionRoutes({ state, clock, legacy: options.legacyProvisioning === true }),
        ...otaRoutes({ ...ofDevices, packages: this.packages, wholeFileOnly }),
        ...restDeviceRoutes({ ...shared, packages: this.packages }),
        ...restProfileRoutes({ ...shared, packages: this.packages }),
        ...restTelemetryRoutes(shared),
        ...analyticsRoutes({ ...shared, views: this.views, pool: this.reportPool, basePath, delayMs }),
        ...restRpcRoutes({ ...shared, rpc: this.rpc, minTimeoutMs: options.minRpcTimeoutMs ?? MIN_RPC_TIMEOUT_MS }),
      ],
    });
  }

  /** Opens the data folder, if there is one, and listens; rejects with the system's error (EADDRINUSE, EACCES) when it cannot. */
  static async start(options: LocalPlatformOptions = {}): Promise<LocalPlatform> {
    const others: JsonObject[] = [];
    const state = await PlatformState.open(
      {
        clock: options.clock ?? systemClock,
        maxPointsPerKey: options.maxPointsPerKey ?? MAX_POINTS_PER_KEY,
        ...(options.dataFolder === undefined ? {} : { dataFolder: options.dataFolder }),
      },
      (record) => others.push(record),
    );
    const platform = new LocalPlatform(state, options);
    for (const record of others) {
      platform.packages.replay(record);
      platform.persistentRpcs.replay(record);
      platform.views.replay(record);
    }
    platform.rpc.requeue();
    try {
      await platform.#service.listen();
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
    const known = this.state.registry.byName(name);
    const device = {
      ...(known ?? this.state.registry.draft({ name }, this.#clock.wallMs())),
      ...(accessToken === undefined ? {} : { accessToken }),
    };
    if (device.accessToken !== known?.accessToken) this.state.saveDevice(device);
    return { id: device.id, accessToken: device.accessToken };
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

function certificateFor(host: string, clock: Clock): SelfSignedCertificate {
  const nowMs = clock.wallMs();
  const names = [...new Set(['localhost', '127.0.0.1', '::1', host])];
  return makeCertificate({ names, fromMs: nowMs - DAY_MS, untilMs: nowMs + CERTIFICATE_DAYS * DAY_MS });
}

/** What the demo's rule chain knows: the time. */
function answerTime(clock: Clock): ClientRpcHandler {
  return async (_device, method) => (method === 'getTime' || method === 'getCurrentTime' ? { time: clock.wallMs() } : undefined);
}
