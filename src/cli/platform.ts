/** Serves the small local platform until Ctrl-C. */
import { resolve } from 'node:path';
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { whyNoFolder } from '../host/folder-place.ts';
import { LocalPlatform, type LocalPlatformOptions } from '../stand-ins/local-platform/local-platform.ts';
import type { PlatformCall } from './commands/platform.ts';
import { untilStopped } from './edge.ts';
import { CommandError, usageError } from './exit-code.ts';
import { expectReplaceable, writeOutput } from './written-file.ts';

export async function runPlatform({ flags, edge, print }: PlatformCall): Promise<void> {
  const { messageLimit, telemetryLimit = messageLimit, dataPointLimit, reportThreads, reportQueue } = flags;
  if (flags.tlsCertificateFile !== undefined) await expectReplaceable(flags.tlsCertificateFile);
  const why = flags.data === undefined ? undefined : await whyNoFolder(resolve(flags.data));
  if (why !== undefined)
    throw usageError(`cannot keep anything in ${flags.data}: expected ${why}`, {
      nextStep: 'name another with --data',
    });
  const platform = await start({
    port: flags.port,
    host: flags.host,
    dataFolder: flags.data,
    tlsPort: flags.tlsPort,
    claimDurationMs: flags.claimDurationMs,
    storeDelayMs: flags.storeDelayMs,
    maxPointsPerKey: flags.pointsPerKey,
    rateLimits: { messages: messageLimit, dataMessages: telemetryLimit, dataPoints: dataPointLimit },
    analytics: { threadPoolSize: reportThreads, queueCapacity: reportQueue },
    legacyProvisioning: flags.legacyProvisioning === true,
    wholeFileFirmware: flags.wholeFileFirmware === true,
  });
  if (flags.tlsCertificateFile !== undefined && platform.certificate !== undefined)
    await writeOutput(flags.tlsCertificateFile, platform.certificate, 0o644);
  for (const device of flags.device ?? []) {
    const [name = '', token] = device.split('=');
    platform.ensureDevice(name, token);
  }
  const { url, tlsUrl } = platform;
  print.result({ url, tlsUrl }, () => `local platform at ${[url, tlsUrl].filter(Boolean).join(' and ')}\n`);
  await untilStopped(edge.signal);
  await platform.close();
}

async function start(options: LocalPlatformOptions): Promise<LocalPlatform> {
  try {
    return await LocalPlatform.start(options);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === 'EADDRINUSE')
      throw new CommandError('the port is taken', { nextStep: 'choose another with --port or --tls-port', cause });
    if (code === 'EACCES')
      throw new CommandError('this user may not do that', {
        nextStep: 'choose a port above 1023 and a folder of your own',
        cause,
      });
    throw new CommandError(`the local platform cannot start: ${messageOf(cause)}`, { cause });
  }
}
