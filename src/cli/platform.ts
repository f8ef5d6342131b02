/** `turnstone platform`: the small local platform, for benches, demos and tests, until Ctrl-C. */
import { type Command, InvalidArgumentError } from 'commander';
import { messageOf, systemCode } from '../errors.ts';
import { LocalPlatform, type LocalPlatformOptions } from '../local-platform/local-platform.ts';
import { windowsOf } from '../local-platform/rate-limit.ts';
import type { Edge } from './edge.ts';
import { CommandError } from './exit-code.ts';
import { writeOutput } from './output-file.ts';

interface PlatformFlags {
  readonly port: number;
  readonly host: string;
  readonly tlsPort?: number;
  readonly tlsCertificateFile?: string;
  readonly claimDurationMs?: number;
  readonly messageLimit?: string;
  readonly dataPointLimit?: string;
  readonly storeDelayMs?: number;
  readonly legacyProvisioning?: boolean;
  readonly wholeFileFirmware?: boolean;
  readonly pointsPerKey?: number;
  readonly reportThreads?: number;
  readonly reportQueue?: number;
  readonly data?: string;
  readonly device: readonly string[];
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ turnstone platform
  $ turnstone platform --port 8080 --data ./platform-data
  $ turnstone platform --device gateway=my-access-token

People log in as tenant@thingsboard.org with the password "tenant".`;

export function addPlatformCommand(program: Command, edge: Pick<Edge, 'stdout' | 'signal'>): void {
  program
    .command('platform')
    .description('serve a small local platform: device API and the REST part that tests and people need')
    .option('--port <number>', 'HTTP port; 0 takes any free one', portNumber, 8080)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--tls-port <number>', 'HTTPS port, with a certificate made at start; 0 takes any free one', portNumber)
    .option('--tls-certificate-file <file>', 'where to write that certificate, for clients to trust')
    .option('--claim-duration-ms <number>', 'how long a claim stays open when the device does not say (default: 86400000)', milliseconds)
    .option('--message-limit <windows>', 'messages a device may send, like 100:1,3000:60: 100 in 1 s and 3000 in 60 s', rateLimit)
    .option('--data-point-limit <windows>', 'values a device may send in telemetry and attributes, likewise', rateLimit)
    .option('--store-delay-ms <number>', 'how long after its answer what a device sent is stored (default: at once)', milliseconds)
    .option('--legacy-provisioning', 'provision as a server that knows only the contract: it makes every token itself')
    .option('--whole-file-firmware', 'serve firmware as a server that knows only the contract: whole files, no fw_size')
    .option('--points-per-key <number>', 'past this many points a key loses its oldest (default: 1000000)', count)
    .option('--report-threads <number>', 'reports that run at a time (SIMPLE_API_RATE_LIMITER_THREAD_POOL_SIZE; default: 4)', count)
    .option('--report-queue <number>', 'reports that may wait (SIMPLE_API_RATE_LIMITER_QUEUE_CAPACITY; default: 10)', count)
    .option('--data <folder>', 'keep everything in this folder; without it, in memory')
    .option('--device <name=token>', 'make a device with this access token (repeatable)', collect, [])
    .option('--json', 'print the addresses as one line of JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: PlatformFlags) => {
      const platform = await start({
        port: flags.port,
        host: flags.host,
        ...(flags.data === undefined ? {} : { dataFolder: flags.data }),
        ...(flags.tlsPort === undefined ? {} : { tlsPort: flags.tlsPort }),
        ...(flags.claimDurationMs === undefined ? {} : { claimDurationMs: flags.claimDurationMs }),
        rateLimits: {
          ...(flags.messageLimit === undefined ? {} : { messages: flags.messageLimit, dataMessages: flags.messageLimit }),
          ...(flags.dataPointLimit === undefined ? {} : { dataPoints: flags.dataPointLimit }),
        },
        ...(flags.storeDelayMs === undefined ? {} : { storeDelayMs: flags.storeDelayMs }),
        ...(flags.pointsPerKey === undefined ? {} : { mostPointsPerKey: flags.pointsPerKey }),
        analytics: {
          ...(flags.reportThreads === undefined ? {} : { threadPoolSize: flags.reportThreads }),
          ...(flags.reportQueue === undefined ? {} : { queueCapacity: flags.reportQueue }),
        },
        legacyProvisioning: flags.legacyProvisioning === true,
        wholeFileFirmware: flags.wholeFileFirmware === true,
      });
      if (flags.tlsCertificateFile !== undefined && platform.certificate !== undefined)
        await writeOutput(flags.tlsCertificateFile, platform.certificate, 0o644);
      for (const device of flags.device) {
        const [name = '', token] = device.split('=');
        platform.ensureDevice(name, token);
      }
      const { url, tlsUrl } = platform;
      edge.stdout.write(
        flags.json === true ? `${JSON.stringify({ url, tlsUrl })}\n` : `local platform at ${[url, tlsUrl].filter(Boolean).join(' and ')}\n`,
      );
      await aborted(edge.signal);
      await platform.close();
    });
}

async function start(options: LocalPlatformOptions): Promise<LocalPlatform> {
  try {
    return await LocalPlatform.start(options);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === 'EADDRINUSE') throw new CommandError('the port is taken', { nextStep: 'choose another with --port or --tls-port', cause });
    if (code === 'EACCES')
      throw new CommandError('this user may not do that', { nextStep: 'choose a port above 1023 and a folder of your own', cause });
    throw new CommandError(`the local platform cannot start: ${messageOf(cause)}`, { cause });
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('a port is a whole number from 0 to 65535');
  return port;
}

function milliseconds(text: string): number {
  const ms = Number(text);
  if (!Number.isInteger(ms) || ms <= 0) throw new InvalidArgumentError('milliseconds are a whole number above 0');
  return ms;
}

function rateLimit(text: string): string {
  try {
    windowsOf(text);
    return text;
  } catch {
    throw new InvalidArgumentError('windows are like 100:1,3000:60');
  }
}

function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new InvalidArgumentError('a whole number from 0');
  return number;
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
