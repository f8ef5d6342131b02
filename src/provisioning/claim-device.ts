/**
 * Claiming (endpoint 8): the device names a secret, and whoever tells the platform the same one becomes its owner. The platform keeps the
 * first claim until it expires and ignores a second one, so an open claim is remembered, and shown again rather than replaced.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../host/clock.ts';
import { readWhole, writeDurably } from '../host/durable-file.ts';
import { isJsonObject, parseJson, stringifyJson } from '../host/json.ts';
import type { DeviceApi } from '../platform/device-api.ts';

export interface ClaimRequest {
  /** Made here when it is not given. */
  readonly secretKey?: string;
  /** Left to the platform when it is not given. */
  readonly durationMs?: number;
}

export interface OpenClaim {
  readonly deviceName?: string;
  readonly secretKey: string;
  /** UTC epoch ms; with a duration of the platform's own this is the stock one, and only an estimate. */
  readonly untilMs: number;
  readonly untilIsEstimate: boolean;
  /** An earlier claim that is still open; the request was not needed and another secret would not count. */
  readonly alreadyOpen: boolean;
}

export interface ClaimDeps {
  readonly deviceApi: Pick<DeviceApi, 'claim'>;
  readonly stateFolder: string;
  readonly deviceName?: string;
  readonly clock: Clock;
  readonly hide: (secret: string) => void;
}

/** No 0, O, 1, I, L: it may be read out over a telephone. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';
/** 4 groups of 5: 99 bits. */
const GROUPS = 4;
const GROUP_LENGTH = 5;
/** `device.claim.duration` of a stock platform (wire-facts.md, "Claim and provision"). */
const STOCK_DURATION_MS = 86_400_000;
export const CLAIM_FILE = 'claim.json';
const FORMAT = 'turnstone/claim';

/** @throws AgentError as DeviceApi.claim, `host/write-failed` (retry). */
export async function claimDevice(deps: ClaimDeps, request: ClaimRequest, signal: AbortSignal): Promise<OpenClaim> {
  const name = deps.deviceName === undefined ? {} : { deviceName: deps.deviceName };
  const open = await openClaim(deps);
  if (open !== undefined && (request.secretKey === undefined || request.secretKey !== open.secretKey)) {
    // Sent again, in case the platform was restarted and has forgotten it.
    await deps.deviceApi.claim({ secretKey: open.secretKey, durationMs: open.untilMs - deps.clock.wallMs() }, signal);
    return { ...open, ...name, alreadyOpen: true };
  }
  const secretKey = request.secretKey ?? makeClaimSecret();
  deps.hide(secretKey);
  const untilMs = deps.clock.wallMs() + (request.durationMs ?? STOCK_DURATION_MS);
  const claim = { secretKey, untilMs, untilIsEstimate: request.durationMs === undefined };
  // Kept first: a claim that the platform has and we forgot could not be shown again.
  await writeDurably(join(deps.stateFolder, CLAIM_FILE), `${stringifyJson({ format: FORMAT, version: 1, state: claim })}\n`);
  await deps.deviceApi.claim({ secretKey, ...(request.durationMs === undefined ? {} : { durationMs: request.durationMs }) }, signal);
  return { ...claim, ...name, alreadyOpen: false };
}

/** A secret that nobody guesses and anybody can type. */
export function makeClaimSecret(): string {
  const group = (): string => Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

/** What the QR code says: the two things a claim form asks for. */
export function claimText(claim: Pick<OpenClaim, 'deviceName' | 'secretKey'>): string {
  return stringifyJson({ ...(claim.deviceName === undefined ? {} : { deviceName: claim.deviceName }), secretKey: claim.secretKey });
}

/** The claim of an earlier call that has not expired yet; anything unreadable counts as none. */
export async function openClaim({
  stateFolder,
  clock,
  hide,
}: Pick<ClaimDeps, 'stateFolder' | 'clock' | 'hide'>): Promise<Omit<OpenClaim, 'alreadyOpen' | 'deviceName'> | undefined> {
  const text = (await readWhole(join(stateFolder, CLAIM_FILE)).catch(() => undefined))?.toString('utf8');
  if (text === undefined) return undefined;
  try {
    const json = parseJson(text);
    const state = isJsonObject(json) && json.format === FORMAT && isJsonObject(json.state) ? json.state : {};
    const { secretKey, untilMs, untilIsEstimate } = state;
    if (typeof secretKey !== 'string' || typeof untilMs !== 'number' || untilMs <= clock.wallMs()) return undefined;
    hide(secretKey);
    return { secretKey, untilMs, untilIsEstimate: untilIsEstimate === true };
  } catch {
    return undefined;
  }
}
