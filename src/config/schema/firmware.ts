/** Updates of the agent itself, and of what is attached to it. */
import { z } from 'zod';
import { hostName } from '../fields/addresses.ts';
import { byteRate, duration, filePath, list, program, programArguments, section, size } from '../fields/fields.ts';
import { hours } from '../fields/local-times.ts';

/** A chunk that a bad line cuts is sent again whole; 1 MB is 8 s at 1 Mbit/s. A request asks for up to eight. */
const DEFAULT_CHUNK = '1MB';
const DEFAULT_MAX_SIZE = '512MB';

export const firmwareSchema = section({
  enabled: z.boolean().default(true),
  /** Offers with this `fw_title` are for the agent; others need a handler. */
  title: z.string().min(1).max(255).default('turnstone'),
  /** Holds releases/<version> and the symlink `current`. */
  installFolder: filePath().default('/opt/turnstone'),
  /** Root's folder, in which boot guard and root helper say what they did; install.sh makes it. */
  guardFolder: filePath().default('/var/lib/turnstone-guard'),
  /** Folder of Ed25519 public keys, `*.pem`, owned by root. */
  trustedKeys: filePath().default('/etc/turnstone/trusted-keys'),
  requireSignature: z.boolean().default(true),
  /** True lets an offer name an older version than the confirmed one. */
  allowDowngrade: z.boolean().default(false),
  chunk: size({ min: '4kB', max: '64MB' }).prefault(DEFAULT_CHUNK),
  maxSize: size({ min: '1MB', max: '2GB' }).prefault(DEFAULT_MAX_SIZE),
  rateLimit: byteRate({ min: '1kB/s' }).optional(),
  /** Downloads run only within these hours, local time; may cross midnight. */
  hours: hours().optional(),
  downloadDeadline: duration({ min: '1m', max: '30d' }).prefault('3d'),
  confirm: section({
    /** Healthy for this long after the first acknowledged upload. */
    healthyFor: duration({ min: '1s', max: '1d' }).prefault('5m'),
    /** Counted only while the platform is reachable. */
    deadline: duration({ min: '1m', max: '7d' }).prefault('60m'),
    /** How long a release that never reached the platform is held while the rest of it is healthy; the boot guard goes back after 25 h in any case. */
    unreachableHold: duration({ min: '1m', max: '30d' }).prefault('24h'),
  }).prefault({}),
  /** Offers for other titles, and `sw_*`: a fixed command with the verified file. */
  handlers: list(
    section({
      title: z.string().min(1).max(255),
      package: z.enum(['firmware', 'software']).default('firmware'),
      program: program(),
      /** `{file}`, `{title}` and `{version}` are replaced. */
      arguments: programArguments().default(['{file}']),
      timeout: duration({ min: '1s', max: '1d' }).prefault('10m'),
      /** Default: `firmware.requireSignature`. */
      requireSignature: z.boolean().optional(),
      /** True takes a package without a checksum, as the platform makes it of an external URL; such a one must be signed in any case. */
      allowWithoutChecksum: z.boolean().default(false),
      /** Hosts from which a file with an external URL may come, each redirect included; default any. */
      source: list(hostName(), { max: 16 }).optional(),
    }),
    { max: 32 },
  ).default([]),
});

export type FirmwareConfig = z.infer<typeof firmwareSchema>;
export type FirmwareHandlerConfig = FirmwareConfig['handlers'][number];
