/** What a call to the analytics service fails with: each status that the contract names has a fault of its own. */
import { AgentError, type Recovery } from '../errors.ts';

export type AnalyticsFault =
  /** 401 at the login. */
  | 'login-refused'
  /** 403, with a token that was renewed just before. */
  | 'forbidden'
  /** 415. */
  | 'media-type'
  /** 429, until the deadline was over. */
  | 'too-many-requests'
  /** Any other status. */
  | 'refused'
  | 'unreachable'
  | 'bad-answer'
  | 'settings';

const RECOVERIES: Readonly<Record<AnalyticsFault, Recovery>> = {
  'login-refused': 'hold',
  forbidden: 'hold',
  'media-type': 'drop',
  'too-many-requests': 'retry',
  refused: 'drop',
  unreachable: 'retry',
  'bad-answer': 'drop',
  settings: 'stop',
};

export class AnalyticsError extends AgentError {
  readonly status: number | undefined;

  constructor(fault: AnalyticsFault, message: string, details: { readonly status?: number; readonly cause?: unknown } = {}) {
    super(`analytics/${fault}`, message, { recovery: RECOVERIES[fault], cause: details.cause });
    this.status = details.status;
  }
}
