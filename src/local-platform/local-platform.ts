/**
 * A small platform that serves the same device API and the same part of the REST API as the real one: bench, demo, tests. It opens every
 * part, joins them, and closes them in reverse; it has no rule of its own.
 */
import { type Clock, systemClock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import { analyticsRoutes } from './analytics-routes.ts';
import { AnalyticsViews } from './analytics-views.ts';
import { claimRoutes } from './claims.ts';
import { type ClientRpcHandler, deviceRoutes } from './device-routes.ts';
import { ExecutionPool } from './execution-pool.ts';
import { Faults } from './faults.ts';
import { HttpService } from './http-service.ts';
import { LongPolls } from './long-polls.ts';
import { OtaPackages } from './ota-packages.ts';
import { otaRoutes } from './ota-routes.ts';
import { pageRoutes } from './page/page-routes.ts';
import { People, type User } from './people.ts';
import { PlatformState } from './platform-state.ts';
import { provisionRoutes } from './provision-routes.ts';
import { RateLimit } from './rate-limit.ts';
import { restDeviceRoutes } from './rest-devices.ts';
import { restProfileRoutes } from './rest-profiles.ts';
import { restRpcRoutes } from './rest-rpc.ts';
import { restTelemetryRoutes } from './rest-telemetry.ts';
import { RpcBroker } from './rpc-broker.ts';
import { makeCertificate, type SelfSignedCertificate } from './self-signed-certificate.ts';

export interface LocalPlatformOptions {
  /** 0, the default: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  readonly dataFolder?: string;
  /** Default 1,000,000. */
  readonly mostPointsPerKey?: number;
  /** The server's own limit for requests that wait. Default 30 s, as on a stock server. */
  readonly asyncLimitMs?: number;
  /** How long a poll whose client is gone still takes messages. Default 1 s. */
  readonly stalePollMs?: number;
  /** Default 5 s, as on a stock server. */
  readonly leastRpcTimeoutMs?: number;
  /** Requests per device and second. Default: no limit. */
  readonly rateLimitPerSecond?: number;
  /** Refuse what the default mode stores as another type. */
  readonly strictTypes?: boolean;
  readonly users?: readonly User[];
  /** The system parameter `device.claim.duration`. Default 24 h. */
  readonly claimDurationMs?: number;
  /** Provisioning that knows only the contract's fields and makes every token itself. */
  readonly legacyProvisioning?: boolean;
  /** Firmware as the contract alone has it: no chunks, no `fw_size`. */
  readonly wholeFileFirmware?: boolean;
  /** HTTPS on this port (0: any free one), with a certificate made at start. Default: none. */
  readonly tlsPort?: number;
  /** Default 9000 s. */
  readonly tokenLifetimeMs?: number;
  readonly clientRpc?: ClientRpcHandler;
  readonly analytics?: {
    /** SIMPLE_API_RATE_LIMITER_THREAD_POOL_SIZE. Default 4. */
    readonly threadPoolSize?: number;
    /** SIMPLE_API_RATE_LIMITER_QUEUE_CAPACITY. Default 10. */
    readonly queueCapacity?: number;
    /** Default `/apiAnalytics`. */
    readonly basePath?: string;
    /** How much longer each report takes. */
    readonly delayMs?: number;
  };
  readonly clock?: Clock;
}

const HOST = '127.0.0.1';
const MOST_POINTS_PER_KEY = 1_000_000;
const ASYNC_LIMIT_MS = 30_000;
const STALE_POLL_MS = 1_000;
const LEAST_RPC_TIMEOUT_MS = 5_000;
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
    this.rpc = new RpcBroker(polls);
    this.attributePolls = new LongPolls(polls);
    this.faults = new Faults(clock);
    this.rateLimit = new RateLimit({
      clock,
      ...(options.rateLimitPerSecond === undefined ? {} : { perSecond: options.rateLimitPerSecond }),
    });
    const people = new People({
      clock,
      ...(options.users === undefined ? {} : { users: options.users }),
      ...(options.tokenLifetimeMs === undefined ? {} : { tokenLifetimeMs: options.tokenLifetimeMs }),
    });
    const wholeFileOnly = options.wholeFileFirmware === true;
    this.packages = new OtaPackages({
      state,
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
        ...restRpcRoutes({ ...shared, rpc: this.rpc, leastTimeoutMs: options.leastRpcTimeoutMs ?? LEAST_RPC_TIMEOUT_MS }),
      ],
    });
  }

  /** Opens the data folder, if there is one, and listens; rejects with the system's error (EADDRINUSE, EACCES) when it cannot. */
  static async start(options: LocalPlatformOptions = {}): Promise<LocalPlatform> {
    const others: JsonObject[] = [];
    const state = await PlatformState.open(
      {
        clock: options.clock ?? systemClock,
        mostPointsPerKey: options.mostPointsPerKey ?? MOST_POINTS_PER_KEY,
        ...(options.dataFolder === undefined ? {} : { dataFolder: options.dataFolder }),
      },
      (record) => others.push(record),
    );
    const platform = new LocalPlatform(state, options);
    for (const record of others) {
      platform.packages.replay(record);
      platform.views.replay(record);
    }
    try {
      await platform.#service.listen();
    } catch (error) {
      await platform.close();
      throw error;
    }
    return platform;
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
    this.rpc.restart();
    this.attributePolls.close();
  }

  /** Listens again on the same ports; RPC ids start from 0, as after a restart. */
  async comeBack(): Promise<void> {
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
