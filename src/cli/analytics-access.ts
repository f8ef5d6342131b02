/** The way of a command to the analytics service: what the configuration says, what the command line says instead, and the password from where nobody sees it. */
import { readFile } from 'node:fs/promises';
import { ReportClient } from '../analytics/report-client.ts';
import type { AgentConfig } from '../config/agent-config.ts';
import { DEFAULT_CONFIG_FILE } from '../config/default-places.ts';
import { loadConfig } from '../config/read-config.ts';
import { systemCode } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { type AnalyticsFlags, PASSWORD_VARIABLE } from './commands/analytics-options.ts';
import type { Edge } from './edge.ts';
import { CommandError, usageError } from './exit-code.ts';
import { secretFrom } from './secret-from.ts';

const DEFAULT_BASE_PATH = '/apiAnalytics';
const DEFAULT_REQUEST_TIMEOUT_MS = 120_000;
const DEFAULT_DEADLINE_MS = 600_000;

/** A client, not connected yet. @throws CommandError that says what is missing. */
export async function openReportClient(flags: AnalyticsFlags, edge: Edge): Promise<ReportClient> {
  const config = await configOf(flags, edge);
  const { analytics, platform } = config ?? {};
  const url = flags.url ?? analytics?.url;
  const user = flags.user ?? analytics?.user;
  if (url === undefined) throw missing('where the analytics service is', '--url, or analytics.url in the configuration');
  if (user === undefined) throw missing('who logs in', '--user, or analytics.user in the configuration');
  const ca = analytics?.caFile === undefined ? undefined : await certificate(analytics.caFile);
  return new ReportClient({
    clock: systemClock,
    onWait: (waitMs, reason) => {
      if (edge.stderr.isTerminal) edge.stderr.write(`\r\u001b[K${reason}; asking again in ${Math.ceil(waitMs / 1_000)} s`);
    },
    settings: {
      url,
      user,
      password: await passwordOf(flags, analytics, edge),
      basePath: flags.basePath ?? analytics?.basePath ?? DEFAULT_BASE_PATH,
      tokenIn: analytics?.tokenIn ?? 'header',
      requestTimeoutMs: analytics?.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
      deadlineMs: analytics?.deadlineMs ?? DEFAULT_DEADLINE_MS,
      ...given({ authUrl: flags.authUrl ?? analytics?.authUrl, proxy: platform?.proxy?.reveal(), ca }),
    },
  });
}

/** A command that is told everything needs no configuration, and neither the right to read it nor the secrets of the service. */
async function configOf(flags: AnalyticsFlags, edge: Edge): Promise<AgentConfig | undefined> {
  if (flags.config === undefined && flags.url !== undefined && flags.user !== undefined) return undefined;
  return loadConfig(flags.config ?? DEFAULT_CONFIG_FILE, { environment: edge.environment });
}

async function passwordOf(flags: AnalyticsFlags, analytics: AgentConfig['analytics'], edge: Edge): Promise<string> {
  if (flags.passwordFile !== undefined) return secretFrom(flags.passwordFile, '', edge);
  const given = edge.environment[PASSWORD_VARIABLE] ?? analytics?.password?.reveal();
  if (given !== undefined && given !== '') return given;
  if (!edge.isInteractive)
    throw missing('the password', `--password-file, $${PASSWORD_VARIABLE}, or analytics.password in the configuration`);
  return secretFrom(undefined, 'Password: ', edge);
}

async function certificate(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${file}: ${systemCode(cause)}`, { cause });
  });
}

function missing(what: string, nextStep: string): CommandError {
  return usageError(`it is not known ${what}`, { nextStep: `give ${nextStep}` });
}
