/** States that nobody calls back about, looked at every few seconds: the lockout, steps of the clock and of the link, attached devices. */
import type { Clock } from '../host/clock.ts';
import type { LinkStatus } from '../link/link-words.ts';
import { sentence, toldAs } from '../names/sentences.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';
import type { ToldEvent } from './event.ts';
import type { TellTimeline } from './timeline.ts';

export interface WatchedStates {
  /** The machine's own. */
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'after'>;
  readonly locked: () => boolean;
  readonly link: () => Pick<LinkStatus, 'step'>;
  readonly devices: () => readonly Pick<DeviceStatus, 'id' | 'name' | 'state' | 'slots' | 'reason'>[];
}

type Device = ReturnType<WatchedStates['devices']>[number];

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
  return { kind: 'lockout', value: isLocked, ...toldAs(sentence(isLocked ? 'lockoutBegan' : 'lockoutOver')) };
}

/** Things that a step leaves out stand in the status of the link. */
function linkEvent(from: LinkStatus['step'], value: LinkStatus['step']): ToldEvent {
  return { kind: 'contact', by: 'link', value, from, ...toldAs(sentence(`link/${value}`)) };
}

function stepEvent(stepMs: number): ToldEvent {
  const told = sentence(stepMs > 0 ? 'clockForward' : 'clockBack', { ms: Math.abs(stepMs) });
  return { kind: 'clock', by: 'step', value: Math.round(stepMs), ...toldAs(told) };
}

function deviceEvents(before: Device | undefined, now: Device): readonly ToldEvent[] {
  if (now.id.startsWith(UNIDENTIFIED)) return [];
  const told = deviceSentence(before, now);
  if (told === undefined) return [];
  return [{ kind: 'devices', device: now.name, value: now.state, from: before?.state, ...toldAs(told) }];
}

function deviceSentence(before: Device | undefined, { name: device, state, slots, reason }: Device) {
  if (state === 'blocked' && before?.state !== 'blocked') return sentence('deviceRefused', { device, why: reason });
  if (before?.state === 'blocked' && state === 'ready') return sentence('deviceTaken', { device });
  if (before === undefined && state !== 'removed')
    return slots.length === 0
      ? sentence('deviceNew', { device })
      : sentence('deviceNewIn', { device, slots: slots.join(', ') });
  const isGone = before !== undefined && state === 'removed' && before.state !== 'removed';
  return isGone ? sentence('deviceInNoSlot', { device }) : undefined;
}

function byId(devices: readonly Device[]): ReadonlyMap<string, Device> {
  return new Map(devices.map((device) => [device.id, device]));
}
