/** Access token: accepted by the platform, refused, or not to be asked about now. */
import type { AgentConfig } from '../../../config/schema/agent-config.ts';
import { messageOf } from '../../../errors/agent-error.ts';
import { configCheck, type Finding, fault, good, unknown } from './checkup.ts';

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
