/**
 * A program that is a driver for as long as it lives. Each whole line that it prints is a set of readings, by the protocol of program-message.ts or as a
 * text of the configured format. Lines that give nothing are counted and passed over. Started again when it is silent for too long.
 */
import { messageOf } from '../../errors/agent-error.ts';
import type { ProgramReport } from '../../hardware/program-message.ts';
import { Listeners } from '../../values/listeners.ts';
import { LineTrouble } from '../families/lines/line-trouble.ts';
import { sorted } from '../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { ProcessConfig } from './definition.ts';
import { type LineReader, openLineReader, reportedReadings } from './program-lines.ts';

const MAX_SHOWN_FAULT_LENGTH = 200;

export async function open(
  config: ProcessConfig,
  { ports, clock, log }: SensorDeps,
  _signal: AbortSignal,
): Promise<Sensor> {
  const { name, program, startTimeoutMs, periodMs, deadlineMs } = config;
  const maxSilenceMs = config.maxSilenceMs ?? periodMs + deadlineMs;
  const readLine: LineReader = await openLineReader(config);
  const readings = new Listeners<[readonly Reading[]]>();
  const trouble = new LineTrouble(clock, { advice: 'check what it prints, and format' });
  let last: readonly Reading[] = [];
  let lastAtMs: number | undefined;
  let fault: string | undefined;
  let refused: readonly Refusal[] = [];
  const take = (line: string, give: () => ReturnType<LineReader>): void => {
    trouble.hear(Buffer.from(line));
    try {
      const outcomes = give();
      if (outcomes === undefined) {
        trouble.count('no-key', '');
        return;
      }
      const given = sorted(outcomes);
      refused = given.refused;
      last = given.readings;
    } catch (error) {
      const problem = messageOf(error);
      log.debug(
        { sensor: name, count: trouble.count('unreadable', problem), problem },
        'a line that could not be read',
      );
      return;
    }
    fault = undefined;
    trouble.forget();
    lastAtMs = clock.monotonicMs();
    readings.tell(last);
  };
  const report = ({ fault: told, readings: values, line }: ProgramReport): void => {
    if (values !== undefined) take(line, () => reportedReadings(values));
    if (told !== undefined) fault = told === null ? undefined : told.slice(0, MAX_SHOWN_FAULT_LENGTH);
  };
  const share = ports.programs.open(config, log, {
    maxLineBytes: config.maxLineBytes,
    linesPerS: config.lineRatePerS,
    bytesPerS: config.byteRateBytesPerS,
    maxMemoryBytes: config.maxMemoryBytes,
  });
  const openedAtMs = clock.monotonicMs();
  const stop = share.onMessage((message) => {
    if (message.kind === 'report') report(message);
    else take(message.line, () => readLine(message.line));
  });
  const read = async (): Promise<readonly Reading[]> => {
    const { outage, startedAtMs, spokeAtMs } = share;
    if (startedAtMs === undefined) {
      if (outage === undefined) return last;
      throw sensorFault('program-away', outage);
    }
    if (fault !== undefined) throw sensorFault('reported', `${program} says: ${fault}`);
    const nowMs = clock.monotonicMs();
    // Its start is no silence yet.
    const sinceMs = Math.max(startedAtMs, lastAtMs ?? 0, openedAtMs);
    const mayTakeMs = (spokeAtMs === undefined ? startTimeoutMs : 0) + maxSilenceMs;
    if (maxSilenceMs === 0 || nowMs - sinceMs <= mayTakeMs) return last;
    const heardAtMs = Math.max(startedAtMs, spokeAtMs ?? 0);
    const isMute = spokeAtMs === undefined;
    if (nowMs - heardAtMs > mayTakeMs) {
      const forS = Math.round((nowMs - heardAtMs) / 1_000);
      share.restart(`it ${isMute ? 'printed no whole line' : 'said nothing'} for ${forS} s`);
    }
    throw sensorFault(
      'silent',
      isMute ? `${program} runs and has printed no whole line` : trouble.words(program, 'lines', periodMs),
    );
  };
  return {
    name,
    speaksByItself: true,
    read,
    subscribe: readings.add,
    refused: () => refused,
    close: async () => {
      stop();
      await share.close();
    },
  };
}
