/** `turnstone status`: is it working, and if not, why not. */
import { command, toggle } from '../command.ts';

export const STATUS = command('status', {
  says: 'show whether the agent works: connection, outbox, sensors, actuators, firmware',
  agent: 'needed',
  options: { json: toggle('print the whole status as JSON') },
  examples: ['status', 'status --json', 'status --config /etc/turnstone/turnstone.yaml'],
  exitCodes: '0 the agent answers, 69 no agent runs',
  run: async (call) => (await import('../status.ts')).showStatus(call),
});
