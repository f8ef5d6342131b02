/** Every fault of a configuration at once, each with its line, column and a hint. */
import { resolve } from 'node:path';
import { configHash } from '../config/changes/config-diff.ts';
import { type ConfigFault, faultLine } from '../config/fields/config-fault.ts';
import { conversionSteps } from '../config/keys/conversion-steps.ts';
import { devicePolls } from '../config/keys/device-polls.ts';
import { type ReadConfig, readConfig } from '../config/read-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { MachineFacts } from '../host/machine-facts.ts';
import { serviceMayRead } from '../host/service-reader.ts';
import { wakeWords } from '../link/link-words.ts';
import type { CheckConfigCall } from './commands/run.ts';
import { EXIT } from './exit-code.ts';
import type { Style } from './printer.ts';
import { isShippedExample } from './shipped-example.ts';
import { counted } from './value-text.ts';

/** An installation begins with it; started as it is, it would ask somebody else's address for a device. */
const UNTOUCHED: ConfigFault = {
  line: 1,
  column: 1,
  path: '',
  problem: 'the example as it was shipped',
  expected: 'the address of your platform, and the key and secret of its device profile',
  hint: 'sudo turnstone init asks for them',
};

export async function checkConfig(call: CheckConfigCall): Promise<void> {
  const { args, flags, edge, print } = call;
  for (const file of args.file) {
    await checkOne(call, file).catch((error: unknown) => {
      // A fleet's other files are looked at all the same.
      if (args.file.length === 1 || !(error instanceof AgentError)) throw error;
      const { code, message } = error;
      if (flags.json === true) print.result({ file, ok: false, error: { code, message } }, () => '');
      else edge.stderr.write(`turnstone: ${message} (${code})\n`);
      print.exitCode = EXIT.badConfig;
    });
  }
}

async function checkOne({ flags, edge, print }: CheckConfigCall, file: string): Promise<void> {
  const isElsewhere = flags.forElsewhere === true;
  const mayRead = isElsewhere ? undefined : await serviceMayRead(new MachineFacts({ clock: systemClock }));
  const found = await readConfig(file, { environment: edge.environment, mayRead });
  const { warnings, onGateway, ...judged } = isElsewhere ? withoutGateway(found) : { ...found, onGateway: undefined };
  const faults = [...judged.faults, ...((await isShippedExample(resolve(file), systemFiles)) ? [UNTOUCHED] : [])];
  const config = found.config ?? (isElsewhere ? found.meanwhile : undefined);
  const ok = faults.length === 0;
  const conversions = flags.explain === true ? { conversions: config?.sensors.flatMap(conversionSteps) ?? [] } : {};
  // It is made of what named files bring, too.
  const hash = found.config === undefined ? {} : { hash: configHash(found.config), fileHash: found.fileHash };
  const items = config === undefined ? {} : { sensors: config.sensors.length, actuators: config.actuators.length };
  const counts = Object.entries(items).map(([name, amount]) => counted(amount, name.slice(0, -1)));
  const link = config === undefined ? undefined : wakeWords(config);
  const devices = config === undefined || config.devices.length === 0 ? undefined : pollsOf(config);
  print.result(
    {
      file,
      ok,
      ...hash,
      ...items,
      devices,
      link,
      faults,
      warnings,
      onGateway,
      ...conversions,
    },
    () =>
      [
        ...(conversions.conversions ?? []).map((line) => `${line}\n`),
        ...(devices === undefined ? [] : [pollsText(devices)]),
        ...(link === undefined ? [] : [`${link}\n`]),
        ...(config?.status.page === 'lan' ? [PAGE_TEXT] : []),
        ...(onGateway ?? []).map((fault) => `gateway ${faultLine(file, fault)}\n`),
        verdictText(file, { faults, warnings, counts: [...counts, ...gatewayCount(onGateway ?? [])] }, print.style),
      ].join(''),
  );
  if (!ok) print.exitCode = EXIT.badConfig;
}

/** Faults and warnings of the text, and apart from them what only the gateway can answer. */
function withoutGateway({ faults, warnings }: ReadConfig) {
  const isOnGateway = ({ mayPass, onGateway }: ConfigFault): boolean => mayPass === true || onGateway === true;
  return {
    faults: faults.filter((fault) => !isOnGateway(fault)),
    warnings: warnings.filter((warning) => !isOnGateway(warning)),
    onGateway: [...faults, ...warnings].filter(isOnGateway),
  };
}

function gatewayCount({ length }: readonly ConfigFault[]): readonly string[] {
  return length === 0 ? [] : [`${counted(length, 'thing')} to be checked on the gateway`];
}

const PAGE_TEXT =
  "page: in the network over TLS alone, where a listener reads nothing; a browser warns once of the gateway's own certificate: compare it with turnstone status\n";

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
  const noted = [...counts, ...(warnings.length === 0 ? [] : [counted(warnings.length, 'warning')])]
    .map((one) => `, ${one}`)
    .join('');
  const verdict = faults.length === 0 ? green('good') : red(counted(faults.length, 'fault'));
  return `${lines.join('')}${bold(file)}: ${verdict}${noted}\n`;
}
