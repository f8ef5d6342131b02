/** Checks of the way to the platform, hop by hop: its name, the route, the proxy, its certificate, and what it says of this device. */

import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import type { AgentConfig } from '../../config/schema/agent-config.ts';
import { messageOf, systemCode } from '../../errors/agent-error.ts';
import { readUserFile } from '../../host/whole-file.ts';
import { trusting } from '../../platform/trusted-authorities.ts';
import { configCheck, type Finding, fault, good, unknown, warning } from './checkup.ts';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

export interface Target {
  /** As the system's calls take it: an IPv6 address without the brackets of a URL. */
  readonly host: string;
  readonly port: number;
}

/** The platform, or the proxy before it. */
function firstHop({ platform }: AgentConfig): Target {
  return targetOf(new URL(platform.proxy?.reveal() ?? platform.url));
}

/** Checks that it takes connections. */
async function hopAnswers(config: AgentConfig, remedy: string, signal: AbortSignal): Promise<Finding> {
  const target = firstHop(config);
  const refused = await tryPort(target, signal);
  return refused === undefined ? good(shown(target)) : fault(`${shown(target)}: ${refused}`, remedy);
}

export function targetOf({ hostname, port, protocol }: URL): Target {
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port),
  };
}

function shown({ host, port }: Target): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns what keeps a port from being reached, in words; undefined when nothing does. */
async function tryPort({ host, port }: Target, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) =>
      resolve(signal.aborted ? 'no answer in time' : (systemCode(error) ?? error.message)),
    );
  });
}

export const dns = configCheck('dns', 'the platform’s name is known', async (config) => {
  const { host } = firstHop(config);
  try {
    const { address } = await lookup(host);
    return good(address === host ? `${host} is an address` : `${host} is ${address}`);
  } catch (error) {
    const why = systemCode(error) === 'EAI_AGAIN' ? 'no name server answers' : 'no name server knows it';
    return fault(
      `${host}: ${why}`,
      'check the spelling in the configuration, and the name servers in /etc/resolv.conf',
    );
  }
});

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;

export const route = configCheck('route', 'there is a way out of here', async (config, { machine }) => {
  if (LOOPBACK.test(firstHop(config).host)) return good('the platform is on this machine');
  if (await machine.hasDefaultRoute()) return good('a default route');
  return fault(
    'no default route',
    'check the cable or the modem, and the gateway of the network: ip route, nmcli, or networkctl',
  );
});

export const proxy = configCheck('proxy', 'the proxy takes connections', (config, _context, signal) =>
  config.platform.proxy === undefined
    ? undefined
    : hopAnswers(config, 'check platform.proxy, or remove it where no proxy is needed', signal),
);

export const reachable = configCheck('reachable', 'the platform takes connections', (config, _context, signal) =>
  config.platform.proxy === undefined
    ? hopAnswers(config, 'check platform.url and the firewall; is the platform up?', signal)
    : undefined,
);

export const token = configCheck('token', 'the platform knows this device', async (config, { askPlatform }, signal) => {
  const asked = await askPlatform(config, signal).catch((error: unknown) =>
    unknown(`it could not be asked: ${messageOf(error)}`),
  );
  if ('verdict' in asked) return asked;
  if (!asked.hasToken) return provisionAdvice(config);
  const { problem, remedy, lastHeardAtMs } = asked.contact;
  if (problem !== undefined && remedy !== undefined) return fault(problem, remedy);
  return lastHeardAtMs === undefined ? unknown('it was not asked yet') : good('its access token is taken');
});

function provisionAdvice({ provisioning }: AgentConfig): Finding {
  if (provisioning === undefined)
    return fault(
      'this device has no access token',
      'put one into the configuration (platform.accessTokenFile), or a section provisioning',
    );
  return unknown('not provisioned yet: the agent does it, and says in turnstone status what keeps it from it');
}

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
    return fault(
      `valid only from ${day(fromMs)}, and this clock says ${day(nowMs)}`,
      'set this machine’s clock: timedatectl set-ntp true',
    );
  if (nowMs > toMs)
    return fault(`ended on ${day(toMs)}`, 'renew it on the platform; is this machine’s clock right (timedatectl)?');
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
async function handshake(
  target: Target & { readonly ca?: (string | Buffer)[] },
  signal: AbortSignal,
): Promise<Seen | undefined> {
  const socket = connectTls({
    ...target,
    servername: /^[\d.]+$|:/.test(target.host) ? '' : target.host,
    rejectUnauthorized: false,
  });
  try {
    await once(socket, 'secureConnect', { signal });
    const refusal = socket.authorized ? undefined : messageOf(socket.authorizationError);
    return { certificate: socket.getPeerCertificate(), refusal };
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
