/** Whether an agent of this release answers. */
import { check, good, warning } from '../checkup.ts';

export const agent = check('agent', 'the agent answers', ({ agent, version }) => {
  if (agent === undefined) return warning('no agent runs', 'systemctl start turnstone, or turnstone run in the foreground');
  if (agent.version !== version)
    return warning(`release ${agent.version} runs, and ${version} is installed`, 'systemctl restart turnstone');
  return good(`release ${agent.version}`);
});
