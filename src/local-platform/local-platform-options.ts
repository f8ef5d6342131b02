/** What a local platform can be told: all of it has a default, which is a stock server's. */
import type { Clock } from '../host/clock.ts';
import type { ClientRpcHandler } from './device-routes.ts';
import type { User } from './people.ts';
import type { RateLimits } from './rate-limit.ts';

export interface LocalPlatformOptions {
  /** 0, the default: any free port. `none`: it listens nowhere, and only `answer` reaches it. */
  readonly port?: number | 'none';
  /** Default 127.0.0.1. */
  readonly host?: string;
  readonly dataFolder?: string;
  /** Default 1,000,000. */
  readonly maxPointsPerKey?: number;
  /** The server's own limit for requests that wait. Default 30 s, as on a stock server. */
  readonly asyncLimitMs?: number;
  /** How long a poll whose client is gone still takes messages. Default 1 s. */
  readonly stalePollMs?: number;
  /** Default 5 s, as on a stock server. */
  readonly minRpcTimeoutMs?: number;
  /** Per device. Default: none. */
  readonly rateLimits?: RateLimits;
  /** How long after its 200 what a device sent is stored, ms. Default 0: right after the answer was written. */
  readonly storeDelayMs?: number;
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
