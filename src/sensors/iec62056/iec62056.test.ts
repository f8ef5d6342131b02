/** Readouts that meters gave by IEC 62056-21: their values, what is wrong with others, and meters of each mode on a pty and a device server. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readJsonLines, readNamedLines } from '../../../test/support/json-lines.ts';
import { openPeerBench, type Peer, type PeerBench } from '../../../test/support/modbus-peer.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { Sensor } from '../kind/sensor.ts';
import { iec62056 } from './definition.ts';
import { open as openMeter } from './driver.ts';
import { identificationIn, readoutIn } from './frames.ts';
import { identityOf, outcomesOf, setsIn } from './values.ts';

interface Telegram {
  readonly country: string;
  readonly maker: string;
  readonly meter: string;
  readonly mode: 'A' | 'B' | 'C' | 'D';
  readonly telegram: string;
}

const { signal } = new AbortController();
const FIXTURES = join(import.meta.dirname, '../../../test/fixtures/meters/iec62056');
const telegrams = await readJsonLines<Telegram>(join(FIXTURES, 'telegrams.jsonl'));
const values = await readNamedLines<Readonly<Record<string, number | string>>>(join(FIXTURES, 'values.jsonl'));
const nameOf = ({ country, maker, meter }: Telegram): string => `${country} ${maker} ${meter}`;
const names = telegrams.map(nameOf);
const DAMAGED = 'DE Itron ACE3000 type 260, damaged on its line';
const whole = names.filter((name) => name !== DAMAGED);

/** Identification and block of a fixture. */
function partsOf(name: string) {
  const telegram = Buffer.from(telegrams.find((one) => nameOf(one) === name)?.telegram ?? '', 'hex');
  const identification = identificationIn(telegram);
  if (identification === undefined) throw new Error(`no identification in ${name}`);
  return {
    identification: identification.value,
    first: telegram.subarray(0, identification.used),
    second: telegram.subarray(identification.used),
  };
}

function valuesIn(name: string) {
  const { identification, second } = partsOf(name);
  const block = readoutIn(second)?.value;
  expect(block).toMatchObject({ isGood: true, hasMore: false });
  const sets = setsIn(block?.text ?? '');
  const told = outcomesOf(sets, identification.maker).flatMap((one) => ('fault' in one ? [] : [one]));
  return Object.fromEntries([...identityOf(identification, sets), ...told].map(({ key, value }) => [key, value]));
}

describe('a readout', () => {
  it.each(whole)('of %s has its values', (name) => {
    expect(valuesIn(name)).toEqual(values[name]);
  });

  it('that was damaged on its line has a wrong check sum', () => {
    expect(readoutIn(partsOf(DAMAGED).second)?.value.isGood).toBe(false);
  });

  it('with one bit turned has a wrong check sum, or is no readout', () => {
    const { second } = partsOf('AT Iskraemeco MT174');
    for (let bit = 8; bit < 8 * second.length; bit += 1) {
      if (bit % 8 === 7) continue;
      const turned = Buffer.from(second);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(readoutIn(turned)?.value.isGood ?? false).toBe(false);
    }
  });

  it.each([
    ['/LGZ4ZMF100AC.M26', 'C', 4800],
    ['/LGZ5\\2ZMD3104107.B40', 'C', 9600],
    ['/ISk5MT174-0001', 'C', 9600],
    ['/LUGCUH50', 'B', 2400],
    ['/XXXFmeter', 'B', 19200],
    ['/XXX6meter', 'C', 19200],
    ['/XXX*meter', 'A', 300],
  ])('of the meter %s is one of mode %s with %i baud', (line, mode, baudRate) => {
    expect(identificationIn(Buffer.from(`/?!\r\n\x7f${line}\r\n`))?.value).toMatchObject({ mode, baudRate });
  });
});

describe('a value', () => {
  const read = (text: string, codes = {}, maker = 'TST') =>
    Object.fromEntries(
      outcomesOf(setsIn(text), maker, codes).map((one) => [one.key, 'fault' in one ? one.fault.code : one.value]),
    );

  it.each([
    ['16.7.0(-000.82*kW)', { powerTotal: -820 }],
    ['16.7.0( 000.03*kW)', { powerTotal: 30 }],
    ['16.7.0(+1*MW)', { powerTotal: 1_000_000 }],
    ['1-0:16.7.0*255(-000458.90*W)', { powerTotal: -458.9 }],
    ['1.8.0(0000123456*Wh)', { energyImport: 123.456 }],
    ['1.8.0(0012345678901234567890*kWh)', { energyImport: 12_345_678_901_234_567_000 }],
    ['1-0:1.8.0*255(000001.2963)', { energyImport: 1.2963 }],
    ['6.8(0036.000*GJ)', { heatEnergy: 10_000 }],
    ['6.8.0(0000000.3*kvarh)', {}],
    ['32.7(241*V)', { voltageL1: 241 }],
    ['1.7.0(001.2)', { powerImport: 'sensors/bad-reading' }],
    ['1.8.0(12*m3)', { energyImport: 'sensors/bad-reading' }],
    ['1.8.0()', { energyImport: 'sensors/no-value' }],
    ['1.8.0(------*kWh)', { energyImport: 'sensors/no-value' }],
    ['1.8.0*01(5*kWh)\r\n1.8.0&02(6*kWh)', {}],
    ['1.8.0*01(5*kWh)\r\n1.8.0(7*kWh)\r\n1.8.0(8*kWh)', { energyImport: 7 }],
    ['7-0:1.8.0(5*kWh)', {}],
  ])('%s is %j', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it('of an earlier day, a time and a code of its own are read where they are named', () => {
    const text = '1.6.0(10.102*kW)(2104070015)\r\n1.6.0*01(06.130)(2101281415)\r\nC.7.0(0008)\r\n';
    expect(
      read(text, {
        peak: '1.6.0',
        peakAt: { code: '1.6.0', place: 2, type: 'text' },
        lastPeak: '1.6.0*01',
        outages: 'C.7.0',
        none: '1.6.0*02',
        noTime: { code: 'C.7.0', place: 2, type: 'text' },
      }),
    ).toEqual({
      peak: 10.102,
      peakAt: '2104070015',
      lastPeak: 6.13,
      outages: 8,
      none: 'sensors/no-value',
      noTime: 'sensors/no-value',
    });
  });

  it('of a signed power has its key by the maker', () => {
    expect(read('1-0:1.7.0*255(-000116.77*W)', {}, 'ESY')).toEqual({ powerTotal: -116.77 });
    expect(read('1-0:1.7.0*255(000116.77*W)')).toEqual({ powerImport: 116.77 });
  });
});

describe('a meter', () => {
  let bench: PeerBench;
  let path = '';
  let sensor: Sensor | undefined;
  beforeEach(async () => {
    bench = await openPeerBench();
  });
  afterEach(async () => {
    await sensor?.close();
    await bench.close();
  });

  const run = promisify(execFile);
  const speedOfLine = async (): Promise<number> => Number((await run('stty', ['-F', path, 'speed'])).stdout);
  /** The speed of the line, once it has changed where it shall. */
  const speedAfter = async (isFaster: boolean): Promise<number> => {
    if (isFaster) await expect.poll(speedOfLine).not.toBe(300);
    return await speedOfLine();
  };
  const open = async (peer: Peer, options: Readonly<Record<string, unknown>> = {}): Promise<Sensor> => {
    path = await bench.pty(peer);
    const config = sensorConfig({ name: 'grid', kind: 'iec62056', port: path, responseTimeout: '300ms', ...options });
    sensor = await openMeter(config, sensorDeps(bench), signal);
    return sensor;
  };
  const valuesOf = async (meter: Sensor) =>
    Object.fromEntries((await meter.read(signal)).map(({ key, value }) => [key, value]));
  /** Answers what was asked by the first entry whose request ends it; tells with each the speed of the line. */
  const answering = (answers: Readonly<Record<string, Uint8Array | string>>, speeds: number[] = []): Peer => {
    let asked = '';
    return (bytes, send) => {
      asked += bytes.toString('latin1');
      const request = Object.keys(answers).find((one) => asked.endsWith(one));
      if (request === undefined) return;
      asked = '';
      const given = answers[request] ?? '';
      const answer = typeof given === 'string' ? Buffer.from(given, 'latin1') : given;
      const isFaster = request.startsWith('\x060') && request[2] !== '0';
      void speedAfter(isFaster).then((speed) => {
        speeds.push(speed);
        send(answer);
      });
    };
  };
  const withSum = (content: string): string =>
    content + String.fromCharCode([...Buffer.from(content)].reduce((sum, byte) => sum ^ byte, 0));

  it.each([
    ['AT Iskraemeco MT174', '\x06050\r\n', {}, 9600],
    ['CH Landis+Gyr E350', '\x06040\r\n', {}, 4800],
    ['CH Landis+Gyr E350', '\x06030\r\n', { maxBaudRate: 2400 }, 2400],
    ['DE Landis+Gyr E650', '\x06050\r\n', { mode: 'C' }, 9600],
  ])('of mode C, %s, is acknowledged with %j and read at the new speed', async (name, acknowledged, options, speed) => {
    const { first, second } = partsOf(name);
    const speeds: number[] = [];
    const meter = await open(answering({ '/?!\r\n': first, [acknowledged]: second }, speeds), {
      ...options,
      responseTimeout: '1s',
    });
    expect(await valuesOf(meter)).toEqual(values[name]);
    expect(speeds).toEqual([300, speed]);
    expect(await speedOfLine()).toBe(300);
    expect(await valuesOf(meter)).not.toHaveProperty('maker');
  });

  it('of mode B, a battery meter, is woken and read at the speed that it goes to by itself', async () => {
    const name = 'NL Landis+Gyr Ultraheat UH50';
    const { first, second } = partsOf(name);
    let asked = '';
    const meter = await open(
      (bytes, send) => {
        asked += bytes.toString('latin1');
        if (!asked.endsWith('/?!\r\n')) return;
        send(first);
        void speedAfter(true).then((speed) => send(speed === 2400 ? second : Buffer.from('wrong')));
      },
      { wakeUpZeros: 10, wakeUpPause: '10ms', period: '1h', responseTimeout: '1s' },
    );
    expect(await valuesOf(meter)).toEqual(values[name]);
    expect(asked).toBe(`${'\0'.repeat(10)}/?!\r\n`);
  });

  it('of mode A is read at the same speed, behind the echo of its head', async () => {
    const { first, second } = partsOf('DE Itron ACE3000 type 260');
    const meter = await open(answering({ '/?!\r\n': Buffer.concat([Buffer.from('/?!\r\n'), first, second]) }), {
      mode: 'A',
    });
    expect(await valuesOf(meter)).toEqual(values['DE Itron ACE3000 type 260']);
  });

  it.each(['DE eBZ DD3, delivering', 'DE EasyMeter Q3D of 2011'])(
    'of mode D, %s, is heard without being asked, whatever came before',
    async (name) => {
      const { first, second } = partsOf(name);
      path = await bench.pty(() => {});
      const port = await bench.tcp(() => {}, {
        onConnect: (socket) => {
          const telegram = Buffer.concat([first, second]);
          socket.write(Buffer.concat([second.subarray(20), telegram.subarray(0, 60), telegram]));
        },
      });
      const config = sensorConfig({ name: 'g', kind: 'iec62056', port: `tcp://127.0.0.1:${port}`, mode: 'D' });
      sensor = await openMeter(config, sensorDeps(bench), signal);
      expect(await valuesOf(sensor)).toEqual(values[name]);
      expect(bench.asked).toEqual([]);
    },
  );

  it('gives single registers in its programming mode, without a password', async () => {
    const asked: string[] = [];
    const answers = {
      '/?!\r\n': '/LGZ5TEST\r\n',
      '\x06051\r\n': `\x01${withSum('P0\x02(00000000)\x03')}`,
      [`\x01${withSum('R1\x021.8.0()\x03')}`]: `\x02${withSum('(001846.0*kWh)\x03')}`,
      [`\x01${withSum('R1\x0216.7.0()\x03')}`]: `\x02${withSum('16.7.0(-000.5*kW)\x03')}`,
    };
    const peer = answering(answers);
    const meter = await open(
      (bytes, send) => {
        asked.push(bytes.toString('latin1'));
        peer(bytes, send);
      },
      { readRegisters: ['1.8.0', '16.7.0'], responseTimeout: '1s' },
    );
    expect(await valuesOf(meter)).toMatchObject({ energyImport: 1846, powerTotal: -500, maker: 'LGZ' });
    await expect.poll(() => asked.join('')).toContain('\x01B0\x03q');
    expect(asked.join('')).not.toMatch(/P1|P2|W1|W2|E2/);
  });

  it('of a readout in several blocks is asked for each', async () => {
    const meter = await open(
      answering({
        '/?!\r\n': `/XXX*A\r\n\x02${withSum('1.8.0(1*kWh)\r\n\x04')}`,
        '\x06': `\x02${withSum('2.8.0(2*kWh)\r\n!\r\n\x03')}`,
      }),
    );
    expect(await valuesOf(meter)).toMatchObject({ energyImport: 1, energyExport: 2 });
  });

  it.each([
    ['is silent', {}, {}, 'silent', /does not answer$/],
    ['is silent at its address', {}, { address: '123' }, 'silent', /does not answer to 123$/],
    ['is not under its head', { '/?!\r\n': '/?!\r\n' }, {}, 'silent', /echoes the request/],
    ['speaks otherwise', { '/?!\r\n': 'zzzzz' }, {}, 'silent', /5 bytes came .* no identification/],
    ['refuses the request', { '/?!\r\n': '\x15' }, {}, 'refused', /refuses the request \(NAK\)/],
    [
      'refuses the readout',
      { '/?!\r\n': '/XXX0A\r\n', '\x06000\r\n': '\x15' },
      {},
      'refused',
      /XXX0A .* refuses to be/,
    ],
    ['tells who it is alone', { '/?!\r\n': '/XXX0A\r\n' }, {}, 'silent', /and sent no more \(300 baud, mode C\)/],
    [
      'stops in its readout',
      { '/?!\r\n': '/XXX0A\r\n', '\x06000\r\n': '\x021.8.0(1' },
      {},
      'silent',
      /stopped after 8 bytes \(300 baud, mode C\)/,
    ],
    [
      'has a wrong check sum',
      { '/?!\r\n': '/XXX0A\r\n', '\x06000\r\n': '\x021.8.0(1*kWh)\r\n!\r\n\x03Q' },
      {},
      'bad-reading',
      /check sum .* \(BCC\)/,
    ],
    [
      'is another one',
      { '/?0042!\r\n': '/XXX0A\r\n', '\x06000\r\n': '0.0.0(00000043)\r\n1.8.0(1*kWh)\r\n!\r\n' },
      { address: '0042' },
      'wrong-meter',
      /the number 00000043 .* in place of 0042/,
    ],
    ['has another mode', { '/?!\r\n': '/XXXBA\r\n' }, { mode: 'C' }, 'unsupported-mode', /is one of mode B, and not/],
    [
      'gives no registers',
      { '/?!\r\n': '/XXXBA\r\n' },
      { readRegisters: ['1.8.0'] },
      'unsupported-mode',
      /mode B, which gives no single registers/,
    ],
    [
      'wants a password',
      { '/?!\r\n': '/XXX0A\r\n', '\x06001\r\n': '\x15' },
      { readRegisters: ['1.8.0'] },
      'refused',
      /password, which is never sent/,
    ],
    [
      'has no known value',
      { '/?!\r\n': '/XXX0A\r\n', '\x06000\r\n': 'C.7.0(5)\r\n!\r\n' },
      {},
      'no-value',
      /its codes: C\.7\.0: name them under codes/,
    ],
  ])('that %s is told as such', async (_what, answers, options, code, message) => {
    const meter = await open(answering(answers), options);
    await expect(meter.read(signal)).rejects.toMatchObject({
      code: `sensors/${code}`,
      recovery: 'retry',
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['C', 'AT Iskraemeco MT174', undefined],
    ['B', 'NL Landis+Gyr Ultraheat UH50', /goes to 2400 baud by itself \(mode B\), and the speed of tcp:.* cannot/],
  ])('of mode %s behind a device server stays at its speed, or is told', async (_mode, name, message) => {
    const { first, second } = partsOf(name);
    let asked = '';
    const port = await bench.tcp((bytes, send) => {
      asked += bytes.toString('latin1');
      if (asked === '/?!\r\n') send(first);
      if (asked.endsWith('\x06000\r\n')) send(second);
    });
    const config = sensorConfig({ name: 'g', kind: 'iec62056', port: `tcp://127.0.0.1:${port}` });
    sensor = await openMeter(config, sensorDeps(bench), signal);
    const read = valuesOf(sensor);
    if (message === undefined) expect(await read).toEqual(values[name]);
    else
      await expect(read).rejects.toMatchObject({
        code: 'sensors/unsupported-mode',
        message: expect.stringMatching(message),
      });
  });

  it('of mode B behind a device server that takes settings is read at the speed that it goes to', async () => {
    const name = 'NL Landis+Gyr Ultraheat UH50';
    const { first, second } = partsOf(name);
    const speeds: number[] = [];
    const port = await bench.tcp((bytes, send) => {
      const hex = bytes.toString('hex');
      if (hex.includes('fffb2c')) send(Buffer.from('fffd2c', 'hex'));
      for (const [, order = '', value = ''] of hex.matchAll(/fffa2c(0[1-4])((?:..)+?)fff0/g)) {
        if (order === '01') speeds.push(Number.parseInt(value, 16));
        send(Buffer.from(`fffa2c${(Number.parseInt(order, 16) + 100).toString(16)}${value}fff0`, 'hex'));
        if (order === '01' && speeds.at(-1) === 2400) send(second);
      }
      if (hex === Buffer.from('/?!\r\n').toString('hex')) send(first);
    });
    const config = sensorConfig({ name: 'g', kind: 'iec62056', port: `rfc2217://127.0.0.1:${port}` });
    sensor = await openMeter(config, sensorDeps(bench), signal);
    expect(await valuesOf(sensor)).toEqual(values[name]);
    expect(speeds).toEqual([300, 2400, 300]);
  });

  it('beside another on one line is read in its turn, by its address', async () => {
    path = await bench.pty(
      answering({
        '/?1!\r\n': '/XXX0A\r\n',
        '/?2!\r\n': '/XXX0B\r\n0.0.0(2)\r\n1.8.0(22*kWh)\r\n!\r\n',
        '\x06000\r\n': '0.0.0(1)\r\n1.8.0(11*kWh)\r\n!\r\n',
      }),
    );
    const openAt = async (address: string, mode: string) =>
      await openMeter(
        sensorConfig({ name: `m${address}`, kind: 'iec62056', port: path, address, mode }),
        sensorDeps(bench),
        signal,
      );
    const [one, two] = await Promise.all([openAt('1', 'C'), openAt('2', 'A')]);
    expect(await Promise.all([valuesOf(one), valuesOf(two)])).toMatchObject([
      { identification: 'XXX0A', energyImport: 11 },
      { identification: 'XXX0B', energyImport: 22 },
    ]);
    await one.close();
    await two.close();
  });

  it('whose readout takes longer than the deadline is told as such', async () => {
    const deadline = new AbortController();
    const begin = '/XXX*A\r\n\x021.8.0(1*kWh)\r\n';
    const meter = await open((_asked, send) => send(Buffer.from(begin, 'latin1')), { responseTimeout: '1m' });
    const bus = await bench.ports.serialBuses.open({ port: path, baudRate: 300, dataBits: 7, parity: 'even' }, signal);
    let count = 0;
    bus.port.onBytes((bytes) => {
      count += bytes.length;
      if (count === begin.length) deadline.abort();
    });
    await expect(meter.read(deadline.signal)).rejects.toMatchObject({
      code: 'sensors/late',
      message: expect.stringMatching(/over after \d+ bytes .* \(300 baud\): a longer period/),
    });
    await bus.close();
  });

  it('that refuses a register once is asked again', async () => {
    let times = 0;
    const peer = answering({ '/?!\r\n': '/XXX0A\r\n', '\x06001\r\n': `\x01${withSum('P0\x02()\x03')}` });
    const meter = await open(
      (bytes, send) => {
        if (!bytes.toString('latin1').startsWith('\x01R1')) return peer(bytes, send);
        times += 1;
        send(Buffer.from(times === 1 ? '\x15' : `\x02${withSum('(5*kWh)\x03')}`, 'latin1'));
      },
      { readRegisters: ['1.8.0'] },
    );
    expect(await valuesOf(meter)).toMatchObject({ energyImport: 5 });
  });
});

describe('a configuration', () => {
  const section = (options: Readonly<Record<string, unknown>>) =>
    sensorConfig({ name: 'g', kind: 'iec62056', port: '/dev/ttyUSB0', ...options });

  it('has the speed and form of a first request', () => {
    expect(section({})).toMatchObject({ baudRate: 300, dataBits: 7, parity: 'even', mode: 'auto', maxBaudRate: 9600 });
  });

  it.each([
    [{ wakeUpZeros: 65 }, ['a battery meter that is read too often:']],
    [{ wakeUpZeros: 65, period: '14m' }, ['a battery meter that is read too often:']],
    [{ wakeUpZeros: 65, period: '15m' }, []],
    [{ mode: 'D', address: '1', readRegisters: ['1.8.0'] }, ['address beside mode: D', 'readRegisters beside mode: D']],
    [{ mode: 'B', readRegisters: ['1.8.0'] }, ['readRegisters beside mode: B']],
    [{ mode: 'C', readRegisters: ['1.8.0'], address: '1' }, []],
  ])('of %j has the faults %j', (options, problems) => {
    expect(iec62056.faults?.(section(options), ['sensors', 0]).map(({ problem }) => problem)).toEqual(problems);
  });

  it.each(['1.8.0()', '1.8.0\x03', '(1.8.0)', '1.8.0.1.1'])('refuses what is no code: %j', (code) => {
    expect(() => section({ readRegisters: [code] })).toThrow(/a code such as/);
  });
});
