/**
 * Claiming (endpoint 8): the device names a secret, and whoever tells the platform the same one becomes its owner. The platform keeps the
 * first claim until it expires and ignores a second one, so an open claim is remembered, and shown again rather than replaced.
 */

import { join } from 'node:path';
import { AgentError } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { HostMachine } from '../host/machine.ts';
import { type RandomBytes, randomText } from '../host/random.ts';
import { readWhole } from '../host/whole-file.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { removeDurably, writeDurably } from '../store/durable-file.ts';
import { fieldsOf, sealJson } from '../store/sealed-json.ts';
import { isJsonObject, type JsonObject, stringifyJson } from '../values/json.ts';

export interface ClaimRequest {
  /** Made here when it is not given. */
  readonly secretKey?: string;
  /** Left to the platform when it is not given. */
  readonly durationMs?: number;
}

export interface OpenClaim {
  readonly deviceName?: string;
  readonly secretKey: string;
  /** UTC epoch ms; an estimate from the stock platform's duration when the platform's own is used. */
  readonly untilMs: number;
  readonly untilIsEstimate: boolean;
  /** An earlier claim that is still open; the request was not needed and another secret would not count. */
  readonly alreadyOpen: boolean;
}

export interface ClaimDeps extends Pick<HostMachine, 'clock' | 'files' | 'randomBytes'> {
  /** Undefined while there are no credentials. */
  readonly deviceApi: Pick<DeviceApi, 'claim'> | undefined;
  /** Why there are no credentials, in words. */
  readonly reason?: string;
  readonly stateFolder: string;
  readonly deviceName?: string;
  readonly hide: (secret: string) => void;
}

/** No 0, O, 1, I, L: it may be read out over a telephone. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';
/** 4 groups of 5: 99 bits. */
const GROUPS = 4;
const GROUP_LENGTH = 5;
/** `device.claim.duration` of a stock platform (src/platform/wire-facts.md, "Claim and provision"). */
const STOCK_DURATION_MS = 86_400_000;
const REFUSALS: ReadonlySet<string> = new Set([
  'platform/refused',
  'platform/too-large',
  'platform/unauthorised',
  'platform/not-found',
]);
export const CLAIM_FILE = 'claim.json';
const FORMAT = { format: 'turnstone/claim', version: 1 };

/** @throws AgentError `provisioning/no-credentials` (hold), as DeviceApi.claim, `host/write-failed` (retry), `host/read-failed` (retry) when it cannot be seen whether a claim is open. */
export async function claimDevice(deps: ClaimDeps, request: ClaimRequest, signal: AbortSignal): Promise<OpenClaim> {
  const { deviceApi, reason } = deps;
  if (deviceApi === undefined) {
    const because = reason === undefined ? '' : `: ${reason}`;
    throw new AgentError(
      'provisioning/no-credentials',
      `this device has no credentials yet, so nobody can claim it${because}`,
      { recovery: 'hold' },
    );
  }
  const name = { deviceName: deps.deviceName || undefined };
  const open = await openClaim(deps);
  if (open !== undefined) {
    // Sent again, in case the platform was restarted and has forgotten it. With the same secret too, which the platform would not prolong.
    await deviceApi.claim(
      { secretKey: open.secretKey, durationMs: Math.ceil(open.untilMs - deps.clock.wallMs()) },
      signal,
    );
    return { ...open, ...name, alreadyOpen: true };
  }
  const secretKey = request.secretKey ?? makeClaimSecret(deps.randomBytes);
  deps.hide(secretKey);
  const { clock } = deps;
  const durationMs = request.durationMs ?? STOCK_DURATION_MS;
  const claim = { secretKey, untilMs: clock.wallMs() + durationMs, untilIsEstimate: request.durationMs === undefined };
  const kept = {
    ...claim,
    durationMs,
    bootId: clock.bootId,
    untilMonotonicMs: Math.round(clock.monotonicMs() + durationMs),
  };
  // Stored first: a claim that the platform has and this device lost could not be shown again.
  const path = join(deps.stateFolder, CLAIM_FILE);
  await writeDurably(deps.files, path, `${sealJson({ ...FORMAT, state: kept })}\n`);
  try {
    await deviceApi.claim({ secretKey, durationMs: request.durationMs }, signal);
  } catch (error) {
    // The platform did not take it: stored, it would be shown as open and block the next one.
    if (isRefused(error)) await removeDurably(deps.files, path).catch(() => {});
    throw error;
  }
  return { ...claim, ...name, alreadyOpen: false };
}

/** True for the platform's own refusal; after any other fault the claim may have been taken. */
function isRefused(error: unknown): boolean {
  return error instanceof PlatformError && REFUSALS.has(error.code) && (error.status ?? 0) < 500;
}

/** A secret that nobody guesses and anybody can type. */
export function makeClaimSecret(random: RandomBytes): string {
  return Array.from({ length: GROUPS }, () => randomText(random, ALPHABET, GROUP_LENGTH)).join('-');
}

/** The text of the QR code: the two things a claim form asks for. */
export function claimText({ deviceName, secretKey }: Pick<OpenClaim, 'deviceName' | 'secretKey'>): string {
  return stringifyJson({
    deviceName,
    secretKey,
  });
}

/** The open claim as a page shows it, with its QR code as rows of light and dark; undefined while there is none, or none can be read. */
export async function shownClaim(
  deps: Parameters<typeof openClaim>[0] & { readonly deviceName: string },
): Promise<JsonObject | undefined> {
  const open = await openClaim(deps).catch(() => undefined);
  if (open === undefined) return undefined;
  const claim = {
    ...open,
    deviceName: deps.deviceName || undefined,
  };
  const { encode } = await import('uqr');
  const { data } = encode(claimText(claim), { ecc: 'M', border: 2 });
  return { ...claim, code: data.map((row) => row.map((isDark) => (isDark ? '1' : '0')).join('')) };
}

/** The claim of an earlier call that has not expired yet; nonsense counts as none. @throws AgentError `host/read-failed`. */
export async function openClaim(
  deps: Pick<ClaimDeps, 'stateFolder' | 'clock' | 'hide' | 'files'>,
): Promise<Omit<OpenClaim, 'alreadyOpen' | 'deviceName'> | undefined> {
  const { stateFolder, clock, hide, files } = deps;
  const text = (await readWhole(files, join(stateFolder, CLAIM_FILE)))?.toString('utf8');
  if (text === undefined) return undefined;
  try {
    const { state } = fieldsOf(text, FORMAT);
    if (!isJsonObject(state) || typeof state.secretKey !== 'string') return undefined;
    const { secretKey, untilIsEstimate } = state;
    const leftMs = leftOf(state, clock);
    if (leftMs <= 0) return undefined;
    hide(secretKey);
    return { secretKey, untilMs: clock.wallMs() + leftMs, untilIsEstimate: untilIsEstimate === true };
  } catch {
    return undefined;
  }
}

/** Ms left: by the monotonic clock in the boot that opened it, else by the wall clock, and never more than its whole duration. */
function leftOf({ untilMs, durationMs, bootId, untilMonotonicMs }: JsonObject, clock: Clock): number {
  if (bootId === clock.bootId && typeof untilMonotonicMs === 'number') return untilMonotonicMs - clock.monotonicMs();
  if (typeof untilMs !== 'number') return 0;
  return Math.min(untilMs - clock.wallMs(), typeof durationMs === 'number' ? durationMs : STOCK_DURATION_MS);
}
