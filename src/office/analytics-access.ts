/** The way of a command to the analytics service: what the configuration says, what the command line says instead, and the password from where nobody sees it. */
import { readFile } from 'node:fs/promises';
import { PASSWORD_VARIABLE } from '../cli/command.ts';
import type { Edge } from '../cli/edge.ts';
import { CommandError, usageError } from '../cli/exit-code.ts';
import { secretFrom } from '../cli/secret-from.ts';
import type { Settings } from '../cli/settings-keys.ts';
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { loadConfig } from '../config/read-config.ts';
import type { AgentConfig, AnalyticsConfig } from '../config/schema/agent-config.ts';
import { analyticsDefaults } from '../config/schema/local.ts';
import { hasCode, systemCode } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import type { AnalyticsFlags } from './report-command.ts';
import { ReportClient } from './reports/report-client.ts';

type SomeAnalytics = Omit<AnalyticsConfig, 'url'> & Partial<Pick<AnalyticsConfig, 'url'>>;

interface Told {
  readonly flags: AnalyticsFlags;
  readonly edge: Edge;
  /** Used where neither the command line nor the configuration says anything. */
  readonly settings: Settings;
}

/** A client, not connected yet. @throws CommandError that says what is missing. */
export async function openReportClient({ flags, edge, settings }: Told): Promise<ReportClient> {
  const config = await configOf({ flags, edge, settings });
  const analytics: SomeAnalytics = config?.analytics ?? analyticsDefaults();
  const { basePath, authUrl, tokenIn, caFile, requestTimeoutMs, deadlineMs } = analytics;
  const { url = analytics.url ?? settings['analytics.url'], user = analytics.user ?? settings['analytics.user'] } =
    flags;
  if (url === undefined)
    throw missing('where the analytics service is', '--url, or analytics.url in the configuration');
  if (user === undefined) throw missing('who logs in', '--user, or analytics.user in the configuration');
  const ca = caFile === undefined ? undefined : await certificate(caFile);
  const proxy = config?.platform.proxy?.reveal();
  return new ReportClient({
    clock: systemClock,
    onWait: (waitMs, reason) => {
      if (edge.stderr.isTerminal)
        edge.stderr.write(`\r\u001b[K${reason}; asking again in ${Math.ceil(waitMs / 1_000)} s`);
    },
    settings: {
      url,
      user,
      tokenIn,
      requestTimeoutMs,
      deadlineMs,
      basePath: flags.basePath ?? basePath,
      authUrl: flags.authUrl ?? authUrl,
      proxy,
      ca,
      password: await passwordOf(flags, analytics, edge),
    },
  });
}

/** A command that is told everything needs no configuration, and neither the right to read it nor the secrets of the service. */
async function configOf({ flags, edge, settings }: Told): Promise<AgentConfig | undefined> {
  if (flags.config === undefined && flags.url !== undefined && flags.user !== undefined) return undefined;
  const isEnough =
    (flags.url ?? settings['analytics.url']) !== undefined && (flags.user ?? settings['analytics.user']) !== undefined;
  return loadConfig(flags.config ?? DEFAULT_CONFIG_FILE, { environment: edge.environment }).catch((error: unknown) => {
    if (flags.config === undefined && isEnough && hasCode(error, 'config/unreadable')) return undefined;
    throw error;
  });
}

async function passwordOf(flags: AnalyticsFlags, { password }: SomeAnalytics, edge: Edge): Promise<string> {
  if (flags.passwordFile !== undefined) return secretFrom(flags.passwordFile, '', edge);
  const given = edge.environment[PASSWORD_VARIABLE] ?? password?.reveal();
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
