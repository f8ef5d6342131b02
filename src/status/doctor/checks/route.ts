/** Checks that there is a route out of here. */
import { configCheck, fault, good } from './checkup.ts';
import { firstHop } from './first-hop.ts';

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1)$/;

export const route = configCheck('route', 'there is a way out of here', async (config, { machine }) => {
  if (LOOPBACK.test(firstHop(config).host)) return good('the platform is on this machine');
  if (await machine.hasDefaultRoute()) return good('a default route');
  return fault('no default route', 'check the cable or the modem, and the gateway of the network: ip route, nmcli, or networkctl');
});
