/** Check of the status page: who can open it, and what somebody who listens in the network can read. */
import { shortFingerprint } from '../../status/shape/agent-status.ts';
import { configCheck, good, warning } from './checkup.ts';

/** Until then a page may still be opening: a taken port is tried again. */
const OPENS_WITHIN_MS = 30_000;

export const page = configCheck('page', 'nobody hears what the status page says', ({ status }, { agent }) => {
  if (status.page === 'off') return undefined;
  if (status.page === 'loopback') return good('it is open to this machine alone');
  if (agent === undefined) return good('in the network it speaks TLS alone: a listener reads nothing');
  if (agent.page?.fingerprint !== undefined)
    return good(
      `a listener in the network reads nothing: TLS, under a certificate of this machine's own; a browser warns of it once: its SHA-256 must begin with ${shortFingerprint(agent.page.fingerprint)}`,
    );
  if (agent.nowMs - agent.startedAtMs < OPENS_WITHIN_MS) return undefined;
  return warning(
    agent.page === undefined
      ? `it is not open on port ${status.port}`
      : 'the agent that runs has it on this machine alone, and the configuration in the network',
    agent.page === undefined
      ? 'turnstone logs --level warn tells why; another status.port, when a program has this one'
      : 'systemctl restart turnstone',
  );
});
