/** Checks that the platform’s certificate is good now, and for a while. */
import { once } from 'node:events';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import type { AgentConfig } from '../../../config/schema/agent-config.ts';
import { messageOf } from '../../../errors/agent-error.ts';
import { readUserFile } from '../../../host/durable-file.ts';
import { given } from '../../../host/given.ts';
import { trusting } from '../../../platform/trusted-authorities.ts';
import { configCheck, type Finding, fault, good, unknown, warning } from './checkup.ts';
import { type Target, targetOf } from './first-hop.ts';

/** A certificate that ends within this time is renewed by nobody, it seems. */
const EXPIRES_SOON_MS = 14 * 24 * 3_600_000;

export const tls = configCheck('tls', 'the platform’s certificate is good', (config, { clock }, signal) =>
  checkTls(config, clock.wallMs(), signal),
);

async function checkTls({ platform }: AgentConfig, nowMs: number, signal: AbortSignal): Promise<Finding | undefined> {
  const url = new URL(platform.url);
  // Through a proxy only the platform client knows the way.
  if (url.protocol !== 'https:' || platform.proxy !== undefined) return undefined;
  const authority = platform.caFile === undefined ? undefined : await readUserFile(platform.caFile);
  const seen = await handshake({ ...targetOf(url), ...trusting(authority) }, signal);
  if (seen === undefined) return unknown('no TLS connection came about');
  const { certificate, refusal } = seen;
  const [fromMs, toMs] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  if (nowMs < fromMs)
    return fault(`valid only from ${day(fromMs)}, and this clock says ${day(nowMs)}`, 'set this machine’s clock: timedatectl set-ntp true');
  if (nowMs > toMs) return fault(`ended on ${day(toMs)}`, 'renew it on the platform; is this machine’s clock right (timedatectl)?');
  const giveAuthority = 'give the platform’s authority as platform.caFile, and check the host name in platform.url';
  if (refusal !== undefined) return fault(`not trusted here: ${refusal}`, giveAuthority);
  if (toMs - nowMs < EXPIRES_SOON_MS) return warning(`ends on ${day(toMs)}`, 'renew it on the platform before that');
  return good(`until ${day(toMs)}`);
}

interface Seen {
  readonly certificate: PeerCertificate;
  /** Why it is not trusted. */
  readonly refusal?: string;
}

/** Looked at even when it is not trusted, because the reason is what is asked for. */
async function handshake(target: Target & { readonly ca?: (string | Buffer)[] }, signal: AbortSignal): Promise<Seen | undefined> {
  const socket = connectTls({ ...target, servername: /^[\d.]+$|:/.test(target.host) ? '' : target.host, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal });
    const refusal = socket.authorized ? undefined : messageOf(socket.authorizationError);
    return given({ certificate: socket.getPeerCertificate(), refusal });
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
