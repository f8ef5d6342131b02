/** What the boot guard does about a configuration on trial: cases that the real script and its model run with the same outcomes. */

/** The file on trial, the one before it, or one that somebody has put there on site. */
export type FileName = 'trial' | 'before' | 'site';
export type GuardTurn = 'starting' | 'stopped' | 'tick' | 'trial-over';
/** `try-restart` starts no agent that was stopped. */
export type Renewal = 'restart' | 'try-restart';
type Turn = GuardTurn | 'stopped 78' | 'stopped 1';

export interface ConfigTrialEnd {
  readonly inPlace: FileName;
  readonly isOn: boolean;
  readonly outcome: 'trying' | 'kept' | 'returned';
  readonly reason: string;
  /** Outcome and origin of the history's entry, and the file beside it; none while the trial is on. */
  readonly history: `${'kept' | 'returned'} ${'patch' | 'site'} ${FileName}` | undefined;
  /** How the service manager is told, in order. */
  readonly renewals: readonly Renewal[];
}

export interface ConfigTrialCase {
  readonly inPlace: FileName | 'none';
  /** Set when the agent stays down, as it has refused its file, and nobody came for that. */
  readonly hasRefused?: true;
  /** Set when the machine went down since the trial began. */
  readonly isOtherBoot?: true;
  /** Verdict of somebody who was cut short after it. */
  readonly verdict?: 'kept' | 'returned';
  readonly turns: readonly Turn[];
  readonly ends: ConfigTrialEnd;
}

function on(inPlace: FileName): ConfigTrialEnd {
  return { inPlace, isOn: true, outcome: 'trying', reason: '', history: undefined, renewals: [] };
}

function returned(reason: string, ...renewals: readonly Renewal[]): ConfigTrialEnd {
  return { inPlace: 'before', isOn: false, outcome: 'returned', reason, history: 'returned patch trial', renewals };
}

function kept(inPlace: FileName): ConfigTrialEnd {
  return { inPlace, isOn: false, outcome: 'kept', reason: 'a verdict', history: 'kept patch trial', renewals: [] };
}

function onSite(inPlace: FileName): ConfigTrialEnd {
  const reason = 'the file was changed on site during the trial, and stays';
  return { inPlace, isOn: false, outcome: 'kept', reason, history: `kept site ${inPlace}`, renewals: [] };
}

const REMOVED = 'the file was removed during the trial';
const NEVER = 'the file was never put in place';

export const CONFIG_TRIAL_TABLE: Readonly<Record<string, ConfigTrialCase>> = {
  'returns the file when its time is over, and restarts': {
    inPlace: 'trial',
    turns: ['trial-over'],
    ends: returned('it was not kept in its time', 'try-restart'),
  },
  'starts an agent that stays down for it when its time is over': {
    inPlace: 'trial',
    hasRefused: true,
    turns: ['trial-over'],
    ends: returned('it was not kept in its time', 'restart'),
  },
  'puts a file that is gone back when its time is over': {
    inPlace: 'none',
    turns: ['trial-over'],
    ends: returned(REMOVED, 'try-restart'),
  },
  'puts a file that is gone back before the start': {
    inPlace: 'none',
    turns: ['tick', 'starting'],
    ends: returned(REMOVED),
  },
  'puts a file that is gone back after the agent has ended for it': {
    inPlace: 'none',
    turns: ['stopped 78'],
    ends: returned(REMOVED, 'restart'),
  },
  'puts a file that was kept and is gone back': {
    inPlace: 'none',
    verdict: 'kept',
    turns: ['stopped 1'],
    ends: returned(REMOVED),
  },
  'finishes a way back where the file is gone': {
    inPlace: 'none',
    verdict: 'returned',
    turns: ['starting'],
    ends: returned('a verdict'),
  },
  'does nothing more once it has returned the file': {
    inPlace: 'trial',
    turns: ['trial-over', 'trial-over', 'starting', 'stopped 78', 'tick'],
    ends: returned('it was not kept in its time', 'try-restart'),
  },
  'returns the file before the start after the machine went down': {
    inPlace: 'trial',
    isOtherBoot: true,
    turns: ['starting'],
    ends: returned('the machine went down during the trial'),
  },
  'returns the file at the fourth start': {
    inPlace: 'trial',
    turns: ['starting', 'stopped 1', 'starting', 'stopped 1', 'starting', 'stopped 1', 'starting'],
    ends: returned('it was not kept in 3 starts'),
  },
  'lets the trial go on through three starts': {
    inPlace: 'trial',
    turns: ['starting', 'stopped 1', 'starting', 'stopped 1', 'starting'],
    ends: on('trial'),
  },
  'returns a file that the agent refuses, and starts it': {
    inPlace: 'trial',
    turns: ['starting', 'stopped 78'],
    ends: returned('the agent refuses it', 'restart'),
  },
  'says nothing of other ends, and nothing at a tick': {
    inPlace: 'trial',
    turns: ['stopped', 'stopped 1', 'tick', 'stopped'],
    ends: on('trial'),
  },
  'leaves a file alone that somebody has changed on site, when the time is over': {
    inPlace: 'site',
    turns: ['trial-over'],
    ends: onSite('site'),
  },
  'leaves it alone at a start, and the trial on': {
    inPlace: 'site',
    turns: ['stopped', 'starting', 'stopped 1', 'starting'],
    ends: on('site'),
  },
  'leaves it alone after the machine went down': {
    inPlace: 'site',
    isOtherBoot: true,
    turns: ['starting'],
    ends: onSite('site'),
  },
  'goes back to the file before where the agent refuses it, and starts it': {
    inPlace: 'site',
    turns: ['stopped', 'starting', 'stopped 78'],
    ends: returned('the file was changed on site during the trial, and the agent refuses it', 'restart'),
  },
  'leaves what somebody has put there once a way back was cut': {
    inPlace: 'site',
    verdict: 'returned',
    turns: ['trial-over'],
    ends: onSite('site'),
  },
  'waits where the helper may be about to replace the file': {
    inPlace: 'before',
    turns: ['starting', 'stopped 1', 'starting', 'stopped 78', 'starting', 'starting', 'starting', 'tick'],
    ends: on('before'),
  },
  'ends a trial whose file never came when its time is over': {
    inPlace: 'before',
    turns: ['trial-over'],
    ends: returned(NEVER, 'try-restart'),
  },
  'ends it after the machine went down': {
    inPlace: 'before',
    isOtherBoot: true,
    turns: ['starting'],
    ends: returned(NEVER),
  },
  'finishes a way back that was cut before the file moved': {
    inPlace: 'trial',
    verdict: 'returned',
    turns: ['starting'],
    ends: returned('a verdict'),
  },
  'finishes a way back that was cut after the file moved': {
    inPlace: 'before',
    verdict: 'returned',
    turns: ['trial-over'],
    ends: returned('a verdict', 'try-restart'),
  },
  'finishes what was kept, whatever comes': {
    inPlace: 'trial',
    verdict: 'kept',
    turns: ['stopped 78'],
    ends: kept('trial'),
  },
  'finishes what was kept when the time is over': {
    inPlace: 'trial',
    verdict: 'kept',
    turns: ['trial-over'],
    ends: kept('trial'),
  },
  'finishes what was kept after the machine went down': {
    inPlace: 'trial',
    isOtherBoot: true,
    verdict: 'kept',
    turns: ['starting'],
    ends: kept('trial'),
  },
  'leaves what was kept and then changed back on site': {
    inPlace: 'before',
    verdict: 'kept',
    turns: ['starting'],
    ends: onSite('before'),
  },
};
