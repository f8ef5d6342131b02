/**
 * Access to the page on the LAN: whoever knows the PIN gets a session, and guessing is slow. Sessions live in memory, so that a restart ends
 * them. The limit holds per client (an IPv4 address, or an IPv6 network of 64 bits), so that nobody who guesses keeps the right PIN of another out.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Clock } from '../host/clock.ts';
import type { HostMachine } from '../host/machine.ts';
import type { RandomBytes } from '../host/random.ts';

export type Admission = { readonly session: string } | { readonly waitMs: number } | 'wrong';

interface Attempts {
  readonly failures: number;
  readonly lastMs: number;
}

export const SESSION_LIFE_MS = 12 * 3_600_000;
const MAX_SESSIONS = 64;
/** A client may be wrong this often; then each further guess waits twice as long as the one before. */
const FREE_FAILURES = 5;
const FIRST_WAIT_MS = 10_000;
/**
 * A client that goes on for ever makes 13 guesses in its first hour and then one an hour. A network whose 254 addresses all guess makes 3,302 and
 * then 254 an hour: on average it finds 4 digits after seven hours, 6 digits after twelve weeks.
 */
const MAX_WAIT_MS = 3_600_000;
/** The clients of a large LAN, in about 1 MB: past it the one that has not guessed for longest is evicted. */
const MAX_CLIENTS = 4_096;

export class PinAccess {
  readonly #pin: Buffer;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #sessions = new Map<string, number>();
  readonly #attempts = new Map<string, Attempts>();

  constructor(pin: string, { clock, randomBytes }: Pick<HostMachine, 'clock' | 'randomBytes'>) {
    this.#pin = digest(pin);
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  /** Judges a guess. While a client has to wait, even the right PIN is not looked at. */
  admit(pin: string, address: string): Admission {
    const nowMs = this.#clock.monotonicMs();
    const guess = this.#judge(pin, address, nowMs);
    if (guess !== 'right') return guess;
    this.#attempts.delete(clientOf(address));
    const session = this.#randomBytes(24).toString('base64url');
    // The oldest gives way: somebody with the PIN cannot fill the memory either.
    makeRoom(this.#sessions, MAX_SESSIONS);
    this.#sessions.set(session, nowMs + SESSION_LIFE_MS);
    return { session };
  }

  knows(session: string | undefined): boolean {
    const untilMs = session === undefined ? undefined : this.#sessions.get(session);
    return untilMs !== undefined && untilMs > this.#clock.monotonicMs();
  }

  /** Tells if a program that sends the PIN with each request may pass; a wrong one counts like a person's. */
  proves(pin: string, address: string): boolean {
    return this.#judge(pin, address, this.#clock.monotonicMs()) === 'right';
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }

  #judge(pin: string, address: string, nowMs: number): 'right' | 'wrong' | { readonly waitMs: number } {
    const client = clientOf(address);
    const waitMs = this.#waitOf(client, nowMs);
    if (waitMs > 0) return { waitMs };
    if (timingSafeEqual(digest(pin), this.#pin)) return 'right';
    this.#noteFailure(client, nowMs);
    return 'wrong';
  }

  #waitOf(client: string, nowMs: number): number {
    const { failures, lastMs } = this.#attempts.get(client) ?? { failures: 0, lastMs: 0 };
    if (failures < FREE_FAILURES) return 0;
    const waitMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - FREE_FAILURES));
    return Math.max(0, lastMs + waitMs - nowMs);
  }

  #noteFailure(client: string, nowMs: number): void {
    const failures = (this.#attempts.get(client)?.failures ?? 0) + 1;
    this.#attempts.delete(client);
    makeRoom(this.#attempts, MAX_CLIENTS);
    this.#attempts.set(client, { failures, lastMs: nowMs });
  }
}

/** Name by which failures are counted: the IPv4 address, or the /64 of an IPv6 address, as one host may have any address of its network. */
function clientOf(address: string): string {
  const inIpv4 = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (inIpv4 !== undefined || !isIPv6(address)) return inIpv4 ?? address;
  const [before = [], after] = address.split('::').map((groups) => groups.split(':').filter((group) => group !== ''));
  const zeros = after === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill('0'), ...(after ?? [])].slice(0, 4).join(':');
}

/** For one more: the oldest goes. */
function makeRoom(kept: Map<string, unknown>, max: number): void {
  const [oldest] = kept.keys();
  if (kept.size >= max && oldest !== undefined) kept.delete(oldest);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
