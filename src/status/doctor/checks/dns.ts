/** Checks that the platform’s name, or the proxy’s, is known. */
import { lookup } from 'node:dns/promises';
import { systemCode } from '../../../errors/agent-error.ts';
import { configCheck, fault, good } from './checkup.ts';
import { firstHop } from './first-hop.ts';

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
