/** Every fault of a configuration at once, each with its line, column and a hint. */
import { configHash } from '../config/changes/config-diff.ts';
import { faultLine } from '../config/fields/config-fault.ts';
import { conversionSteps } from '../config/keys/conversion-steps.ts';
import { devicePolls } from '../config/keys/device-polls.ts';
import { type ReadConfig, readConfig } from '../config/read-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { given } from '../host/given.ts';
import type { CheckConfigCall } from './commands/run.ts';
import { EXIT } from './exit-code.ts';
import type { Style } from './printer.ts';

export async function checkConfig({ args: { file }, flags, edge, print }: CheckConfigCall): Promise<void> {
  const { config, faults, warnings } = await readConfig(file, { environment: edge.environment });
  const conversions = flags.explain === true ? { conversions: config?.sensors.flatMap(conversionSteps) ?? [] } : {};
  const hash = config === undefined ? {} : { hash: configHash(config) };
  const items = config === undefined ? {} : { sensors: config.sensors.length, actuators: config.actuators.length };
  const counts = Object.entries(items).map(([name, amount]) => count(amount, name.slice(0, -1)));
  const devices = config === undefined || config.devices.length === 0 ? undefined : pollsOf(config);
  print.result({ file, ok: config !== undefined, ...hash, ...items, ...given({ devices }), faults, warnings, ...conversions }, () =>
    [
      ...(conversions.conversions ?? []).map((line) => `${line}\n`),
      ...(devices === undefined ? [] : [pollsText(devices)]),
      verdictText(file, { faults, warnings, counts }, print.style),
    ].join(''),
  );
  if (config === undefined) print.exitCode = EXIT.badConfig;
}

interface DevicesAndPolls {
  readonly count: number;
  /** Those that hold a standing poll for commands. */
  readonly rpcPolls: number;
  /** Those that hold one for shared attributes. */
  readonly attributePolls: number;
}

function pollsOf(config: AgentConfig): DevicesAndPolls {
  const polls = config.devices.map((device) => devicePolls(device, config));
  const { length: rpcPolls } = polls.filter(({ rpc }) => rpc);
  return { count: polls.length, rpcPolls, attributePolls: polls.filter(({ attributes }) => attributes).length };
}

function pollsText({ count: devices, rpcPolls, attributePolls }: DevicesAndPolls): string {
  return `devices: ${devices}, ${rpcPolls} of them ${rpcPolls === 1 ? 'polls' : 'poll'} for commands, ${attributePolls} for shared attributes\n`;
}

interface Verdict extends Pick<ReadConfig, 'faults' | 'warnings'> {
  /** Items after templates were expanded: `10 sensors`. */
  readonly counts: readonly string[];
}

function verdictText(file: string, { faults, warnings, counts }: Verdict, style: Style): string {
  const { bold, red, yellow, green } = style;
  const lines = [
    ...faults.map((fault) => `${red('fault')}   ${faultLine(file, fault)}\n`),
    ...warnings.map((warning) => `${yellow('warning')} ${faultLine(file, warning)}\n`),
  ];
  const noted = [...counts, ...(warnings.length === 0 ? [] : [count(warnings.length, 'warning')])].map((one) => `, ${one}`).join('');
  const verdict = faults.length === 0 ? green('good') : red(count(faults.length, 'fault'));
  return `${lines.join('')}${bold(file)}: ${verdict}${noted}\n`;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
