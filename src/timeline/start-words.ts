/** Start and stop of the agent, told from the last start or stop in the record. */
import type { Sentence } from '../errors/sentence.ts';
import { sentence, toldAs } from '../names/sentences.ts';
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
  const { by, told } = causeOf(last, { version, bootId });
  return {
    kind: 'start',
    by,
    value: version,
    from: last?.value,
    boot: bootId,
    ...toldAs(told),
  };
}

export function stopEvent({ version, bootId }: ThisStart, isRestart: boolean): ToldEvent {
  const told = sentence(isRestart ? 'stopRestart' : 'stopMachine', { version });
  return { kind: 'start', by: STOP, value: version, boot: bootId, ...toldAs(told) };
}

function causeOf(
  last: TimelineEvent | undefined,
  { version, bootId }: ThisStart,
): { readonly by: string; readonly told: Sentence } {
  if (last === undefined) return { by: 'first', told: sentence('startFirst', { version }) };
  const isSameBoot = last.boot === bootId;
  const wasStopped = last.by === STOP;
  if (typeof last.value === 'string' && last.value !== version)
    return { by: 'update', told: sentence('startUpdate', { version, from: last.value }) };
  if (!isSameBoot && !wasStopped) return { by: 'power', told: sentence('startPower', { version }) };
  if (!isSameBoot) return { by: 'boot', told: sentence('startBoot', { version }) };
  if (wasStopped) return { by: 'restart', told: sentence('startRestart', { version }) };
  return { by: 'crash', told: sentence('startCrash', { version }) };
}
