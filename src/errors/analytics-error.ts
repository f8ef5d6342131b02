/** Failures of calls to the analytics service: each status that the contract names has a fault of its own. */
import { AgentError, type Recovery } from './agent-error.ts';

const RECOVERIES = {
  /** 401 at the login. */
  'login-refused': 'hold',
  /** 403, with a token that was renewed just before. */
  forbidden: 'hold',
  /** 415. */
  'media-type': 'drop',
  /** 429, until the deadline was over. */
  'too-many-requests': 'retry',
  /** Any other status. */
  refused: 'drop',
  unreachable: 'retry',
  'bad-answer': 'drop',
  settings: 'stop',
} as const satisfies Readonly<Record<string, Recovery>>;

export type AnalyticsFault = keyof typeof RECOVERIES;

export class AnalyticsError extends AgentError {
  constructor(fault: AnalyticsFault, message: string, cause?: unknown) {
    super(`analytics/${fault}`, message, { recovery: RECOVERIES[fault], cause });
  }
}
