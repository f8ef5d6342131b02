/** Status of attached devices, and the one sentence about each of them: command line, doctor, alerts and page all say it in these words. */
import type { ConnectionStatus } from './agent-status.ts';

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
  /** Present while what waits is older than is usual. */
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
export function deviceVerdict(
  device: Pick<
    DeviceStatus,
    'name' | 'state' | 'reason' | 'heldEntries' | 'isBehind' | 'goneBy' | 'lastAcceptedAtMs' | 'tokenIn' | 'sharesWith'
  >,
): DeviceVerdict {
  const { state, heldEntries, lastAcceptedAtMs } = device;
  const reason = device.reason?.slice(0, MAX_REASON_LENGTH);
  const because = reason === undefined ? '' : `: ${reason}`;
  const held = heldEntries === 0 ? '' : `, ${counted(heldEntries, 'entry waits', 'entries wait')}`;
  if (device.sharesWith !== undefined)
    return {
      verdict: 'fault',
      words: `reads the same serial number as ${device.sharesWith}${held}: its entries are kept`,
      remedy: 'give the two slots different addresses, or take one of them out of the configuration',
    };
  switch (state) {
    case 'unidentified':
      if (reason !== undefined)
        return {
          verdict: 'waiting',
          words: `${reason}${held}`,
          remedy: 'take the slot out of the configuration, or fill it again',
        };
      return {
        verdict: 'waiting',
        words: `its serial number is not known yet${held}`,
        remedy:
          'see that the thing answers (turnstone sensors), and that devices.serialNumber names its register and pattern',
      };
    case 'provisioning':
      return {
        verdict: 'waiting',
        words: `the platform has not given it a token yet${held}${because}`,
        remedy: 'it is tried again; look at the provisioning key',
      };
    case 'blocked':
      return {
        verdict: 'fault',
        words: `blocked${held}: ${reason ?? 'the platform refuses its token'}`,
        remedy: remedyOfBlocked(device),
      };
    case 'removed':
      return heldEntries === 0 && reason === undefined
        ? { verdict: 'good', words: `${goneWords(device)}, nothing waits` }
        : {
            verdict: 'waiting',
            words: `${goneWords(device)}${held}${because}`,
            remedy: remedyOfRemoved(device.name),
          };
    case 'ready':
      if (reason !== undefined) return { verdict: 'waiting', words: `its entries are kept${held}${because}` };
      if (device.isBehind === true) return { verdict: 'waiting', words: `its entries are late${held}` };
      return {
        verdict: 'good',
        words: lastAcceptedAtMs === undefined ? 'ready, nothing was delivered yet' : `up to date${held}`,
      };
  }
}

function goneWords({ goneBy }: Pick<DeviceStatus, 'goneBy'>): string {
  if (goneBy === 'move') return 'went to another gateway';
  return goneBy === 'swap' ? 'swapped for another device' : 'taken out of the configuration';
}

function remedyOfBlocked({ name, tokenIn }: Pick<DeviceStatus, 'name' | 'tokenIn'>): string {
  const shown = shellWord(name);
  if (tokenIn === 'missing-file') return 'put the file there that its entry of devices: names';
  if (tokenIn === 'file')
    return (
      `restore the device ${shown} at the platform, or correct the token that its entry of devices: holds or names and restart the ` +
      `agent; for a new token that the platform has, turnstone devices rotate ${shown}`
    );
  return (
    `enter the token that the platform has for it (turnstone devices rotate ${shown}), or, when it was deleted there, ` +
    `turnstone devices remove ${shown}, which makes it anew if it stands in the configuration`
  );
}

function remedyOfRemoved(name: string): string {
  return `wait, or give up what it holds: turnstone devices remove ${shellWord(name)}`;
}

export function toldDevice(device: DeviceStatus): ToldDevice {
  const { reason, ...known } = device;
  return {
    ...known,
    reason: reason?.slice(0, MAX_REASON_LENGTH),
    ...deviceVerdict(device),
  };
}

/** Every device with its sentence, worst first, those of one urgency in the order in which they came. */
export function toldDevices(devices: readonly DeviceStatus[]): readonly ToldDevice[] {
  const urgency = ({ verdict, state }: ToldDevice): number =>
    BY_URGENCY.indexOf(verdict) * DEVICE_STATES.length + DEVICE_STATES.indexOf(state);
  return devices.map(toldDevice).sort((a, b) => urgency(a) - urgency(b));
}

/** Counts of the outbox that attached devices share, with the places of those that are held. */
export interface SharedOutbox {
  /** Entries that wait in the shared one. */
  readonly waitingEntries: number;
  /** Entries of devices that may send, and wait in places of their own. */
  readonly apartEntries: number;
  /** Entries that were thinned or dropped, in all of them. */
  readonly lostEntries: number;
  /** UTC epoch ms of the oldest entry that waits in any of them. */
  readonly oldestMs?: number;
  /** As in `OutboxStatus`, of the shared one. */
  readonly hoursThatFit?: number;
  /** Present while the disk takes no entries there: the system's code. */
  readonly fault?: string;
  readonly connection: Pick<ConnectionStatus, 'state' | 'reason'>;
}

export function devicesSummary(
  devices: readonly DeviceStatus[],
  shared?: Pick<SharedOutbox, 'waitingEntries' | 'lostEntries'>,
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
    words: devicesText(counts),
    list: firstThatFit(
      toldDevices(devices).slice(0, devices.length > MAX_TOLD ? MAX_OF_MANY : MAX_TOLD),
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
function devicesText({
  total,
  byState,
  heldEntries,
  lostEntries = 0,
}: Omit<DevicesSummary, 'words' | 'list' | 'acceptedEntries'>): string {
  const lost =
    lostEntries === 0 ? '' : `; ${counted(lostEntries, 'entry was', 'entries were')} lost, as the disk had no room`;
  const states = DEVICE_STATES.filter((state) => byState[state] > 0).map((state) => `${byState[state]} ${state}`);
  return `${total}: ${states.join(', ')}${heldEntries === 0 ? '' : `; ${counted(heldEntries, 'entry waits', 'entries wait')}`}${lost}`;
}

/** Alerts about devices that a person has to look after, without counts, so that each stays as it is; of many faults the first few. */
export function deviceAlerts({ list, byState }: Pick<DevicesSummary, 'list' | 'byState'>): readonly string[] {
  const faults = list.filter(({ verdict }) => verdict === 'fault').slice(0, MAX_ALERTS);
  const others = byState.blocked - faults.length;
  return [
    ...faults.map((device) => `device ${device.name}: ${withRemedy(deviceVerdict({ ...device, heldEntries: 0 }))}`),
    ...(others > 0
      ? [`${counted(others, 'more device is', 'more devices are')} blocked: turnstone devices tells which`]
      : []),
  ];
}

function withRemedy({ words, remedy }: DeviceVerdict): string {
  return remedy === undefined ? words : `${words}; ${remedy}`;
}

function counted(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** A name as it can be typed. */
function shellWord(name: string): string {
  return /^[\w.:@%+/-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
