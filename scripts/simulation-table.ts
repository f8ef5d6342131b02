/**
 * The table of what was simulated, for docs/testing.md, made from test/simulation/ledger.json:
 *
 *   node scripts/simulation-table.ts           prints it
 *   node scripts/simulation-table.ts --write   puts it into docs/testing.md
 */
import { type Ledger, readLedger, worldsOf } from '../test/simulation/ledger.ts';
import { printOrWrite } from './page-table.ts';

export function simulationTable(ledger: Ledger): string {
  const planted = Object.entries(ledger.planted);
  const missed = planted.filter(([, shown]) => shown === null).map(([name]) => name);
  const directed = planted.filter(([, shown]) => shown?.directed !== undefined).length;
  const troubles = Object.entries(ledger.troubles).sort(([, a], [, b]) => b - a);
  const count = (number: number): string => Math.round(number).toLocaleString('en');
  const speed = ledger.cpuSeconds === 0 ? 0 : (ledger.virtualDays * 86_400) / ledger.cpuSeconds;
  const rows = [
    ['worlds', `${count(worldsOf(ledger))}, of src ${ledger.src.slice(0, 10)}`],
    ['virtual time', `${count(ledger.virtualDays)} days, ${count(speed)} s in a second of the processor`],
    ['failures', `${ledger.failures.length}`],
    ['power cuts', count(ledger.cuts)],
    ['troubles', troubles.map(([name, number]) => `${name} ${count(number)}`).join(', ')],
    ['readings that were called durable; commands', `${count(ledger.durable)}; ${count(ledger.commands)}`],
    [
      'planted faults found',
      `${planted.length - missed.length} of ${planted.length}${directed === 0 ? '' : `, ${directed} of them in directed worlds`}${missed.length === 0 ? '' : `; not found: ${missed.join('; ')}`}`,
    ],
  ];
  return ['| Simulation | So far |', '|---|---|', ...rows.map(([what, figure]) => `| ${what} | ${figure} |`)].join(
    '\n',
  );
}

if (import.meta.main) await printOrWrite('simulation', simulationTable(readLedger()));
