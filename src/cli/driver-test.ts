/**
 * Runs a driver's program by the rules of the agent, with recorded input in the place of its device, and compares what it prints with the lines
 * expected. The input comes slowly and its end later: a program that keeps its lines back is found by that.
 *
 *   input.txt ─► a named pipe ─► the program ─► lines ─► expected.jsonl
 */
import { constants } from 'node:fs';
import { type FileHandle, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { MEASUREMENT_UNITS } from '../config/fields/measurement-keys.ts';
import { sensorSchema } from '../config/schema/sensors.ts';
import { readYaml } from '../config/yaml/yaml-source.ts';
import { messageOf } from '../errors/agent-error.ts';
import { programMessage } from '../hardware/program-message.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { LastingProgram } from '../host/lasting-program.ts';
import { markOf } from '../host/program-family.ts';
import { runProgram } from '../host/run-program.ts';
import { printable } from '../names/printable.ts';
import type { ProcessConfig } from '../sensors/process/definition.ts';
import { openLineReader, reportedReadings } from '../sensors/process/program-lines.ts';
import type { TestDriverCall } from './commands/driver.ts';
import { EXPECTED_FILE, INPUT_FILE, SECTION_FILE } from './driver-new.ts';
import { EXIT, usageError } from './exit-code.ts';

const BETWEEN_LINES_MS = 50;
/** A program that has printed nothing so long after its last input keeps its lines back. */
const FLUSHES_WITHIN_MS = 1_500;
const ENDS_WITHIN_MS = 5_000;
const OPENS_WITHIN_MS = 10_000;
/** Clocks differ. */
const MAX_AHEAD_MS = 60_000;
const MAX_LINES = 10_000;
/** Units beside those of the known measurements. */
const MORE_UNITS = [
  '°F',
  'K',
  'Wh',
  'kVA',
  'kvar',
  'mA',
  'mV',
  'kV',
  'mm',
  'cm',
  'km',
  'm',
  'L',
  'm³',
  'L/h',
  'dBm',
  'dB',
  'ppm',
  'ppb',
  's',
  'min',
  'h',
];

interface Printed {
  readonly line: string;
  /** Before the input ended. */
  readonly isInTime: boolean;
}

export async function testDriver({ args, edge, print }: TestDriverCall): Promise<void> {
  const folder = resolve(args.folder);
  const config = await sectionIn(folder);
  const [input, expected] = await Promise.all([textOf(folder, INPUT_FILE), textOf(folder, EXPECTED_FILE)]);
  const { printed, problems } = await run(folder, config, input, edge.signal);
  const wanted = expected.split('\n').filter((line) => line.trim() !== '');
  const found = [...problems, ...(await judge(config, printed, wanted))];
  if (found.length > 0) print.exitCode = EXIT.failure;
  print.result({ lines: printed.length, problems: found }, () =>
    found.length === 0 ? `${printed.length} lines, all as expected.\n` : `${found.map(printable).join('\n')}\n`,
  );
}

async function sectionIn(folder: string): Promise<ProcessConfig> {
  const { tree, faults } = readYaml(await textOf(folder, SECTION_FILE));
  const [section] = (tree as { readonly sensors?: readonly unknown[] } | undefined)?.sensors ?? [];
  const parsed = sensorSchema.safeParse(section);
  if (faults.length > 0 || !parsed.success)
    throw usageError(`${SECTION_FILE} has no sensor that is right`, {
      nextStep: 'turnstone check-config says what is wrong',
    });
  if (parsed.data.kind !== 'process') throw usageError(`the sensor in ${SECTION_FILE} is not of kind process`);
  // The schema completes what the type calls derived.
  return parsed.data as unknown as ProcessConfig;
}

async function textOf(folder: string, file: string): Promise<string> {
  return await readFile(join(folder, file), 'utf8').catch(() => {
    throw usageError(`${join(folder, file)} cannot be read`, { nextStep: 'turnstone driver new NAME makes one' });
  });
}

/** The program's output, and what is wrong beside its lines. */
async function run(folder: string, config: ProcessConfig, input: string, signal: AbortSignal) {
  const program = basename(config.program);
  const own = await readdir(folder);
  if (!own.includes(program) && program !== 'node') throw usageError(`${folder} has no ${program}`);
  const place = await mkdtemp(join(tmpdir(), 'turnstone-driver-'));
  const device = join(place, 'device');
  await runProgram({ file: 'mkfifo', args: [device], deadlineMs: ENDS_WITHIN_MS }, systemClock, signal);
  const printed: Printed[] = [];
  const problems: string[] = [];
  let isFed = false;
  const life = new LastingProgram(
    {
      file: own.includes(program) ? join(folder, program) : process.execPath,
      args: config.arguments.map((one) => {
        if (!isAbsolute(one)) return one;
        return own.includes(basename(one)) ? join(folder, basename(one)) : device;
      }),
      environment: config.environment,
      bounds: {
        maxLineBytes: config.maxLineBytes,
        linesPerS: config.lineRatePerS,
        bytesPerS: config.byteRateBytesPerS,
        maxMemoryBytes: config.maxMemoryBytes,
      },
      mark: await markOf(0),
    },
    systemClock,
    {
      line: (line) => void (printed.length < MAX_LINES && printed.push({ line, isInTime: !isFed })),
      tooLong: () => void problems.push(`after line ${printed.length}: a line longer than maxLine, which is left out`),
      tooFast: () => void problems.push('it prints faster than lineRate or byteRate: it would be kept waiting'),
      words: () => {},
    },
  );
  try {
    const isOpen = await feed(device, input, life, signal, () => {
      isFed = true;
    });
    if (!isOpen)
      problems.push(`it does not open its device: no argument in ${SECTION_FILE} is an absolute path that it reads`);
    if (!(await endedWithin(systemClock, ENDS_WITHIN_MS, life.ended, signal)))
      await life.end('was ended after its input');
    else if (!/ended with 0$/.test(await life.ended)) problems.push(`it ${await life.ended}: ${life.lastWords}`);
    if (life.unfinished !== '')
      problems.push(`half line at the end, without a newline: ${life.unfinished.slice(0, 80)}`);
  } finally {
    await life.end('was ended after the test');
    await rm(place, { recursive: true });
  }
  return { printed, problems };
}

/** Gives the input on line by line; false when nobody opens the device. */
async function feed(
  device: string,
  input: string,
  life: LastingProgram,
  signal: AbortSignal,
  onEnd: () => void,
): Promise<boolean> {
  let pipe: FileHandle | undefined;
  let isOver = false;
  void life.ended.then(() => {
    isOver = true;
  });
  const untilMs = systemClock.monotonicMs() + OPENS_WITHIN_MS;
  while (pipe === undefined && !isOver && systemClock.monotonicMs() < untilMs && !signal.aborted) {
    // Without a reader it cannot be opened yet.
    pipe = await open(device, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => undefined);
    if (pipe === undefined) await systemClock.sleep(20, signal);
  }
  if (pipe === undefined) return false;
  try {
    for (const line of input.split(/(?<=\n)/)) {
      await pipe.write(line);
      await systemClock.sleep(BETWEEN_LINES_MS, signal);
    }
    await systemClock.sleep(FLUSHES_WITHIN_MS, signal);
  } catch {
    // It has closed its device: what it printed tells enough.
  } finally {
    onEnd();
    await pipe.close();
  }
  return true;
}

async function judge(config: ProcessConfig, printed: readonly Printed[], wanted: readonly string[]): Promise<string[]> {
  const read = await openLineReader(config);
  const problems: string[] = [];
  if (printed.length > 0 && printed.every(({ isInTime }) => !isInTime))
    problems.push('your output is buffered: no line came before the input ended; flush after each line');
  for (const [index, { line }] of printed.entries()) {
    const at = `line ${index + 1}`;
    problems.push(...lineProblems(line, read).map((problem) => `${at}: ${problem}`));
    const want = wanted[index];
    if (want === undefined) problems.push(`${at}: not expected: ${line}`);
    else if (!isSame(line, want)) problems.push(`${at}: ${line}`, `${' '.repeat(at.length)}  expected: ${want}`);
  }
  for (const [index, want] of wanted.entries())
    if (index >= printed.length) problems.push(`line ${index + 1}: missing; expected: ${want}`);
  return problems;
}

function lineProblems(line: string, read: Awaited<ReturnType<typeof openLineReader>>): string[] {
  const message = programMessage(line);
  try {
    if (message.kind === 'answer') return [];
    if (message.kind === 'report' && message.readings === undefined) return [];
    const outcomes = message.kind === 'report' ? reportedReadings(message.readings ?? {}) : (read(line) ?? []);
    return outcomes.flatMap((outcome) => {
      if ('fault' in outcome) return [messageOf(outcome.fault)];
      const { key, unit, takenAtMs } = outcome;
      return [
        ...(unit === undefined || isKnownUnit(unit) ? [] : [`unknown unit ${unit} of ${key}`]),
        ...(takenAtMs === undefined || takenAtMs <= systemClock.wallMs() + MAX_AHEAD_MS
          ? []
          : [`time in the future of ${key}`]),
      ];
    });
  } catch (error) {
    return [messageOf(error)];
  }
}

function isKnownUnit(unit: string): boolean {
  return MORE_UNITS.includes(unit) || Object.values(MEASUREMENT_UNITS).includes(unit);
}

function isSame(line: string, want: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(line), JSON.parse(want));
  } catch {
    return line.trimEnd() === want.trimEnd();
  }
}
