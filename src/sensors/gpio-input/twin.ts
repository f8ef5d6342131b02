/** Twin on a simulated board's line: a door. */
import type { Twin } from '../../simulated-board/twin.ts';

export const twin: Twin = { fitting: () => ({ line: { kind: 'door', perHour: 60, openMs: 8_000 } }) };
