/** `turnstone board`: a simulated board as a process of its own, on a Unix socket, until Ctrl-C. */
import { type Call, command, toggle, valued } from '../command.ts';

const OPTIONS = {
  socket: valued('<path>', 'Unix socket to listen on', { isRequired: true }),
  record: valued('<file>', 'append everything shown and done to this file, as JSON lines'),
  config: valued('<file>', 'what is on the board (YAML or JSON); without it, a sample of everything'),
  fit: valued('<file>', 'make the board that this agent configuration needs'),
  json: toggle('print what is needed to reach it as one line of JSON'),
};
export type BoardCall = Call<typeof OPTIONS>;

export const BOARD = command('board', {
  says: 'run a simulated board: pins, buses and ports that behave, and remember everything done to them',
  options: OPTIONS,
  examples: [
    'board --socket /tmp/board.sock',
    'board --socket /tmp/board.sock --config board.yaml --record board.jsonl',
    'board --socket /tmp/board.sock --fit /etc/turnstone/turnstone.yaml',
  ],
  notes: 'An agent uses it with "hardware: { board: simulated, boardSocket: /tmp/board.sock }".',
  run: async (call) => (await import('../board.ts')).runBoard(call),
});
