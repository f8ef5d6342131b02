/** Faults of a line on which several registers and units answer in turn. */
import type { PlantedFault } from './fault.ts';

export const MODBUS_FAULTS: readonly PlantedFault[] = [
  {
    name: 'an answer that comes late is that of the next question',
    file: 'hardware/modbus-line-transport.ts',
    old: 'const owesAlike = (): boolean => this.#owedBy(unitId).some(({ question }) => question[0] === pdu[0]);\n',
    new: 'this.#deps.memory.debts.delete(unitId);\n    const owesAlike = (): boolean => false;\n',
    needs: ['slow meter', 'meter'],
    perHour: 30,
  },
  {
    name: 'registers that are asked for together are told apart by their order',
    file: 'sensors/modbus/polling-groups.ts',
    old: 'const from = register.address - address;',
    new: 'const from = Math.min(1, register.address - address);',
    needs: ['meter'],
  },
];
