/** The first hop on the way to the platform: the platform itself, or the proxy before it. */
import { connect } from 'node:net';
import type { AgentConfig } from '../../../config/schema/agent-config.ts';
import { systemCode } from '../../../errors/agent-error.ts';
import { type Finding, fault, good } from './checkup.ts';

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

export interface Target {
  /** As the system's calls take it: an IPv6 address without the brackets of a URL. */
  readonly host: string;
  readonly port: number;
}

/** The platform, or the proxy before it. */
export function firstHop({ platform }: AgentConfig): Target {
  return targetOf(new URL(platform.proxy?.reveal() ?? platform.url));
}

/** Checks that it takes connections. */
export async function hopAnswers(config: AgentConfig, remedy: string, signal: AbortSignal): Promise<Finding> {
  const target = firstHop(config);
  const refused = await tryPort(target, signal);
  return refused === undefined ? good(shown(target)) : fault(`${shown(target)}: ${refused}`, remedy);
}

export function targetOf({ hostname, port, protocol }: URL): Target {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? (DEFAULT_PORTS[protocol] ?? 80) : Number(port) };
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
    socket.once('error', (error) => resolve(signal.aborted ? 'no answer in time' : (systemCode(error) ?? error.message)));
  });
}
