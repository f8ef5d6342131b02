/** Programs that are drivers for as long as they live, as they really run. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { COMMON, opensWith } from '../../../test/support/actuator-driver.ts';
import { until as untilTrue } from '../../../test/support/board-bench.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { DriverDeps } from '../../actuators/kind/definition.ts';
import { reopeningDriver } from '../../actuators/open-driver.ts';
import type { ProcessConfig as OutputConfig } from '../../actuators/process/definition.ts';
import { opener } from '../../actuators/process/driver.ts';
import type { AgentError } from '../../errors/agent-error.ts';
import type { Ports } from '../../hardware/ports.ts';
import { Programs } from '../../hardware/programs.ts';
import { type Clock, systemClock } from '../../host/clock.ts';
import { systemFiles } from '../../host/files.ts';
import type { Log } from '../../host/log.ts';
import { runProgram } from '../../host/run-program.ts';
import type { Reading, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { open as openProcess } from './driver.ts';

const until = (condition: () => boolean | Promise<boolean>): Promise<void> =>
  untilTrue('what is waited for', condition);
const never = new AbortController().signal;
const open = opensWith(opener);
let folder: string;
let programs: Programs;
let logged: { readonly message: string; readonly fields: object }[];
const keep = (fields: object, message: string): void => void logged.push({ fields, message });
const log: Log = { debug: () => {}, info: keep, warn: keep, error: keep };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-process-'));
  programs = new Programs(systemClock);
  logged = [];
});
afterEach(async () => {
  await programs.close();
  await rm(folder, { recursive: true });
});

type Options = Readonly<Record<string, unknown>>;

async function sensorOf(script: string, options: Options = {}): Promise<Sensor & { readonly got: Reading[] }> {
  const config = sensorConfig({
    name: 'tool',
    kind: 'process',
    program: '/bin/sh',
    arguments: ['-c', script],
    ...options,
  });
  const ports = { programs } as Partial<SensorDeps['ports']> as SensorDeps['ports'];
  const deps = { ...OF_THIS_MACHINE, ports, clock: systemClock, files: systemFiles, log, stateFolder: folder };
  const sensor = await openProcess(config, deps, never);
  const got: Reading[] = [];
  sensor.subscribe?.((readings) => got.push(...readings));
  return Object.assign(sensor, { got });
}

function outputConfig(script: string, options: Partial<OutputConfig> = {}) {
  return {
    ...COMMON,
    name: 'pump',
    kind: 'process' as const,
    program: '/bin/sh',
    arguments: ['-c', script],
    environment: {},
    valueType: 'boolean' as const,
    timeoutMs: 5_000,
    readBack: false,
    ...options,
  };
}

const outputOf = (script: string, options: Partial<OutputConfig> = {}) =>
  open(outputConfig(script, options), { programs });

function outputDeps(): DriverDeps {
  return { ports: { programs } as Partial<Ports> as Ports, clock: systemClock, runProgram, log };
}

async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  return stat !== '' && !/\) [ZX] /.test(stat);
}

const pidIn = async (file: string): Promise<number> => {
  let pid = 0;
  await until(async () => {
    pid = Number(await readFile(join(folder, file), 'utf8').catch(() => '0'));
    return pid > 0;
  });
  return pid;
};

describe('what a program prints', () => {
  it('is readings by the protocol, with units and times, and plainly', async () => {
    const sensor = await sensorOf(`
      echo '{"ready": true}'
      echo '{"readings": {"temperature": 21.5, "power": {"value": 3, "unit": "kW", "at": "2026-05-01T10:00:00Z"}}}'
      echo '{"humidity": 40, "id": 7, "state": "dry"}'
      echo '{"temperature": {"value": 70, "unit": "°F"}}'
      sleep 60`);
    await until(() => sensor.got.length >= 6);
    expect(sensor.got).toEqual([
      { key: 'temperature', value: 21.5 },
      { key: 'power', value: 3, unit: 'kW', takenAtMs: Date.UTC(2026, 4, 1, 10) },
      { key: 'humidity', value: 40 },
      { key: 'id', value: 7 },
      { key: 'state', value: 'dry' },
      { key: 'temperature', value: 70, unit: '°F' },
    ]);
  });

  it('has no value where it prints NaN or Infinity, and the others are read', async () => {
    const lines = ['{"readings": {"t": {"value": NaN}, "h": {"value": 40}, "p": -Infinity}}', '{"t": NaN, "h": 41}'];
    await writeFile(join(folder, 'lines'), `${lines.join('\n')}\n`);
    const sensor = await sensorOf(`cat ${folder}/lines; sleep 60`);
    await until(() => sensor.got.length >= 2);
    expect(sensor.got).toEqual([
      { key: 'h', value: 40 },
      { key: 'h', value: 41 },
    ]);
  });

  it('is no reading where readings are not alone in their line', async () => {
    const sensor = await sensorOf(`echo '{"readings": {"t": 1}, "seq": 2}'; echo '{"t": 2}'; sleep 60`);
    await until(() => sensor.got.length >= 1);
    expect(sensor.got).toEqual([{ key: 't', value: 2 }]);
  });

  it('is read by paths, of the lines that are meant', async () => {
    const lines = [
      '{"model": "A", "id": 1, "t": 20}',
      '{"model": "B", "id": 2, "inner": {"t": 30}}',
      '{"model": "B", "id": 2, "other": 1}',
    ];
    await writeFile(join(folder, 'lines'), `${lines.join('\n')}\n`);
    const sensor = await sensorOf(`cat ${folder}/lines; sleep 60`, {
      where: { model: 'B', id: '2' },
      paths: { temperature: 'inner.t' },
    });
    await until(() => sensor.got.length >= 1);
    expect(sensor.got).toEqual([{ key: 'temperature', value: 30 }]);
  });

  it('is read by a pattern', async () => {
    const options = { format: 'regex', pattern: '^T=(?<t>\\S+)$' };
    const sensor = await sensorOf(`echo heading; printf 'T=21.5\\r\\n'; sleep 60`, options);
    await until(() => sensor.got.length >= 1);
    expect(sensor.got).toEqual([{ key: 't', value: 21.5, text: '21.5' }]);
  });

  it('is a fault in its own words, until it prints readings', async () => {
    const sensor = await sensorOf(`
      echo '{"fault": "no signal"}'
      while [ ! -e ${folder}/go ]; do sleep 0.05; done
      echo '{"level": 1}'
      sleep 60`);
    await until(() =>
      sensor.read(never).then(
        () => false,
        () => true,
      ),
    );
    await expect(sensor.read(never)).rejects.toMatchObject({ code: 'sensors/reported', recovery: 'retry' });
    await expect(sensor.read(never)).rejects.toThrow('/bin/sh says: no signal');
    await writeFile(join(folder, 'go'), '');
    await until(() => sensor.got.length >= 1);
    expect(await sensor.read(never)).toEqual([{ key: 'level', value: 1 }]);
  });

  it('is a fault with its reason where no line can be read, or none is meant', async () => {
    const options = { period: '100ms', deadline: '100ms', maxSilence: '200ms', startTimeout: '1s' };
    const fault = async (script: string, more: Options = {}): Promise<string> => {
      const sensor = await sensorOf(`while :; do echo '${script}'; sleep 0.05; done`, Object.assign({}, options, more));
      let told = '';
      await until(async () => {
        told = await sensor.read(never).then(
          () => '',
          (error: Error) => error.message,
        );
        return told !== '';
      });
      return told;
    };
    expect(await fault('{"readings": {"t": {"value": 1, "at": "2026-05-01T10:00:00"}}}')).toMatch(
      /^\d+ lines? came on \/bin\/sh, and none could be read: the time of t is neither ISO 8601 with a zone nor epoch ms: check what it prints, and format$/,
    );
    expect(await fault('{"model": "B", "t": 1}', { where: { model: 'A' } })).toMatch(
      /^\d+ lines? came on \/bin\/sh, whole, and none has a value that is asked for$/,
    );
  });

  it('is not read where a line is longer than maxLine, or has no end', async () => {
    const sensor = await sensorOf(
      `head -c 5000 /dev/zero | tr '\\0' x; echo; echo '{"a": 1}'; head -c 5000 /dev/zero | tr '\\0' x; sleep 60`,
      { maxLine: '1kB' },
    );
    await until(() => sensor.got.length >= 1);
    await until(() => logged.filter(({ message }) => message.includes('longer than maxLine')).length >= 2);
    expect(sensor.got).toEqual([{ key: 'a', value: 1 }]);
  });

  it('of its standard error is told in the log', async () => {
    await sensorOf('echo >&2; sleep 0.5; printf "\\n\\n" >&2; sleep 0.5; echo "tuner: found R820T" >&2; sleep 60');
    await until(() => logged.some(({ message }) => message === 'a program that is a driver says'));
    expect(logged[0]?.fields).toEqual({ program: '/bin/sh', said: 'tuner: found R820T' });
  });
});

describe('a program', () => {
  it('sees the variables it was given, and none of ours', async () => {
    process.env.TURNSTONE_TEST_SECRET = 'do-not-pass';
    onTestFinished(() => void delete process.env.TURNSTONE_TEST_SECRET);
    const sensor = await sensorOf(
      'echo "{\\"mode\\": \\"$MODE\\", \\"secret\\": \\"$TURNSTONE_TEST_SECRET\\"}"; sleep 60',
      {
        environment: { MODE: 'fast' },
      },
    );
    await until(() => sensor.got.length >= 2);
    expect(sensor.got).toEqual([
      { key: 'mode', value: 'fast' },
      { key: 'secret', value: '' },
    ]);
  });

  it('that cannot be started is a fault that says so', async () => {
    const sensor = await sensorOf('', { program: '/nonexistent', startTimeout: '1s' });
    const fault = (): Promise<string> =>
      sensor.read(never).then(
        () => '',
        (error: Error) => error.message,
      );
    await until(async () => (await fault()) !== '');
    expect(await fault()).toBe('/nonexistent cannot be started: ENOENT; it is started again');
  });

  it('that is killed is started again, and the sensor that is opened anew does not hurry it', async () => {
    const script = `echo x >> ${folder}/starts; echo "{\\"pid\\": $$}"; sleep 0.1; echo no tuner >&2; exit 3`;
    const first = await sensorOf(script);
    await until(() => logged.some(({ message }) => message.includes('has ended')));
    await first.close();
    const again = await sensorOf(script);
    // Its pace is kept: a first start is at once, a second one at the earliest 200 ms later.
    expect(await readFile(join(folder, 'starts'), 'utf8')).toBe('x\n');
    await until(() => again.got.length >= 1);
    expect(logged.find(({ message }) => message.includes('has ended'))?.fields).toMatchObject({
      how: 'ended with 3',
      said: 'no tuner',
    });
  });

  it('runs once for all who name it, and ends with the last', async () => {
    const script = `echo $$ >> ${folder}/pids; while :; do echo '{"a": 1}'; sleep 0.1; done`;
    const [one, two] = [await sensorOf(script), await sensorOf(script)];
    await until(() => one.got.length > 0 && two.got.length > 0);
    const pid = await pidIn('pids');
    await one.close();
    expect(await isAlive(pid)).toBe(true);
    await two.close();
    expect(await isAlive(pid)).toBe(false);
  });

  it('ends with its children, those that ignore SIGTERM and left its group too', async () => {
    await sensorOf(`
      trap '' TERM
      echo $$ > ${folder}/parent
      sh -c 'echo $$ > ${folder}/child; exec sleep 600' &
      setsid sh -c 'sh -c "echo \\$\\$ > ${folder}/daemon; exec sleep 600" &'
      wait`);
    const pids = await Promise.all(['parent', 'child', 'daemon'].map(pidIn));
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true, true]);
    await programs.close();
    expect(await Promise.all(pids.map(isAlive))).toEqual([false, false, false]);
  });

  it('that a killed agent left behind is ended before the next one starts', async () => {
    const script = `
      import { Programs } from '${join(import.meta.dirname, '../../hardware/programs.ts')}';
      import { systemClock } from '${join(import.meta.dirname, '../../host/clock.ts')}';
      const log = { debug() {}, info() {}, warn() {}, error() {} };
      const shell = "trap '' TERM PIPE; echo $$ > ${folder}/left; exec sleep 600";
      new Programs(systemClock).open({ program: '/bin/sh', arguments: ['-c', shell], environment: {} }, log);
      setInterval(() => {}, 1e6);`;
    const agent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    onTestFinished(() => void agent.kill('SIGKILL'));
    const left = await pidIn('left');
    // Another agent that runs loses nothing.
    const other = await sensorOf(`echo '{"a": 1}'; sleep 600`);
    await until(() => other.got.length > 0);
    expect(await isAlive(left)).toBe(true);
    agent.kill('SIGKILL');
    await new Promise((resolve) => agent.once('exit', resolve));
    const next = new Programs(systemClock);
    onTestFinished(() => next.close());
    next.open({ program: '/bin/sh', arguments: ['-c', 'sleep 600'], environment: {} }, log);
    await until(async () => !(await isAlive(left)));
    await until(() => logged.some(({ message }) => message.includes('a killed agent had left running')));
  });

  it('is ended and started again when it is silent for too long, or starts for too long', async () => {
    const options = { period: '100ms', deadline: '100ms', maxSilence: '200ms', startTimeout: '1s' };
    const sensor = await sensorOf(`echo $$ > ${folder}/pid; echo '{"a": 1}'; exec sleep 600`, options);
    await until(() => sensor.got.length >= 1);
    const pid = await pidIn('pid');
    await until(async () => {
      await sensor.read(never).catch(() => {});
      return !(await isAlive(pid));
    });
    expect(sensor.got.length).toBe(1);
  });
});

describe('an output of a program', () => {
  const answers = `while read -r line; do
    echo "$line" >> ${'$'}OUT
    case "$line" in
      *true*) echo '{"id": '$(echo "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')', "ok": true, "value": true}';;
      *) echo '{"id": '$(echo "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')', "error": "the valve is stuck"}';;
    esac
  done`;

  it('is told by its name, answers, and is read back by what it tells', async () => {
    const driver = await outputOf(answers, { environment: { OUT: join(folder, 'out') }, readBack: true });
    await driver.write(true, never);
    expect(await readFile(join(folder, 'out'), 'utf8')).toBe('{"id":1,"set":{"pump":true}}\n');
    expect(await driver.read?.(never)).toBe(true);
    await expect(driver.write(false, never)).rejects.toMatchObject({
      code: 'hardware/program-refuses',
      message: '/bin/sh: the valve is stuck',
    });
  });

  it('tells by itself what was changed at the device', async () => {
    const driver = await outputOf(`echo '{"state": {"pump": true, "fan": 3}}'; exec cat > /dev/null`, {
      readBack: true,
    });
    await until(async () => (await driver.read?.(never).catch(() => undefined)) === true);
    const fan = await outputOf(`echo '{"state": {"pump": true, "fan": 3}}'; exec cat > /dev/null`, {
      readBack: true,
      member: 'fan',
      valueType: 'number',
    });
    expect(await fan.read?.(never)).toBe(3);
  });

  it('is unknown without an answer in time, and refused when its program ends', async () => {
    const mute = await outputOf('exec cat > /dev/null', { timeoutMs: 300 });
    await expect(mute.write(true, never)).rejects.toMatchObject({
      code: 'hardware/outcome-unknown',
      recovery: 'retry',
    });
    const dying = await outputOf('read -r line; exit 4');
    await expect(dying.write(true, never)).rejects.toMatchObject({
      code: 'hardware/program-away',
      message: '/bin/sh ended with 4',
    });
  });

  it('that answers late is not ended for it, and its answer tells the state', async () => {
    const script = `echo start >> ${folder}/starts
      n=0
      while read -r line; do
        n=$((n + 1))
        [ $n -lt 5 ] && continue
        while [ ! -e ${folder}/go ]; do sleep 0.05; done
        echo '{"id": '$n', "ok": true, "value": true}'
      done`;
    const driver = reopeningDriver(outputConfig(script, { timeoutMs: 100, readBack: true }), outputDeps());
    onTestFinished(() => driver.close());
    const told: unknown[] = [];
    driver.onLateAnswer?.((value) => told.push(value));
    for (let at = 0; at < 5; at += 1)
      await expect(driver.write(true, never)).rejects.toMatchObject({ code: 'hardware/outcome-unknown' });
    await writeFile(join(folder, 'go'), '');
    await until(() => told.length > 0);
    expect(told).toEqual([true]);
    expect(await driver.read?.(never)).toBe(true);
    expect(await readFile(join(folder, 'starts'), 'utf8')).toBe('start\n');
  });

  it('that refuses late is told of with its words, and by no state', async () => {
    const script = `read -r line
      while [ ! -e ${folder}/go ]; do sleep 0.05; done
      echo '{"id": 1, "error": "the valve is stuck"}'
      sleep 600`;
    const driver = await outputOf(script, { timeoutMs: 100 });
    const told: unknown[] = [];
    driver.onLateAnswer?.((...answer) => told.push(answer));
    await expect(driver.write(true, never)).rejects.toMatchObject({ code: 'hardware/outcome-unknown' });
    await writeFile(join(folder, 'go'), '');
    await until(() => told.length > 0);
    expect(told).toEqual([[undefined, '/bin/sh: the valve is stuck']]);
  });

  it('that answers no command and prints nothing for a minute is started again', async () => {
    let laterMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs };
    programs = new Programs(clock);
    const script = `echo start >> ${folder}/starts; while read -r line; do echo "$line" >> ${folder}/out; done`;
    const driver = reopeningDriver(outputConfig(script, { timeoutMs: 50 }), outputDeps());
    onTestFinished(() => driver.close());
    const write = (): Promise<unknown> => driver.write(true, never).catch((error: AgentError) => error.code);
    // Its start takes longer than a command may.
    await until(async () => (await write()) === 'hardware/outcome-unknown');
    expect(await write()).toBe('hardware/outcome-unknown');
    laterMs = 59_000;
    expect(await write()).toBe('hardware/outcome-unknown');
    expect(logged).toEqual([]);
    laterMs = 60_000;
    expect(await write()).toBe('hardware/outcome-unknown');
    await until(() => logged.length > 0);
    expect(logged).toMatchObject([{ fields: { how: 'was ended: it answers no command, and prints nothing' } }]);
    expect(await write()).toBe('hardware/program-away');
    laterMs = 70_000;
    await until(async () => {
      await write();
      return (await readFile(join(folder, 'starts'), 'utf8')) === 'start\nstart\n';
    });
  });

  it('that prints lines between its commands is not ended, however long it answers none', async () => {
    let laterMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + laterMs };
    programs = new Programs(clock);
    const script = `echo '{"a": 0}'; while read -r line; do echo '{"a": 1}'; done`;
    const [sensor, driver] = [await sensorOf(script), await outputOf(script, { timeoutMs: 50 })];
    await until(() => sensor.got.length === 1);
    for (let at = 1; at < 10; at += 1) {
      await expect(driver.write(true, never)).rejects.toMatchObject({ code: 'hardware/outcome-unknown' });
      await until(() => sensor.got.length > at);
      laterMs += 100_000;
    }
    expect(logged).toEqual([]);
  });

  it('that reads nothing of what it is told is started again', async () => {
    const driver = await outputOf(`echo start >> ${folder}/starts; sleep 600`, { timeoutMs: 10, valueType: 'string' });
    await until(async () => {
      await driver.write('x'.repeat(50_000), never).catch(() => {});
      return (await readFile(join(folder, 'starts'), 'utf8').catch(() => '')).split('\n').length > 2;
    });
  });

  it('shares the program of a sensor', async () => {
    const script = `echo start >> ${folder}/starts; echo '{"a": 1}'; read -r line; echo '{"id": 1, "ok": true}'; echo '{"a": 2}'; sleep 60`;
    const sensor = await sensorOf(script);
    const driver = await outputOf(script);
    await driver.write(true, never);
    await until(() => sensor.got.length >= 2);
    expect(await readFile(join(folder, 'starts'), 'utf8')).toBe('start\n');
  });
});
