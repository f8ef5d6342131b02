/** Options of a local platform: defaults are those of a stock server. */
import type { Clock } from '../../host/clock.ts';
import type { PlatformDevice } from './device-registry.ts';
import type { ClientRpcHandler } from './device-routes.ts';
import type { TimedValues } from './payload.ts';
import type { User } from './people.ts';
import type { RateLimits } from './rate-limit.ts';

export interface PlatformSettings {
  readonly clock: Clock;
  /** 0: any free port. `none`: it listens nowhere, and only `answer` reaches it. */
  readonly port: number | 'none';
  readonly host: string;
  /** Without it everything is in memory alone. */
  readonly dataFolder?: string;
  readonly maxPointsPerKey: number;
  /** The server's own limit for requests that wait. */
  readonly asyncLimitMs: number;
  /** How long a poll whose client is gone still takes messages. */
  readonly stalePollMs: number;
  /** Shorter time-outs of RPC are raised to this. */
  readonly minRpcTimeoutMs: number;
  /** Per device. */
  readonly rateLimits: RateLimits;
  /** How long after its 200 what a device sent is stored, ms; 0: right after the answer was written. */
  readonly storeDelayMs: number;
  /** Refuse what the default mode stores as another type. */
  readonly strictTypes: boolean;
  readonly users: readonly User[];
  /** The system parameter `device.claim.duration`. */
  readonly claimDurationMs: number;
  /** Provisioning that knows only the contract's fields and makes every token itself. */
  readonly legacyProvisioning: boolean;
  /** Firmware as the contract alone has it: no chunks, no `fw_size`. */
  readonly wholeFileFirmware: boolean;
  /** HTTPS on this port (0: any free one), with a certificate made at start. */
  readonly tlsPort?: number;
  readonly tokenLifetimeMs: number;
  /** Answers of the rule chain; by default only the time. */
  readonly clientRpc?: ClientRpcHandler;
  /** Told of telemetry as it is stored: who measures delays looks at the clock then. */
  readonly onStored?: (device: PlatformDevice, record: TimedValues) => void;
  readonly analytics: {
    /** SIMPLE_API_RATE_LIMITER_THREAD_POOL_SIZE. */
    readonly threadPoolSize: number;
    /** SIMPLE_API_RATE_LIMITER_QUEUE_CAPACITY. */
    readonly queueCapacity: number;
    /** Releases of the real service differ. */
    readonly basePath: string;
    /** How much longer each report takes, for tests of the limits. */
    readonly delayMs: number;
  };
}

export interface LocalPlatformOptions extends Partial<Omit<PlatformSettings, 'analytics'>> {
  readonly analytics?: Partial<PlatformSettings['analytics']>;
}

const DEFAULTS: Omit<PlatformSettings, 'clock' | 'analytics'> = {
  port: 0,
  host: '127.0.0.1',
  maxPointsPerKey: 1_000_000,
  asyncLimitMs: 30_000,
  stalePollMs: 1_000,
  minRpcTimeoutMs: 5_000,
  rateLimits: {},
  storeDelayMs: 0,
  strictTypes: false,
  users: [
    { username: 'tenant@thingsboard.org', password: 'tenant', authority: 'TENANT_ADMIN' },
    { username: 'customer@thingsboard.org', password: 'customer', authority: 'CUSTOMER_USER' },
  ],
  claimDurationMs: 86_400_000,
  legacyProvisioning: false,
  wholeFileFirmware: false,
  tokenLifetimeMs: 9_000_000,
};
const ANALYTICS_DEFAULTS: PlatformSettings['analytics'] = {
  threadPoolSize: 4,
  queueCapacity: 10,
  basePath: '/apiAnalytics',
  delayMs: 0,
};

export function platformSettings({
  analytics,
  ...options
}: LocalPlatformOptions & Pick<PlatformSettings, 'clock'>): PlatformSettings {
  return withDefaults(
    { ...DEFAULTS, clock: options.clock, analytics: withDefaults(ANALYTICS_DEFAULTS, analytics) },
    options,
  );
}

/** An option that is undefined leaves its default. */
function withDefaults<T extends object>(defaults: T, options: object = {}): T {
  return { ...defaults, ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) };
}
