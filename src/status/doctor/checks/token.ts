/** Whether the platform knows this device. */
import type { AgentConfig } from '../../../config/agent-config.ts';
import { hasCode, messageOf } from '../../../errors.ts';
import { configCheck, type Finding, fault, good, unknown } from '../checkup.ts';

export const token = configCheck('token', 'the platform knows this device', async (config, { tokenWorks }, signal) => {
  try {
    const works = await tokenWorks(config, signal);
    if (works === undefined) return provisionAdvice(config);
    const compare = 'compare it with the device’s credentials on the platform; after a deletion: provision again';
    return works ? good('its access token is taken') : fault('the platform does not know the access token', compare);
  } catch (error) {
    const logIn = 'open a browser in this network and log in, or set platform.proxy';
    if (hasCode(error, 'platform/portal'))
      return fault('something in between answers in the platform’s place: a login page or a proxy', logIn);
    return unknown(`it could not be asked: ${messageOf(error)}`);
  }
});

function provisionAdvice({ provisioning }: AgentConfig): Finding {
  if (provisioning === undefined)
    return fault('this device has no access token', 'put one into the configuration (platform.accessTokenFile), or a section provisioning');
  return unknown('not provisioned yet: the agent does it at its next start');
}
