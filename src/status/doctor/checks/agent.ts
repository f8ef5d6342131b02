/** Checks that an agent of this release answers. */
import { check, fault, good, warning } from './checkup.ts';

export const agent = check('agent', 'the agent answers', ({ agent, silentAgent, version }) => {
  if (silentAgent !== undefined)
    return fault(`one runs and hangs: ${silentAgent}`, 'journalctl -u turnstone tells why; systemctl restart turnstone');
  if (agent === undefined) return warning('no agent runs', 'systemctl start turnstone, or turnstone run in the foreground');
  if (agent.version !== version)
    return warning(`release ${agent.version} runs, and ${version} is installed`, 'systemctl restart turnstone');
  return good(`release ${agent.version}`);
});
