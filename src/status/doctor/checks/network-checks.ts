/** Checks of the way to the platform, hop by hop, and of what it says of this device. */
import { lookup } from 'node:dns/promises';
import type { AgentConfig } from '../../../config/schema/agent-config.ts';
import { messageOf, systemCode } from '../../../errors/agent-error.ts';
import { configCheck, type Finding, fault, good, unknown } from './checkup.ts';
import { firstHop, hopAnswers } from './first-hop.ts';

export const dns = configCheck('dns', 'the platform’s name is known', async (config) => {
  const { host } = firstHop(config);
  try {
    const { address } = await lookup(host);
    return good(address === host ? `${host} is an address` : `${host} is ${address}`);
  } catch (error) {
    const why = systemCode(error) === 'EAI_AGAIN' ? 'no name server answers' : 'no name server knows it';
    return fault(`${host}: ${why}`, 'check the spelling in the configuration, and the name servers in /etc/resolv.conf');
  }
});

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;

export const route = configCheck('route', 'there is a way out of here', async (config, { machine }) => {
  if (LOOPBACK.test(firstHop(config).host)) return good('the platform is on this machine');
  if (await machine.hasDefaultRoute()) return good('a default route');
  return fault('no default route', 'check the cable or the modem, and the gateway of the network: ip route, nmcli, or networkctl');
});

export const proxy = configCheck('proxy', 'the proxy takes connections', (config, _context, signal) =>
  config.platform.proxy === undefined
    ? undefined
    : hopAnswers(config, 'check platform.proxy, or remove it where no proxy is needed', signal),
);

export const reachable = configCheck('reachable', 'the platform takes connections', (config, _context, signal) =>
  config.platform.proxy === undefined ? hopAnswers(config, 'check platform.url and the firewall; is the platform up?', signal) : undefined,
);

export const token = configCheck('token', 'the platform knows this device', async (config, { askPlatform }, signal) => {
  const asked = await askPlatform(config, signal).catch((error: unknown) => unknown(`it could not be asked: ${messageOf(error)}`));
  if ('verdict' in asked) return asked;
  if (!asked.hasToken) return provisionAdvice(config);
  const { problem, remedy, lastHeardAtMs } = asked.contact;
  if (problem !== undefined && remedy !== undefined) return fault(problem, remedy);
  return lastHeardAtMs === undefined ? unknown('it was not asked yet') : good('its access token is taken');
});

function provisionAdvice({ provisioning }: AgentConfig): Finding {
  if (provisioning === undefined)
    return fault('this device has no access token', 'put one into the configuration (platform.accessTokenFile), or a section provisioning');
  return unknown('not provisioned yet: the agent does it, and says in turnstone status what keeps it from it');
}
