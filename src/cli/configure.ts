/** Sends a configuration to the agent for a trial, prints its changes and refusals, and follows the trial to its end. */
import { formatDuration } from '../config/fields/quantity.ts';
import { MAX_REQUEST_LENGTH } from '../control-socket/control-protocol.ts';
import { systemClock } from '../host/clock.ts';
import { readUserFile } from '../host/whole-file.ts';
import { printable } from '../names/printable.ts';
import type { ConfigurationAnswer } from '../operations/configuration-operations.ts';
import type { CandidateFault } from '../remote-config/candidate.ts';
import type { ConfigurationsTold } from '../remote-config/told-configurations.ts';
import { type JsonObject, stringifyJson } from '../values/json.ts';
import { type AgentCalls, reachAgent } from './agent-calls.ts';
import type { ConfigureCall, TryCall } from './commands/configure.ts';
import { CommandError, EXIT, interrupted, usageError } from './exit-code.ts';
import { type Followed, followConfiguration } from './follow-configuration.ts';
import { withProgress } from './progress.ts';
import { counted } from './value-text.ts';
import { type Assigned, assignedValue, exactText, patchPath } from './wanted-configuration.ts';

/** Deadline of a request: a board with one slow core reads a large file for some seconds. */
const DEADLINE_MS = 60_000;
/** Characters of a request besides its file: names, signs, the deadline. */
const REQUEST_FRAME = 200;

export async function configure(call: ConfigureCall): Promise<void> {
  const { args, flags, agent } = call;
  const set = (flags.set ?? []).map((text) => assignedIn(text));
  const remove = (flags.remove ?? []).map((text) => pathIn(text));
  const isPatch = set.length + remove.length > 0;
  if (isPatch === (args.file !== ''))
    throw usageError(isPatch ? 'a file and --set or --remove do not go together' : 'nothing is to be changed', {
      nextStep: 'name a file, or --set PATH=VALUE and --remove PATH',
    });
  if (!isPatch) return tryFile(call, { name: args.file, bytes: await readFileOf(args.file) });
  const twice = set.find(({ path }, at) => set.slice(0, at).some((other) => other.path === path));
  if (twice !== undefined) throw usageError(`${twice.path} is set twice`);
  const { fileHash } = await (await agent()).ask('configurationStatus');
  const patch = {
    base: fileHash,
    set: Object.fromEntries(set.map(({ path, value }) => [path, value])),
    remove,
  };
  await tryConfiguration(call, { name: 'configuration', wanted: { patch } });
}

/** Tries a whole file. @throws CommandError for one that cannot be sent. */
export async function tryFile(
  call: TryCall,
  { name, bytes }: { readonly name: string; readonly bytes: Uint8Array },
): Promise<void> {
  const file = exactText(bytes);
  if (file === undefined) throw new CommandError(`${name} is no text in UTF-8`, { exitCode: EXIT.badConfig });
  if (stringifyJson(file).length > MAX_REQUEST_LENGTH - REQUEST_FRAME)
    throw new CommandError(`${name} is too large to be handed over whole`, {
      nextStep: 'send what differs, with --set and --remove',
    });
  await tryConfiguration(call, { name, wanted: { file } });
}

function assignedIn(text: string): Assigned {
  const assigned = assignedValue(text);
  if (assigned !== undefined) return assigned;
  throw usageError(`--set ${text}: this is no path with a value`, {
    nextStep:
      "write it as in the file: --set sensors.roof.period=30s, --set 'sensors.roof.keys.temperature={ deadband: 0.2 }'",
  });
}

function pathIn(text: string): string {
  const path = patchPath(text);
  if (path !== undefined) return path;
  throw usageError(`--remove ${text}: this is no path`, {
    nextStep: 'write one as sensors.hall or sensors.roof.period',
  });
}

async function readFileOf(path: string): Promise<Uint8Array> {
  const bytes = await readUserFile(path);
  if (bytes === undefined) throw new CommandError(`there is no file ${path}`, { exitCode: EXIT.unreadable });
  return bytes;
}

async function tryConfiguration(
  call: TryCall,
  { name, wanted }: { readonly name: string; readonly wanted: JsonObject },
): Promise<void> {
  const { agent, edge, flags, print } = call;
  const isCheck = flags.check === true;
  const answer = await (await agent()).ask(
    'configure',
    { ...wanted, ...(isCheck && { check: true }) },
    { deadlineMs: DEADLINE_MS },
  );
  if (flags.json !== true) print.write(answerText(name, answer, call));
  const { hash, state } = answer;
  const waits = state === 'received' && hash !== undefined && (flags.wait ?? edge.stdout.isTerminal);
  if (!waits) {
    print.result(answer, () => nextText(answer));
    if (state === 'refused') end(call, refusalOf(answer));
    return;
  }
  const followed = await follow(call, hash);
  print.result({ ...answer, end: followed }, () =>
    followed.outcome === 'kept' ? 'kept: it is the configuration now\n' : '',
  );
  if (followed.outcome !== 'kept') end(call, endOf(followed));
}

/** Ends the command as failed; programs have been told with the result. */
function end({ flags, print }: TryCall, error: CommandError): void {
  if (flags.json !== true) throw error;
  print.exitCode = error.exitCode;
}

/** Difference, what is locked, and faults, a line each. */
function answerText(name: string, { difference, locked, faults }: ConfigurationAnswer, { print }: TryCall): string {
  const { red, yellow } = print.style;
  return [
    ...difference.map((line) => `${printable(line)}\n`),
    ...locked.map((line) => `${yellow('locked')} ${printable(line)}\n`),
    ...faults.map((fault) => `${red('fault')}  ${printable(faultText(name, fault))}\n`),
  ].join('');
}

/** Writes a fault as `check-config` does, where it has a line. */
function faultText(name: string, { path, line, column, problem, expected, hint }: CandidateFault): string {
  const place = line === undefined ? '' : `${name}:${line}:${column ?? 1}: `;
  return `${place}${path === '' ? '' : `${path}: `}${problem}, expected ${expected}${hint === undefined ? '' : `; ${hint}`}`;
}

function nextText({ state, difference, needs }: ConfigurationAnswer): string {
  if (state === 'refused') return '';
  const how = needs === 'restart' ? 'a restart' : 'a reload';
  const nothing = difference.length === 0 ? 'nothing differs in what the file says; ' : '';
  if (state === 'checked') return `${nothing}good: it would be tried by ${how}; nothing is changed\n`;
  return `${nothing}handed over: it goes on trial by ${how}, for at most remoteConfiguration.trial; unless it proves itself, the previous file returns\n`;
}

function refusalOf({ faults, locked, reason }: ConfigurationAnswer): CommandError {
  if (faults.length > 0)
    return new CommandError(`refused: ${counted(faults.length, 'fault')}; nothing is changed`, {
      exitCode: EXIT.badConfig,
    });
  if (locked.length > 0)
    return new CommandError(
      `refused: ${counted(locked.length, 'change')} that ${locked.length === 1 ? 'is' : 'are'} locked; nothing is changed`,
      {
        nextStep: 'leave it out, or change the file on site (docs/remote-configuration.md)',
      },
    );
  return new CommandError(`refused: ${printable(reason ?? 'no reason given')}; nothing is changed`);
}

function endOf({ outcome, reason }: Followed): CommandError {
  const why = reason === undefined ? '' : `: ${printable(reason)}`;
  if (outcome === 'left')
    return interrupted('it is tried all the same, and ends by itself', {
      nextStep: 'see turnstone configuration history',
    });
  if (outcome === 'unknown')
    return new CommandError(`what becomes of it is not known${why}`, {
      exitCode: EXIT.outcomeUnknown,
      nextStep: 'see turnstone configuration history',
    });
  return outcome === 'returned'
    ? new CommandError(`returned${why}; the previous file is in place`)
    : new CommandError(`refused${why}; nothing is changed`);
}

async function follow({ agent, edge, flags, print }: TryCall, hash: string): Promise<Followed> {
  const first = await agent();
  const line = new AgentLine(first, () => reachAgent(flags, edge, noFiles));
  let isTold = false;
  try {
    return await withProgress(edge.stderr, 'configuration', (progress) => {
      progress.step('handed over');
      const onTrial = (secondsLeft: number): void => {
        const left = formatDuration(Math.max(0, Math.round(secondsLeft)) * 1_000);
        if (!isTold && flags.json !== true)
          print.write(`on trial for ${left}; unless it proves itself, the previous file returns\n`);
        isTold = true;
        progress.step(`on trial, ${left} left`);
      };
      const onSilence = (): void => progress.step('the agent starts again');
      const look = (): Promise<ConfigurationsTold | undefined> => line.status();
      return followConfiguration({ hash, look, onTrial, onSilence, clock: systemClock }, edge.signal);
    });
  } finally {
    await line.close();
  }
}

/** Connection to an agent that may restart: the first one, and after its end another. */
class AgentLine {
  readonly #first: AgentCalls;
  readonly #reach: () => Promise<AgentCalls>;
  #calls: AgentCalls | undefined;

  constructor(first: AgentCalls, reach: () => Promise<AgentCalls>) {
    this.#first = first;
    this.#reach = reach;
    this.#calls = first;
  }

  /** Resolves to undefined while no agent answers. */
  async status(): Promise<ConfigurationsTold | undefined> {
    try {
      this.#calls ??= await this.#reach();
      return await this.#calls.ask('configurationStatus');
    } catch {
      await this.close();
      return undefined;
    }
  }

  /** Leaves the first connection to whoever opened it. */
  async close(): Promise<void> {
    const calls = this.#calls;
    this.#calls = undefined;
    if (calls !== this.#first) await calls?.close();
  }
}

/** Keeps a look at a silent agent from asking systemd why. */
async function noFiles(): Promise<never> {
  throw new CommandError('', { exitCode: EXIT.notRunning });
}
