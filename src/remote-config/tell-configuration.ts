/** Tells what a change of the configuration has become, to the platform, the alerts and the timeline. */
import type { Sentence } from '../errors/sentence.ts';
import type { Alerts } from '../host/alert-list.ts';
import { sentence, toldAs } from '../names/sentences.ts';
import type { TellTimeline } from '../timeline/timeline.ts';
import { type JsonObject, jsonOf } from '../values/json.ts';
import type { ConfigurationState } from './remote-config.ts';

const ALERT = 'change of the configuration';
/** Digits of a hash that are read out. */
const DIGITS = 12;
/** Characters of a reason in the attribute: with ten faults it stays within 2 kB. */
const MAX_REASON = 300;
const MAX_FAULTS_TOLD = 5;

/** Returns the client attribute `configurationState`; nothing where no configuration came. */
export function toldAttribute(state: ConfigurationState | undefined): JsonObject {
  if (state === undefined) return {};
  const { reason, faults, ...others } = state;
  return {
    configurationState: jsonOf({
      ...others,
      ...(reason !== undefined && { reason: reason.slice(0, MAX_REASON) }),
      ...(faults !== undefined && { faults: faults.slice(0, MAX_FAULTS_TOLD) }),
    }),
  };
}

export function tellConfiguration(
  state: ConfigurationState,
  { alerts, timeline }: { readonly alerts: Alerts; readonly timeline: { readonly tell: TellTimeline } },
): void {
  const told = changeSentence(state);
  if (state.state === 'kept') alerts.clear(ALERT);
  else alerts.raise(ALERT, told);
  timeline.tell({ kind: 'config', by: state.origin, value: state.state, ...toldAs(told) });
}

const SENTENCES = {
  waiting: 'changeWaits',
  received: 'changeReceived',
  refused: 'changeRefused',
  trying: 'changeTrying',
  kept: 'changeKept',
  returned: 'changeReturned',
} as const satisfies Record<ConfigurationState['state'], string>;

function changeSentence({ state, hash, origin, package: name, reason }: ConfigurationState): Sentence {
  return sentence(SENTENCES[state], {
    hash: hash === '' ? undefined : hash.slice(0, DIGITS),
    by: origin,
    package: name && `${name.title} ${name.version}`,
    why: reason,
  });
}
