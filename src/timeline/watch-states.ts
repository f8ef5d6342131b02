/** States that nobody calls back about, looked at every few seconds: the lockout, steps of the clock and of the link, attached devices. */
import type { Clock } from '../host/clock.ts';
import type { LinkStatus } from '../link/link-words.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import type { ToldEvent } from './event.ts';
import type { TellTimeline } from './timeline.ts';
import { spanWords } from './words.ts';

export interface WatchedStates {
  /** The machine's own. */
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'after'>;
  readonly locked: () => boolean;
  readonly link: () => Pick<LinkStatus, 'step'>;
  readonly devices: () => readonly Pick<DeviceStatus, 'id' | 'name' | 'state' | 'slots' | 'reason'>[];
}

type Device = ReturnType<WatchedStates['devices']>[number];

const STEP_WORDS: Readonly<Record<Exclude<LinkStatus['step'], 'everything'>, string>> = {
  'attributes-at-wakes': 'shared attributes are asked for at wakes',
  'commands-at-wakes': 'commands and shared attributes come at wakes',
  'readings-at-wakes': 'commands, shared attributes and readings go at wakes, and history waits',
  'alarms-only': 'only alarms are sent, and no command comes',
};
const LOOK_EVERY_MS = 5_000;
/** Smaller steps are the clock service's daily work. */
const STEP_MS = 2_000;
/** Entries that are kept before a device is known have such an id. */
const UNIDENTIFIED = '?';

/** Tells from now on; the returned function ends it. */
export function watchStates({ clock, locked, link, devices }: WatchedStates, tell: TellTimeline): () => void {
  let wasLocked = false;
  let { step } = link();
  let offsetMs = clock.wallMs() - clock.monotonicMs();
  let known = byId(devices());
  const look = (): void => {
    const isLocked = locked();
    if (isLocked !== wasLocked) tell(lockoutEvent(isLocked));
    const nowStep = link().step;
    if (nowStep !== step) tell(linkEvent(step, nowStep));
    const nowOffsetMs = clock.wallMs() - clock.monotonicMs();
    const stepMs = nowOffsetMs - offsetMs;
    if (Math.abs(stepMs) > STEP_MS) tell(stepEvent(stepMs));
    const found = byId(devices());
    for (const device of found.values()) for (const event of deviceEvents(known.get(device.id), device)) tell(event);
    [wasLocked, step, offsetMs, known] = [isLocked, nowStep, nowOffsetMs, found];
  };
  let cancel = (): void => {};
  const goOn = (): void => {
    cancel = clock.after(LOOK_EVERY_MS, () => {
      look();
      goOn();
    });
  };
  goOn();
  return () => cancel();
}

function lockoutEvent(isLocked: boolean): ToldEvent {
  const words = isLocked
    ? 'Remote control is locked out at the device: nothing is switched on from afar.'
    : 'The lockout at the device is over: commands from afar move outputs again.';
  return { kind: 'lockout', value: isLocked, words };
}

/** Things that a step leaves out stand in the status of the link. */
function linkEvent(from: LinkStatus['step'], value: LinkStatus['step']): ToldEvent {
  const words =
    value === 'everything'
      ? 'The link carries everything again.'
      : `The link spares what is left of its month: ${STEP_WORDS[value]}.`;
  return { kind: 'contact', by: 'link', value, from, words };
}

function stepEvent(stepMs: number): ToldEvent {
  const words = `The clock was set ${stepMs > 0 ? 'forward' : 'back'} by ${spanWords(Math.abs(stepMs))}.`;
  return { kind: 'clock', by: 'step', value: Math.round(stepMs), words };
}

function deviceEvents(before: Device | undefined, { id, name, state, slots, reason }: Device): readonly ToldEvent[] {
  if (id.startsWith(UNIDENTIFIED)) return [];
  const common = { kind: 'devices', device: name, value: state, from: before?.state } as const;
  const because = reason === undefined ? '' : `: ${reason}`;
  if (state === 'blocked' && before?.state !== 'blocked')
    return [{ ...common, words: `The platform refuses the device ${name}${because}.` }];
  if (before?.state === 'blocked' && state === 'ready')
    return [{ ...common, words: `The platform takes the device ${name} again.` }];
  if (before === undefined && state !== 'removed')
    return [
      {
        ...common,
        words: `A new device is there: ${name}${slots.length === 0 ? '' : `, in the slot ${slots.join(', ')}`}.`,
      },
    ];
  return before !== undefined && state === 'removed' && before.state !== 'removed'
    ? [{ ...common, words: `The device ${name} is in no slot any more.` }]
    : [];
}

function byId(devices: readonly Device[]): ReadonlyMap<string, Device> {
  return new Map(devices.map((device) => [device.id, device]));
}
