/** Start and stop of the agent, told from the last start or stop in the record. */
import type { TimelineEvent, ToldEvent } from './event.ts';

export interface ThisStart {
  readonly version: string;
  readonly bootId: string;
}

/** Value of `by` in the events of a stop. */
const STOP = 'stop';

/** The start of this process, with its cause as far as the record tells it. */
export function startEvent({ version, bootId }: ThisStart, before: readonly TimelineEvent[]): ToldEvent {
  const last = before.findLast(({ kind }) => kind === 'start');
  const { by, words } = causeOf(last, { version, bootId });
  return {
    kind: 'start',
    by,
    value: version,
    from: last?.value,
    boot: bootId,
    words: `The agent ${version} started${words}.`,
  };
}

export function stopEvent({ version, bootId }: ThisStart, isRestart: boolean): ToldEvent {
  const why = isRestart
    ? 'to start anew: a command, an update or a changed identity asked for it'
    : 'as this machine asked for it';
  return { kind: 'start', by: STOP, value: version, boot: bootId, words: `The agent ${version} stops, ${why}.` };
}

function causeOf(
  last: TimelineEvent | undefined,
  { version, bootId }: ThisStart,
): { readonly by: string; readonly words: string } {
  if (last === undefined) return { by: 'first', words: '; nothing is recorded of before' };
  const isSameBoot = last.boot === bootId;
  const wasStopped = last.by === STOP;
  if (typeof last.value === 'string' && last.value !== version)
    return { by: 'update', words: ` in the place of ${last.value}` };
  if (!isSameBoot && !wasStopped)
    return { by: 'power', words: ' with this machine, which had ended without a stop: a power cut or a reset' };
  if (!isSameBoot) return { by: 'boot', words: ' with this machine, which had been shut down' };
  if (wasStopped) return { by: 'restart', words: ' again after its stop' };
  return { by: 'crash', words: ' again: the process before had ended without a stop' };
}
