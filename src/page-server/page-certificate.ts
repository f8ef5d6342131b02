/**
 * The certificate of the page in the LAN: self-signed, made at the first use, and kept, so that who compared its fingerprint once need not do so
 * again. Key and certificate lie in one file, which is whole or absent: never the key of another. It is of this board alone, and in no backup.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { messageOf, retryable } from '../errors/agent-error.ts';
import { outcomeWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { isPassing, readPatiently } from '../host/patient-read.ts';
import { makeCertificate, type SelfSignedCertificate } from '../host/self-signed-certificate.ts';
import { PRIVATE_MODE, writeDurably } from '../store/durable-file.ts';

export interface PageCertificate extends SelfSignedCertificate {
  /** SHA-256 of the certificate, in pairs of hex digits. */
  readonly fingerprint: string;
}

export interface PageCertificateDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly stateFolder: string;
  readonly hostname: string;
}

/** In the state folder. */
export const PAGE_CERTIFICATE = 'page-certificate.pem';
/** A date before any release: it is valid for whoever knows the time, however wrong this machine's clock was when it was made. */
const FROM_MS = Date.UTC(2024, 11, 31);
const LASTS_MS = 10 * 365.25 * 86_400_000;
const REMADE_BEFORE_MS = 30 * 86_400_000;
const MAX_BYTES = 16_384;
/** A page does without what a disk does not give or take in this time. */
const DISK_WITHIN_MS = 10_000;
const PARTS =
  /^(-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n)(-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n)$/;
const DNS_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/i;
const HERE = ['localhost', '127.0.0.1', '::1'];

/** Returns the kept one, or makes one. A disk that gives or takes nothing costs its keeping, never the page. Never throws. */
export async function openPageCertificate(deps: PageCertificateDeps): Promise<PageCertificate> {
  const { clock, log, stateFolder } = deps;
  const file = join(stateFolder, PAGE_CERTIFICATE);
  const nowMs = Math.max(clock.wallMs(), FROM_MS);
  try {
    const bytes = await inTime(deps, () => readPatiently(deps, file, MAX_BYTES));
    const kept = bytes === undefined ? undefined : certificateIn(bytes.toString('latin1'));
    if (kept !== undefined && kept.untilMs - nowMs >= REMADE_BEFORE_MS) return kept.certificate;
    if (kept !== undefined)
      log.warn({ file }, "the page's certificate ends soon and is made anew: its fingerprint changes");
    else if (bytes !== undefined)
      log.warn({ file }, "the page's certificate is damaged and is made anew: its fingerprint changes");
  } catch (error) {
    // It may be whole, and be read at the next start.
    if (isPassing(error)) return madeForNow(deps, nowMs, error);
    log.warn(
      { file, error: messageOf(error) },
      "the page's certificate cannot be used and is made anew: its fingerprint changes",
    );
  }
  const made = make(deps.hostname, nowMs);
  try {
    await inTime(deps, () => writeDurably(deps.files, file, made.key + made.cert, { mode: PRIVATE_MODE }));
  } catch (error) {
    log.warn(
      { file, error: messageOf(error) },
      "the page's certificate could not be kept: the next start makes another",
    );
  }
  return made;
}

function madeForNow({ hostname, log }: PageCertificateDeps, nowMs: number, error: unknown): PageCertificate {
  log.warn(
    { error: messageOf(error) },
    "the page's certificate cannot be read now; until the next start the page has another",
  );
  return make(hostname, nowMs);
}

function make(hostname: string, nowMs: number): PageCertificate {
  const own = DNS_NAME.test(hostname) && hostname !== 'localhost' ? [hostname, `${hostname}.local`] : [];
  const made = makeCertificate({
    names: [...own, ...HERE],
    fromMs: FROM_MS,
    untilMs: nowMs + LASTS_MS,
    isAuthority: false,
  });
  return { ...made, fingerprint: new X509Certificate(made.cert).fingerprint256 };
}

/** Undefined for what is no key with its own certificate. */
function certificateIn(text: string): { readonly certificate: PageCertificate; readonly untilMs: number } | undefined {
  const [, key, cert] = PARTS.exec(text) ?? [];
  if (key === undefined || cert === undefined) return undefined;
  try {
    const parsed = new X509Certificate(cert);
    if (!parsed.checkPrivateKey(createPrivateKey(key)) || !parsed.verify(parsed.publicKey)) return undefined;
    return { certificate: { key, cert, fingerprint: parsed.fingerprint256 }, untilMs: Date.parse(parsed.validTo) };
  } catch {
    return undefined;
  }
}

function inTime<T>({ clock }: PageCertificateDeps, work: () => Promise<T>): Promise<T> {
  return outcomeWithin(clock, DISK_WITHIN_MS, work, (): never => {
    throw retryable('host/read-failed', 'the disk does not answer');
  });
}
