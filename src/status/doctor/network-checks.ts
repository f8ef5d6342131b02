/** The way to the platform, stage by stage: name, route, proxy, port, TLS, token. The first stage that fails names the cause. */

import { lookup } from 'node:dns/promises';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import type { AgentConfig } from '../../config/agent-config.ts';
import { hasCode, messageOf, systemCode } from '../../errors.ts';
import { readUserFile } from '../../host/durable-file.ts';
import { trusting } from '../../platform/trusted-authorities.ts';
import { type Check, type Finding, fault, good, unknown, warning, withConfig } from './checkup.ts';

/** A certificate that ends within this time is renewed by nobody, it seems. */
const EXPIRES_SOON_MS = 14 * 24 * 3_600_000;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;

interface Target {
  /** As the system's calls take it: an IPv6 address without the brackets of a URL. */
  readonly host: string;
  readonly port: number;
}

export const NETWORK_CHECKS: readonly Check[] = [
  {
    id: 'dns',
    title: 'the platform’s name is known',
    look: withConfig(async (config) => {
      const { host } = firstHop(config);
      try {
        const { address } = await lookup(host);
        return good(address === host ? `${host} is an address` : `${host} is ${address}`);
      } catch (error) {
        const why = systemCode(error) === 'EAI_AGAIN' ? 'no name server answers' : 'no name server knows it';
        return fault(`${host}: ${why}`, 'check the spelling in the configuration, and the name servers in /etc/resolv.conf');
      }
    }),
  },
  {
    id: 'route',
    title: 'there is a way out of here',
    look: withConfig(async (config, { machine }) => {
      if (LOOPBACK.test(firstHop(config).host)) return good('the platform is on this machine');
      if (await machine.hasDefaultRoute()) return good('a default route');
      return fault('no default route', 'check the cable or the modem, and the gateway of the network: ip route, nmcli, or networkctl');
    }),
  },
  {
    id: 'proxy',
    title: 'the proxy takes connections',
    look: withConfig(async (config, _patient, signal) => {
      if (config.platform.proxy === undefined) return undefined;
      const target = firstHop(config);
      const refused = await tryPort(target, signal);
      if (refused === undefined) return good(shown(target));
      return fault(`${shown(target)}: ${refused}`, 'check platform.proxy, or remove it where no proxy is needed');
    }),
  },
  {
    id: 'reachable',
    title: 'the platform takes connections',
    look: withConfig(async (config, _patient, signal) => {
      if (config.platform.proxy !== undefined) return undefined;
      const target = firstHop(config);
      const refused = await tryPort(target, signal);
      if (refused === undefined) return good(shown(target));
      return fault(`${shown(target)}: ${refused}`, 'check platform.url and the firewall; is the platform up?');
    }),
  },
  {
    id: 'tls',
    title: 'the platform’s certificate is good',
    look: withConfig((config, { clock }, signal) => checkTls(config, clock.wallMs(), signal)),
  },
  {
    id: 'token',
    title: 'the platform knows this device',
    look: withConfig(async (config, { tokenWorks }, signal) => {
      try {
        const works = await tokenWorks(config, signal);
        if (works === undefined) return provisionAdvice(config);
        if (works) return good('its access token is taken');
        return fault(
          'the platform does not know the access token',
          'compare it with the device’s credentials on the platform; after a deletion: provision again',
        );
      } catch (error) {
        if (hasCode(error, 'platform/portal'))
          return fault(
            'something in between answers in the platform’s place: a login page or a proxy',
            'open a browser in this network and log in, or set platform.proxy',
          );
        return unknown(`it could not be asked: ${messageOf(error)}`);
      }
    }),
  },
];

function provisionAdvice({ provisioning }: AgentConfig): Finding {
  if (provisioning === undefined)
    return fault('this device has no access token', 'put one into the configuration (platform.accessTokenFile), or a section provisioning');
  return unknown('not provisioned yet: the agent does it at its next start');
}

/** The platform, or the proxy before it. */
function firstHop({ platform }: AgentConfig): Target {
  return targetOf(new URL(platform.proxy?.reveal() ?? platform.url));
}

function targetOf({ hostname, port, protocol }: URL): Target {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port) };
}

function shown({ host, port }: Target): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** What keeps a port from being reached, in words; undefined when it is. */
async function tryPort({ host, port }: Target, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectPlain({ host, port, signal });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => resolve(signal.aborted ? 'no answer in time' : (systemCode(error) ?? error.message)));
  });
}

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
  if (refusal !== undefined)
    return fault(
      `not trusted here: ${refusal}`,
      'give the platform’s authority as platform.caFile, and check the host name in platform.url',
    );
  if (toMs - nowMs < EXPIRES_SOON_MS) return warning(`ends on ${day(toMs)}`, 'renew it on the platform before that');
  return good(`until ${day(toMs)}`);
}

/** The certificate, and why it is not trusted; looked at even when it is not, because the reason is what is asked for. */
async function handshake(
  target: Target & { readonly ca?: (string | Buffer)[] },
  signal: AbortSignal,
): Promise<{ readonly certificate: PeerCertificate; readonly refusal?: string } | undefined> {
  return new Promise((resolve) => {
    const socket = connectTls({ ...target, servername: /^[\d.]+$|:/.test(target.host) ? '' : target.host, rejectUnauthorized: false });
    const end = (seen?: { readonly certificate: PeerCertificate; readonly refusal?: string }): void => {
      socket.destroy();
      resolve(seen);
    };
    signal.addEventListener('abort', () => end(), { once: true });
    socket.once('secureConnect', () => {
      const refusal = socket.authorizationError;
      end({
        certificate: socket.getPeerCertificate(),
        ...(socket.authorized ? {} : { refusal: refusal instanceof Error ? refusal.message : String(refusal) }),
      });
    });
    socket.once('error', () => end());
  });
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
