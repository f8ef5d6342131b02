/** `turnstone sensors`: which sensors there are and what they show; `read NAME` reads one now. */
import { argument, type Call, command, toggle } from '../command.ts';

const OPTIONS = { json: toggle('print as JSON') };
const READ_ARGUMENTS = { name: argument('its name in the configuration') };
export type ReadCall = Call<typeof OPTIONS, typeof READ_ARGUMENTS>;

const READ = command('read', {
  says: 'read one sensor now',
  arguments: READ_ARGUMENTS,
  options: OPTIONS,
  examples: ['sensors read roof', 'sensors read roof --json'],
  agent: async (configFile, edge) => (await import('../sensors.ts')).openSensors(configFile, edge),
  run: async (call) => (await import('../sensors.ts')).readSensor(call),
});

export const SENSORS = command('sensors', {
  says: 'list the sensors of the running agent, or read one now',
  agent: 'needed',
  options: OPTIONS,
  examples: ['sensors', 'sensors read roof', 'sensors read roof --config gateway.yaml --json'],
  notes: 'A running agent is asked; when none runs, "read" opens the sensor itself.',
  subcommands: [READ],
  run: async (call) => (await import('../sensors.ts')).listSensors(call),
});
