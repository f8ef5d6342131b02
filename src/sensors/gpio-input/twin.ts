/** Twin on a simulated board's line: a door. */
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';

export const twin: Twin = { fitting: () => ({ line: { kind: 'door', perHour: 60, openMs: 8_000 } }) };
