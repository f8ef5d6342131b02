/** The BME280 as its bus sees it. */
import type { Twin } from '../../simulated-board/twin.ts';
import { BoschChip } from '../families/bosch/twin.ts';

export const twin: Twin = { chip: (context) => new BoschChip(context, { humidity: true }), sample: { address: 0x76 } };
