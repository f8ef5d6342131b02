/** Faults of the record at the gateway itself: what happened, and the plots. */
import type { PlantedFault } from './fault.ts';

export const RECORD_FAULTS: readonly PlantedFault[] = [
  {
    name: 'each life counts its events anew',
    file: 'timeline/timeline.ts',
    old: '    this.#writtenSeq = this.#lastSeq;\n    this.#add(',
    new: '    this.#writtenSeq = this.#lastSeq;\n    this.#lastSeq = 0;\n    this.#add(',
    needs: ['stop'],
  },
  {
    name: 'an output’s event has the number of the event before',
    file: 'timeline/timeline.ts',
    old: '    this.#lastSeq += 1;',
    new: "    if (event.kind !== 'output' || this.#lastSeq === 0) this.#lastSeq += 1;",
    needs: ['pulse'],
  },
  {
    name: 'a stop that this machine asks for is not told',
    file: 'agent/agent.ts',
    old: '    timeline.tellStop(isRestart);',
    new: '    if (isRestart) timeline.tellStop(isRestart);',
    needs: ['stop'],
  },
  {
    name: 'a toggle is not told',
    file: 'timeline/tellers.ts',
    old: 'device?: string): void => tell(commandEvent(command, config(), device)),',
    new: "device?: string): void => void (command.method === 'toggle' || tell(commandEvent(command, config(), device))),",
    needs: ['toggle'],
  },
  {
    name: 'a platform that is silent is not told',
    file: 'timeline/watch-agent.ts',
    old: '      const isLost = status.problem !== undefined;',
    new: "      const isLost = status.problem !== undefined;\n      if (status.state === 'lost') return;",
    needs: ['no network'],
  },
  {
    name: 'the end of an outage is not told',
    file: 'timeline/watch-agent.ts',
    old: '      const isLost = status.problem !== undefined;',
    new: '      const isLost = status.problem !== undefined;\n      if (!isLost && lostAtMs !== undefined) return;',
    needs: ['no network'],
  },
  {
    name: 'the least of a band is what came last',
    file: 'history/band-hour.ts',
    old: '    if (!((fields[place] as number) <= least)) fields[place] = least;',
    new: '    fields[place] = least;',
    needs: ['page', 'measures'],
  },
  {
    name: 'a plot has what is in memory alone',
    file: 'history/bands.ts',
    old: '      yield* partsOf(placed.hourMs, this.#look(placed, wanted)?.keys ?? []);\n',
    new: '',
    needs: ['page', 'measures'],
  },
];
