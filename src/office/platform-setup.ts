/** Sets a platform up: shows a plan, asks, carries it out step by step, and gives the section by which gateways make themselves known. */
import { readFile } from 'node:fs/promises';
import type { Edge } from '../cli/edge.ts';
import { CommandError, interrupted, usageError } from '../cli/exit-code.ts';
import type { Printer } from '../cli/printer.ts';
import { secretFrom } from '../cli/secret-from.ts';
import { expectReplaceable, writeOutput } from '../cli/written-file.ts';
import { loadConfig } from '../config/read-config.ts';
import { AgentError, systemCode } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { systemRandomBytes } from '../host/random.ts';
import { printable } from '../names/printable.ts';
import { openPeopleApi, type PeopleApi } from '../platform/people-api.ts';
import { PRIVATE_MODE } from '../store/durable-file.ts';
import { makePlan, type Plan } from './platform-setup/make-plan.ts';
import type { Provisioning, Step, Verdict } from './platform-setup/plan.ts';
import { readRelease } from './platform-setup/release-step.ts';
import type { PlatformSetupCall } from './platform-setup-command.ts';

const SIGNS: Readonly<Record<Verdict, string>> = { make: 'make', change: 'change', keep: 'as it is' };
const DONE: Readonly<Record<Verdict, string>> = { make: 'made', change: 'changed', keep: 'as it is' };
const NAME = 'gateway-{serial|mac}';

export async function setUpPlatform(call: PlatformSetupCall): Promise<void> {
  const { flags, edge } = call;
  if (flags.assign === true && flags.release === undefined)
    throw usageError('--assign needs a package', { nextStep: 'give --release too' });
  if (flags.dryRun !== true && flags.yes !== true && !edge.isInteractive)
    throw usageError('nobody can be asked here', { nextStep: 'say --yes, or --dry-run' });
  if (flags.write !== undefined) await expectReplaceable(flags.write);
  await setUp(call).catch((cause: unknown) => {
    if (!edge.signal.aborted || cause instanceof CommandError) throw cause;
    throw interrupted('interrupted: nothing was done', { cause });
  });
}

async function setUp(call: PlatformSetupCall): Promise<void> {
  const { flags, edge } = call;
  const release = flags.release === undefined ? undefined : await readRelease(flags.release, edge.signal);
  const config =
    flags.config === undefined ? undefined : await loadConfig(flags.config, { environment: edge.environment });
  const api = await logIn(call);
  try {
    const wish = {
      profile: flags.profile,
      assign: flags.assign === true,
      customer: flags.customer,
      release,
      config,
    };
    await perform(call, await makePlan(api, wish, systemRandomBytes));
  } finally {
    await api.close();
  }
}

async function logIn({ flags, edge, settings }: PlatformSetupCall): Promise<PeopleApi> {
  const url = flags.url ?? settings['platform.url'];
  if (url === undefined) throw usageError('it is not known where the platform is', { nextStep: 'give --url' });
  if (flags.passwordFile === undefined && !edge.isInteractive)
    throw usageError('the password is not known', { nextStep: 'give --password-file' });
  const ca = flags.caFile === undefined ? undefined : await certificate(flags.caFile);
  const password = await secretFrom(flags.passwordFile, `Password of ${printable(flags.user)}: `, edge);
  const deps = { clock: systemClock, randomBytes: systemRandomBytes, signal: edge.signal };
  return openPeopleApi(
    {
      url,
      user: flags.user,
      password,
      ca,
    },
    deps,
  );
}

async function certificate(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${file}: ${systemCode(cause)}`, { cause });
  });
}

async function perform({ flags, edge, print }: PlatformSetupCall, { steps, made }: Plan): Promise<void> {
  const isJson = flags.json === true;
  const due = steps.filter(({ verdict }) => verdict !== 'keep');
  if (!isJson) print.write(planText(steps, print));
  if (flags.dryRun === true) {
    print.result({ steps: steps.map((step) => shown(step, false)) }, () =>
      due.length === 0 ? '' : 'nothing was done: this is the plan\n',
    );
    return;
  }
  if (due.length > 0 && flags.yes !== true && !(await isAgreed(edge, due.length))) {
    print.fail('nothing was done', 'run it again, and answer y');
  }
  const done = new Set<Step>();
  for (const step of due) {
    await carryOut(step, () => step.carryOut?.(made), { done: done.size, due: due.length, signal: edge.signal });
    done.add(step);
    if (!isJson) print.write(`${print.style.green(DONE[step.verdict])} ${step.what} ${printable(step.name)}\n`);
  }
  const { provisioning, devicesProvisioning } = made;
  if (flags.write !== undefined && provisioning !== undefined)
    await writeOutput(flags.write, sectionText(provisioning, devicesProvisioning), PRIVATE_MODE);
  const told = provisioning?.isNew === true ? { provisioning: { ...provisioning, deviceName: NAME } } : {};
  const toldOfDevices = devicesProvisioning?.isNew === true ? { devicesProvisioning } : {};
  print.result({ steps: steps.map((step) => shown(step, done.has(step))), ...told, ...toldOfDevices }, () =>
    closing(flags.write, made, print),
  );
}

interface Progress {
  readonly done: number;
  readonly due: number;
  readonly signal: AbortSignal;
}

async function carryOut(
  step: Step,
  work: () => Promise<void> | undefined,
  { done, due, signal }: Progress,
): Promise<void> {
  try {
    signal.throwIfAborted();
    await work();
  } catch (cause) {
    // A step that was under way may have been done, or not: the next plan tells.
    if (signal.aborted)
      throw interrupted(`interrupted at ${step.what} ${printable(step.name)}: ${done} of ${due} steps are done`, {
        nextStep: 'run the command again, it goes on there',
        cause,
      });
    if (!(cause instanceof AgentError) && !(cause instanceof CommandError)) throw cause;
    throw new CommandError(`${step.what} ${printable(step.name)}: ${cause.message}`, {
      nextStep: `${done} steps are done; run the command again, it goes on there`,
      cause,
    });
  }
}

async function isAgreed(edge: Edge, count: number): Promise<boolean> {
  return /^y/i.test((await edge.ask(`Carry out ${count} ${count === 1 ? 'step' : 'steps'}? [y/N] `)).trim());
}

function planText(steps: readonly Step[], print: Printer): string {
  const { green, yellow, dim } = print.style;
  const paint = { make: green, change: yellow, keep: dim };
  return print.table(
    steps.map(({ what, name, verdict, why }) => [paint[verdict](SIGNS[verdict]), what, printable(name), why ?? '']),
  );
}

function shown({ what, name, verdict, why }: Step, isDone: boolean): object {
  return {
    what,
    name,
    verdict,
    isDone,
    why,
  };
}

/** Shows key and secret of this run once; those of before can be written to a file only. */
function closing(
  file: string | undefined,
  { provisioning, devicesProvisioning }: Pick<Plan['made'], 'provisioning' | 'devicesProvisioning'>,
  print: Printer,
): string {
  if (file !== undefined && provisioning !== undefined)
    return `wrote ${print.style.bold(file)}: put it into the configuration of each gateway\n`;
  if (provisioning?.isNew === true)
    return `\nThis goes into the configuration of each gateway; the secret is shown once:\n\n${sectionText(provisioning, devicesProvisioning)}`;
  if (devicesProvisioning?.isNew === true)
    return `\nThis goes into the section provisioning of each gateway; the secret is shown once:\n\n${devicesText(devicesProvisioning)}`;
  return 'key and secret are as before; --write FILE writes them\n';
}

type KeyAndSecret = Pick<Provisioning, 'deviceKey' | 'deviceSecret'>;

function devicesText({ deviceKey, deviceSecret }: KeyAndSecret): string {
  return `\
  devices: # a profile of their own: they are no gateways
    key: ${JSON.stringify(deviceKey)}
    secret: ${JSON.stringify(deviceSecret)}
`;
}

export function sectionText({ deviceKey, deviceSecret }: KeyAndSecret, devices?: KeyAndSecret): string {
  return `\
provisioning:
  deviceKey: ${JSON.stringify(deviceKey)}
  deviceSecret: ${JSON.stringify(deviceSecret)}
  deviceName: ${JSON.stringify(NAME)}
${devices === undefined ? '' : devicesText(devices)}\
# The gateway dashboard shows what this sends; where there is a section status: already, the line belongs into it.
status:
  telemetryPeriod: 5m
`;
}
