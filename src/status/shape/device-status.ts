/** Status of attached devices, and the one sentence about each of them: command line, doctor, alerts and page all say it in these words. */
import type { Sentence } from '../../errors/sentence.ts';
import { english, type Say, sentence } from '../../names/sentences.ts';
import type { UploadState } from '../../telemetry/uploader.ts';

/** `removed`: in no slot any more, as `goneBy` says; what it still holds is delivered. */
export const DEVICE_STATES = ['blocked', 'unidentified', 'provisioning', 'removed', 'ready'] as const;
export type DeviceState = (typeof DEVICE_STATES)[number];

/** An attached device as its own part knows it. Times are monotonic ms since boot. */
export interface DeviceStatus {
  /** Platform name at its first identification, which stays. */
  readonly id: string;
  /** Name on the platform. */
  readonly name: string;
  /** Entries of `devices:` that are this device now. */
  readonly slots: readonly string[];
  readonly state: DeviceState;
  /** Cause of the state, or of what is kept, in words that neither a URL nor a secret stands in. */
  readonly reason?: string;
  /** Reason why it is in no slot, where it was not taken out of the configuration: another came into its slot, or it went to another gateway. */
  readonly goneBy?: 'swap' | 'move' | undefined;
  /** Slot that reads the same device. */
  readonly sharesWith?: string;
  /** Beginning of the state. */
  readonly sinceMs: number;
  readonly heldEntries: number;
  /** Present while its oldest waiting entry is older than usual. */
  readonly isBehind?: true | undefined;
  /** Entries that the platform took since the agent started. */
  readonly acceptedEntries: number;
  readonly lastAcceptedAtMs?: number;
  readonly sensors: number;
  readonly label?: string;
  /** Present while the configuration names its token: it holds one, or the file that it names is missing. */
  readonly tokenIn?: 'file' | 'missing-file' | undefined;
}

/** A verdict with its sentence, as `PlatformStatus` has them. */
export interface DeviceVerdict {
  readonly verdict: 'good' | 'waiting' | 'fault';
  readonly words: string;
  /** Next step of a person, where there is one. */
  readonly remedy?: string;
}

export interface ToldDevice extends DeviceStatus, DeviceVerdict {}

/** All attached devices; the list holds the worst of many. */
export interface DevicesSummary {
  readonly total: number;
  readonly byState: Readonly<Record<DeviceState, number>>;
  /** Entries that wait, in the devices' own places and in the outbox that they share. */
  readonly heldEntries: number;
  readonly acceptedEntries: number;
  /** Present when so many entries were thinned or dropped, as the disk had no room for them. */
  readonly lostEntries?: number;
  /** How many are how, in words. */
  readonly words: string;
  /** Worst first. */
  readonly list: readonly ToldDevice[];
}

/** Up to so many devices all are told. */
const MAX_TOLD = 200;
/** Past that the worst alone, so many. */
const MAX_OF_MANY = 50;
/** Half of the largest reply to an RPC. */
const MAX_TOLD_BYTES = 32 * 1024;
/** Longer reasons are cut: some hold an answer of the platform. */
const MAX_REASON_LENGTH = 200;
const MAX_ALERTS = 5;
const BY_URGENCY: readonly DeviceVerdict['verdict'][] = ['fault', 'waiting', 'good'];

/** Tells how one device is, without its name and without times, so that the sentence stays while the state does. */
export function deviceVerdict(device: JudgedDevice, say: Say = english): DeviceVerdict {
  const { verdict, words, remedy } = judge(device);
  return { verdict, words: say(words), remedy: remedy && say(remedy) };
}

type JudgedDevice = Pick<
  DeviceStatus,
  'name' | 'state' | 'reason' | 'heldEntries' | 'isBehind' | 'goneBy' | 'lastAcceptedAtMs' | 'tokenIn' | 'sharesWith'
>;

interface Judged extends Pick<DeviceVerdict, 'verdict'> {
  readonly words: Sentence;
  readonly remedy?: Sentence;
}

function judge(device: JudgedDevice): Judged {
  const { name, state, heldEntries: held, lastAcceptedAtMs } = device;
  const why = device.reason?.slice(0, MAX_REASON_LENGTH);
  if (device.sharesWith !== undefined)
    return {
      verdict: 'fault',
      words: sentence('deviceShared', { other: device.sharesWith, held }),
      remedy: sentence('deviceSharedRemedy'),
    };
  switch (state) {
    case 'unidentified':
      if (why !== undefined)
        return {
          verdict: 'waiting',
          words: sentence('deviceWaits', { why, held }),
          remedy: sentence('deviceWaitsRemedy'),
        };
      return {
        verdict: 'waiting',
        words: sentence('deviceUnidentified', { held }),
        remedy: sentence('deviceUnidentifiedRemedy'),
      };
    case 'provisioning':
      return {
        verdict: 'waiting',
        words: sentence('deviceWithoutToken', { held, why }),
        remedy: sentence('deviceWithoutTokenRemedy'),
      };
    case 'blocked':
      return {
        verdict: 'fault',
        words: sentence('deviceBlocked', { held, why: why ?? sentence('tokenRefused') }),
        remedy: remedyOfBlocked(device),
      };
    case 'removed':
      return held === 0 && why === undefined
        ? { verdict: 'good', words: sentence('deviceGoneWhole', { gone: goneSentence(device) }) }
        : {
            verdict: 'waiting',
            words: sentence('deviceGone', { gone: goneSentence(device), held, why }),
            remedy: sentence('deviceGoneRemedy', { typed: shellWord(name) }),
          };
    case 'ready':
      if (why !== undefined) return { verdict: 'waiting', words: sentence('deviceKept', { held, why }) };
      if (device.isBehind === true) return { verdict: 'waiting', words: sentence('deviceLate', { held }) };
      return {
        verdict: 'good',
        words: lastAcceptedAtMs === undefined ? sentence('deviceReady') : sentence('deviceUpToDate', { held }),
      };
  }
}

function goneSentence({ goneBy }: Pick<DeviceStatus, 'goneBy'>): Sentence {
  if (goneBy === 'move') return sentence('goneByMove');
  return sentence(goneBy === 'swap' ? 'goneBySwap' : 'goneByConfig');
}

function remedyOfBlocked({ name, tokenIn }: Pick<DeviceStatus, 'name' | 'tokenIn'>): Sentence {
  const typed = shellWord(name);
  if (tokenIn === 'missing-file') return sentence('deviceFileMissing');
  return sentence(tokenIn === 'file' ? 'deviceTokenInFile' : 'deviceBlockedRemedy', { typed });
}

export function toldDevice(device: DeviceStatus, say: Say = english): ToldDevice {
  const { reason, ...known } = device;
  return {
    ...known,
    reason: reason?.slice(0, MAX_REASON_LENGTH),
    ...deviceVerdict(device, say),
  };
}

/** Every device with its sentence, worst first, those of one urgency in the order in which they came. */
export function toldDevices(devices: readonly DeviceStatus[], say: Say = english): readonly ToldDevice[] {
  const urgency = ({ verdict, state }: ToldDevice): number =>
    BY_URGENCY.indexOf(verdict) * DEVICE_STATES.length + DEVICE_STATES.indexOf(state);
  return devices.map((device) => toldDevice(device, say)).sort((a, b) => urgency(a) - urgency(b));
}

/** Counts of the outbox that attached devices share, with the places of those that are held. */
export interface SharedOutbox {
  /** Entries that wait in the shared one. */
  readonly waitingEntries: number;
  /** Entries that wait in outboxes of single devices, of devices that may send. */
  readonly apartEntries: number;
  /** Entries that were thinned or dropped, in all of them. */
  readonly lostEntries: number;
  /** UTC epoch ms of the oldest entry that waits in any of them. */
  readonly oldestMs?: number;
  /** As in `OutboxStatus`, of the shared one. */
  readonly hoursThatFit?: number;
  /** Present while the disk takes no entries there: the system's code. */
  readonly fault?: string;
  readonly connection: Pick<UploadState, 'state' | 'reason' | 'sentence'>;
}

export function devicesSummary(
  devices: readonly DeviceStatus[],
  shared?: Pick<SharedOutbox, 'waitingEntries' | 'lostEntries'>,
  say: Say = english,
): DevicesSummary {
  const sum = (what: 'heldEntries' | 'acceptedEntries'): number =>
    devices.reduce((all, device) => all + device[what], 0);
  const count = (state: DeviceState): number => devices.filter((device) => device.state === state).length;
  const byState = Object.fromEntries(DEVICE_STATES.map((state) => [state, count(state)])) as Record<
    DeviceState,
    number
  >;
  const counts = {
    total: devices.length,
    byState,
    acceptedEntries: sum('acceptedEntries'),
    heldEntries: sum('heldEntries') + (shared?.waitingEntries ?? 0),
    lostEntries: shared?.lostEntries || undefined,
  };
  return {
    ...counts,
    words: say(devicesSentence(counts)),
    list: firstThatFit(
      toldDevices(devices, say).slice(0, devices.length > MAX_TOLD ? MAX_OF_MANY : MAX_TOLD),
      MAX_TOLD_BYTES,
    ),
  };
}

function firstThatFit(devices: readonly ToldDevice[], maxBytes: number): readonly ToldDevice[] {
  let bytes = 0;
  return devices.filter((device) => {
    bytes += Buffer.byteLength(JSON.stringify(device)) + 1;
    return bytes <= maxBytes;
  });
}

/** `12: 1 blocked, 11 ready`. */
function devicesSentence({
  total,
  byState,
  heldEntries,
  lostEntries = 0,
}: Omit<DevicesSummary, 'words' | 'list' | 'acceptedEntries'>): Sentence {
  const all = DEVICE_STATES.filter((state) => byState[state] > 0).map((state) =>
    sentence('devicesInState', { state, count: byState[state] }),
  );
  return sentence('devicesAll', {
    total,
    states: sentence('enumerated', { all }),
    held: heldEntries,
    lost: lostEntries,
  });
}

/** Alerts about devices that a person has to look after, without counts, so that each stays as it is; of many faults the first few. */
export function deviceAlerts(
  { list, byState }: Pick<DevicesSummary, 'list' | 'byState'>,
  say: Say = english,
): readonly string[] {
  const faults = list.filter(({ verdict }) => verdict === 'fault').slice(0, MAX_ALERTS);
  const others = byState.blocked - faults.length;
  return [
    ...faults.map((device) => {
      const { words, remedy } = judge({ ...device, heldEntries: 0 });
      const all = [words, remedy].filter((one) => one !== undefined);
      return say(sentence('deviceAlert', { device: device.name, is: sentence('several', { all }) }));
    }),
    ...(others > 0 ? [say(sentence('moreBlocked', { count: others }))] : []),
  ];
}

/** A name as it can be typed. */
function shellWord(name: string): string {
  return /^[\w.:@%+/-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
