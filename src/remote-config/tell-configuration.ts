/** Tells what a configuration from afar has become, to the platform, the alerts and the timeline. */
import type { Alerts } from '../host/alert-list.ts';
import type { TellTimeline } from '../timeline/timeline.ts';
import { type JsonObject, jsonOf } from '../values/json.ts';
import type { ConfigurationState } from './remote-config.ts';

const ALERT = 'configuration from afar';
/** Digits of a hash that are read out. */
const DIGITS = 12;
/** Characters of a reason in the attribute: with ten faults it stays within 2 kB. */
const MAX_REASON = 300;
const MAX_FAULTS_TOLD = 5;

/** Returns the client attribute `configurationState`; nothing where no configuration came. */
export function toldAttribute(state: ConfigurationState | undefined): JsonObject {
  if (state === undefined) return {};
  const { reason, faults, package: name, ...others } = state;
  return {
    configurationState: jsonOf({
      ...others,
      ...(name !== undefined && { package: { title: name.title, version: name.version } }),
      ...(reason !== undefined && { reason: reason.slice(0, MAX_REASON) }),
      ...(faults !== undefined && { faults: faults.slice(0, MAX_FAULTS_TOLD) }),
    }),
  };
}

export function tellConfiguration(
  state: ConfigurationState,
  { alerts, timeline }: { readonly alerts: Alerts; readonly timeline: { readonly tell: TellTimeline } },
): void {
  const words = wordsOf(state);
  if (state.state === 'kept') alerts.clear(ALERT);
  else alerts.raise(ALERT, words);
  timeline.tell({
    kind: 'config',
    by: state.origin,
    value: state.state,
    words: `${words.charAt(0).toUpperCase()}${words.slice(1)}.`,
  });
}

function wordsOf({ state, hash, package: name, reason }: ConfigurationState): string {
  const from = name === undefined ? 'from afar' : `of package ${name.title} ${name.version}`;
  const which = hash === '' ? 'a configuration from afar' : `the configuration ${hash.slice(0, DIGITS)} ${from}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  switch (state) {
    case 'waiting':
      return `${which} waits, and goes on by itself${why}`;
    case 'received':
      return `${which} was received`;
    case 'refused':
      return `${which} was refused${why}`;
    case 'trying':
      return `${which} is on trial, and goes again by itself unless all works as before`;
    case 'kept':
      return `${which} is kept${why}`;
    case 'returned':
      return `${which} did not work, and the one before is in force again${why}`;
  }
}
