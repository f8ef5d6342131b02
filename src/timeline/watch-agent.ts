/** Listens to the rooms that call back, and looks at the others; commands, rules, alarms and updates are told by their own rooms. */
import type { Actuators } from '../actuators/actuators.ts';
import type { LiveConfig } from '../config/live-config.ts';
import type { TimeSync } from '../host/time-sync.ts';
import { valueWord } from '../host/value-word.ts';
import { sentence, toldAs } from '../names/sentences.ts';
import type { Contact } from '../platform/contact.ts';
import type { NamingConfig } from './named.ts';
import type { TellTimeline } from './timeline.ts';
import { watchOutputs } from './watch-outputs.ts';
import { type WatchedStates, watchStates } from './watch-states.ts';
import { contactEvent } from './words.ts';

export interface WatchedAgent extends Omit<WatchedStates, 'locked'> {
  readonly actuators: Pick<Actuators, 'control' | 'lockout'>;
  readonly contact: Pick<Contact, 'onChange'>;
  readonly timeSync: Pick<TimeSync, 'onChange' | 'isSynchronised' | 'correctionMs'>;
  readonly live: Pick<LiveConfig, 'onChange' | 'overridesAsSet'> & {
    readonly current: Pick<NamingConfig, 'actuators'> & Partial<Pick<NamingConfig, 'rules'>>;
  };
}

/** Tells from now on; the returned function ends it. */
export function watchAgent(
  { actuators, contact, timeSync, live, ...states }: WatchedAgent,
  tell: TellTimeline,
): () => void {
  const { clock } = states;
  let lostAtMs: number | undefined;
  let overrides = live.overridesAsSet;
  const ends = [
    watchOutputs(actuators.control, tell, () => live.current),
    watchStates({ ...states, locked: () => actuators.lockout.locked }, tell),
    contact.onChange((status) => {
      const isLost = status.problem !== undefined;
      tell(contactEvent(status, isLost || lostAtMs === undefined ? undefined : clock.monotonicMs() - lostAtMs));
      lostAtMs = isLost ? (lostAtMs ?? status.sinceMs) : undefined;
    }),
    timeSync.onChange(() => {
      if (!timeSync.isSynchronised()) return;
      const told = sentence(timeSync.correctionMs() === 0 ? 'clockRight' : 'clockByPlatform');
      tell({ kind: 'clock', by: 'synchronised', ...toldAs(told) });
    }),
    live.onChange(() => {
      const [before, now] = [overrides, live.overridesAsSet];
      overrides = now;
      for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
        if (valueWord(before[key]) === valueWord(now[key])) continue;
        const set = now[key];
        const told =
          key in now
            ? sentence('settingSet', { key, value: typeof set === 'boolean' ? set : valueWord(set) })
            : sentence('settingTakenBack', { key });
        tell({ kind: 'config', by: 'shared', key, value: set, from: before[key], ...toldAs(told) });
      }
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
