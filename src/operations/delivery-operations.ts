/** Operations of the audit: they tell what was delivered, and put entries that are still kept back for delivery. */
import type { SentCell } from '../telemetry/entry-digest.ts';
import type { ValueShape } from '../values/value-shape.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SITE_CHANGE, textOf } from './operation.ts';

/** UTC epoch ms, `[fromMs, toMs)`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Deliveries {
  /** Returns what was acknowledged, by hours, with what waits and digests of what is kept. */
  readonly sent: (range: TimeRange, signal: AbortSignal) => Promise<readonly SentCell[]>;
  /** Resolves to the number of entries that are delivered again. */
  readonly resend: (choice: TimeRange & { readonly key: string }, signal: AbortSignal) => Promise<number>;
}

const TIME: ValueShape = { type: 'number', description: 'UTC epoch ms' };

export const DELIVERY_OPERATIONS: OperationsOn<Deliveries> = {
  readLedger: ({ sent }) => ({
    ...QUESTION,
    description: 'What was acknowledged in a time, by device, key and hour.',
    askers: ['site'],
    params: objectOf({ fromMs: TIME, toMs: TIME }),
    run: (params, { signal }) =>
      sent({ fromMs: Number(memberOf(params, 'fromMs')), toMs: Number(memberOf(params, 'toMs')) }, signal),
  }),
  resend: ({ resend }) => ({
    ...SITE_CHANGE,
    description: 'Delivers what is kept of a key and a time again.',
    params: objectOf({ key: { type: 'string' }, fromMs: TIME, toMs: TIME }),
    run: (params, { signal }) =>
      resend(
        {
          key: textOf(params, 'key'),
          fromMs: Number(memberOf(params, 'fromMs')),
          toMs: Number(memberOf(params, 'toMs')),
        },
        signal,
      ),
  }),
};
