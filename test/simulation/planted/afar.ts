/** Faults of configurations from afar: in the agent's part, in root's, and in what is locked. */
import type { PlantedFault } from './fault.ts';

const NEEDS = ['configuration from afar'] as const;
const SAME_RULES =
  '  if (rules.length === slots.rules.length && rules.every((rule, at) => rule === slots.rules[at])) return slots;';

export const AFAR_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a configuration from afar loses its last sign on its way into place',
    file: 'remote-config/root/file-in-place.ts',
    old: '  await stage(deps, bytes, mode);',
    new: '  await stage(deps, bytes.subarray(0, -1), mode);',
    needs: NEEDS,
  },
  {
    name: 'the configuration in place goes before the one of before comes back',
    file: 'remote-config/root/file-in-place.ts',
    old: '  if ((await hashOfWayBack(deps)) === hash) return',
    new: '  await deps.files.remove(deps.file);\n  if ((await hashOfWayBack(deps)) === hash) return',
    needs: NEEDS,
  },
  {
    name: 'a configuration that is returned stays in place',
    file: 'remote-config/root/end-trial.ts',
    old: "    if (outcome === 'returned' && !isBefore) {\n",
    new: "    if (outcome === 'returned' && isBefore) {\n",
    needs: NEEDS,
  },
  {
    name: 'a configuration that is kept goes back all the same',
    file: 'remote-config/root/end-trial.ts',
    old: "    if (outcome === 'returned' && !isBefore) {\n",
    new: '    if (!isBefore) {\n',
    needs: NEEDS,
  },
  {
    name: 'the end of a configuration from afar is not told',
    file: 'remote-config/remote-config.ts',
    old: '    this.#tell({ state, hash: hash || pending.hash, origin: pending.origin, package: pending.package, reason });\n',
    new: '',
    needs: NEEDS,
  },
  {
    name: 'whatever becomes of a configuration it is told as kept',
    file: 'remote-config/remote-config.ts',
    old: '{ state, hash: hash || pending.hash,',
    new: "{ state: 'kept', hash: hash || pending.hash,",
    needs: NEEDS,
  },
  {
    name: 'a longest time on may grow from afar',
    file: 'remote-config/locked.ts',
    old: "  maxOn: ['lower', durationOf],",
    new: "  maxOn: ['higher', durationOf],",
    needs: NEEDS,
  },
  {
    name: 'the safe state of an output may change from afar',
    file: 'remote-config/locked.ts',
    old: "new Set(['label', 'class', 'telemetry'])",
    new: "new Set(['label', 'class', 'telemetry', 'safe'])",
    needs: NEEDS,
  },
  {
    name: 'a reload forgets who has set an output',
    file: 'actuators/priority-array.ts',
    old: SAME_RULES,
    new: `  if (event.isStart !== true && rules.length === slots.rules.length) return { ...slots, operator: undefined };\n${SAME_RULES}`,
    needs: NEEDS,
  },
  {
    name: 'a reload gives each output its state for the start',
    file: 'actuators/priority-array.ts',
    old: SAME_RULES,
    new: `  if (event.isStart !== true) return { ...slots, rules, operator: undefined, base: baseOf(slots.start) };\n${SAME_RULES}`,
    needs: NEEDS,
  },
];
