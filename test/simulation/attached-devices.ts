/**
 * Devices behind the gateway, each with a token, a sensor and perhaps a relay of its own, in a share of all worlds. Drawn apart from everything else,
 * so that whatever a seed draws stays as it was. What a sensor shows tells whose it is.
 */
import type { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';
import { Chance } from './chance.ts';
import type { Output } from './equipment.ts';

export const SHARE_OF_WORLDS = 0.15;
const MOST_DEVICES = 20;
const SOME = 0.4;
const PROVISION = { key: 'key-of-meters', secret: 'secret-of-meters', profile: 'meters' } as const;
const FIRST_PORT = 20;
const FIRST_LINE = 40;
const FIRST_SERIAL = 10_000_000;
/** Values of one device lie within as much. */
const SPAN = 1_000;
const DEEDS_PER_HOUR = [4, 40] as const;
/** The same key at each of them: only its value tells whose it is. */
export const LOAD = 'load';
export const SERIAL = 'serial_number';

export interface AttachedSlot {
  readonly number: number;
  /** Entry of `devices:`. */
  readonly slot: string;
  /** As the platform knows it. */
  readonly deviceName: string;
  /** Undefined: it is provisioned. */
  readonly token: string | undefined;
  /** Named by the serial number that its sensor shows. */
  readonly isBySerial: boolean;
  readonly port: string;
  readonly periodSeconds: number;
  readonly relay: Output | undefined;
}

export function attachedOf(seed: number, share = SHARE_OF_WORLDS): readonly AttachedSlot[] {
  const chance = new Chance(`attached devices ${seed}`);
  const count = chance.happens(share) ? chance.between(1, MOST_DEVICES) : 0;
  return Array.from({ length: count }, (_, number) => {
    const slot = `meter${number}`;
    const isBySerial = chance.happens(SOME);
    // A token is one device's for good, whatever is connected.
    const isProvisioned = chance.happens(SOME) || isBySerial;
    const periodSeconds = chance.pick([10, 30, 60]);
    const hasRelay = chance.happens(SOME);
    return {
      number,
      slot,
      deviceName: `gateway ${isBySerial ? serialOf(number) : slot}`,
      token: isProvisioned ? undefined : `token-of-${slot}`,
      isBySerial,
      port: `/dev/ttyUSB${FIRST_PORT + number}`,
      periodSeconds,
      relay: hasRelay ? relayOf(number) : undefined,
    };
  });
}

/** Times of commands to them, for a plan. */
export function attachedDeedTimes(seed: number, untilMs: number, slots = attachedOf(seed)): readonly number[] {
  if (slots.length === 0) return [];
  const chance = new Chance(`attached deeds ${seed}`);
  const count = Math.round((chance.magnitude(...DEEDS_PER_HOUR) * untilMs) / 3_600_000);
  return Array.from({ length: count }, () => chance.between(0, untilMs));
}

/** Lines of the configuration, by section. */
export function attachedLines(slots: readonly AttachedSlot[]): {
  readonly devices: readonly string[];
  readonly sensors: readonly string[];
  readonly actuators: readonly string[];
} {
  return {
    devices: slots.map(({ slot, token, isBySerial }) => {
      const named = isBySerial
        ? `deviceName: "gateway {serialNumber}", serialNumber: { sensor: ${sensorOf(slot)}, key: ${SERIAL}, pattern: "[0-9]{8}" }`
        : 'deviceName: "gateway {name}"';
      const access =
        token === undefined
          ? `provisioning: { key: ${PROVISION.key}, secret: ${PROVISION.secret} }`
          : `accessToken: ${token}`;
      return `  - { name: ${slot}, ${named}, ${access} }`;
    }),
    sensors: slots.map(
      ({ slot, port, periodSeconds }) =>
        `  - { name: ${sensorOf(slot)}, device: ${slot}, period: ${periodSeconds}s, kind: serial-line, port: ${port}, format: json }`,
    ),
    actuators: slots.flatMap(({ slot, relay }) => {
      const [chip, offset] = relay?.line.split(':') ?? [];
      const line = `line: { chip: ${chip}, offset: ${offset} }, safe: { start: off, stop: off }`;
      return relay === undefined ? [] : [`  - { name: ${relay.name}, device: ${slot}, kind: gpio-output, ${line} }`];
    }),
  };
}

/** The board with what the meters say. */
export function withMeters(board: BoardConfigInput, slots: readonly AttachedSlot[]): BoardConfigInput {
  const serial = (board.serial ?? []).map((port) => {
    const slot = slots.find((one) => one.port === port.port);
    if (slot === undefined || port.talk.kind !== 'lines') return port;
    const from = (slot.number + 1) * SPAN;
    const values = {
      [LOAD]: { signal: { kind: 'ramp', from, to: from + SPAN - 1, periodMs: 3_600_000 }, digits: 2 },
      [SERIAL]: { signal: { kind: 'constant', value: serialOf(slot.number) }, digits: 0 },
    } as const;
    return { ...port, talk: { ...port.talk, periodMs: 5_000, values } };
  });
  return { ...board, serial };
}

/** Makes those that bring a token, and lets the others make themselves. */
export function expectAttached(platform: LocalPlatform, slots: readonly AttachedSlot[]): void {
  for (const { deviceName, token } of slots) if (token !== undefined) platform.ensureDevice(deviceName, token);
  if (slots.some(({ token }) => token === undefined)) platform.allowProvisioning(PROVISION);
}

/** Number of the device that showed a value; undefined for what none of them shows. */
export function ownerOf(key: string, value: unknown): number | undefined {
  const number = Number(value);
  if (key === LOAD) return Math.floor(number / SPAN) - 1;
  return key === SERIAL ? number - FIRST_SERIAL : undefined;
}

export function sensorOf(slot: string): string {
  return `${slot}Load`;
}

function serialOf(number: number): number {
  return FIRST_SERIAL + number;
}

function relayOf(number: number): Output {
  const line = `gpiochip0:${FIRST_LINE + number}`;
  return { name: `relay${number}`, line, excludes: [], safeStart: false, safeStop: false, use: 'set' };
}
