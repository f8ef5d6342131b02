/** `turnstone scan modbus` on ptys and sockets: of the simulated board, and of a peer whose bytes stand here. */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ScanCall } from '../../../src/cli/commands/init.ts';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { scanModbus } from '../../../src/cli/scan-modbus.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { crc16, rtuFrame, tcpFrame } from '../../../src/hardware/modbus-frames.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { bytes, openPeerBench, type PeerBench } from '../../support/modbus-peer.ts';
import { socketOperations } from '../../support/socket-operations.ts';

const constant = (value: number) => ({ kind: 'constant', value }) as const;
/** Words of float32 values, high word first. */
function floats(values: Readonly<Record<number, number>>) {
  const words = Object.entries(values).flatMap(([address, value]) => {
    const buffer = Buffer.alloc(4);
    buffer.writeFloatBE(value);
    return [0, 1].map((at) => [Number(address) + at, constant(buffer.readUInt16BE(2 * at))] as const);
  });
  return Object.fromEntries(words);
}
/** Input registers of an SDM120: one phase. */
const SDM120 = floats({
  0: 231.5,
  6: 2.25,
  12: 512,
  18: 520,
  24: -88,
  30: 0.98,
  36: 11,
  70: 50.01,
  72: 1234.5,
  74: 0,
  76: 7,
  78: 8,
  342: 1234.5,
  344: 15,
});
/** An ABB meter of the B23 kind tells its type, "B23 ", at 0x8960. */
const B23 = { 35168: constant(0x4232), 35169: constant(0x3320), 0: constant(0) };
/** Words of a SunSpec map's beginning: mark, common model of 66 registers, maker and product. */
function sunSpec(at: number) {
  const text = (words: string) => Buffer.alloc(32, 0).fill(words, 0, words.length);
  const map = Buffer.concat([Buffer.from('SunS'), bytes('0001 0042'), text('Fixture Solar'), text('FX-5')]);
  return Object.fromEntries(
    Array.from({ length: map.length / 2 }, (_, word) => [at + word, constant(map.readUInt16BE(2 * word))]),
  );
}

const QUICK = ['--timeout', '200ms'];
let board: BoardBench;
let peers: PeerBench;
beforeEach(async () => {
  peers = await openPeerBench();
  board = await openBoardBench((folder) => ({
    serial: [
      {
        port: `${folder}/ttyLine`,
        talk: { kind: 'modbus', units: { 3: { input: SDM120 }, 5: { holding: B23 }, 6: {} } },
      },
    ],
    modbusTcp: [{ host: 'inverter.lan', port: 502, units: { 1: { holding: sunSpec(40_000) } } }],
  }));
});
afterEach(async () => {
  await board.close();
  await peers.close();
});

async function scan(...words: readonly string[]) {
  const edge = fakeEdge({ columns: 200 });
  const exitCode = await runCommandLine(['scan', 'modbus', ...words, ...(words.includes('--timeout') ? [] : QUICK)], {
    edge,
    version: () => '',
  });
  return { exitCode, out: edge.out(), err: edge.err() };
}

const scanBoard = (...words: readonly string[]) => scan('--simulate', board.socketPath, ...words);

describe('turnstone scan modbus', () => {
  it('finds units by any answer, a refusal too, with their identification, model and a section that check-config takes', async () => {
    const { exitCode, out, err } = await scanBoard('--port', `${board.folder}/ttyLine`, '--units', '2-6');
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(out).toMatch(/ {2}# Unit 3: Eastron SDM120, tells "Turnstone Turnstone simulated unit 1\.0"\n/);
    expect(out).toMatch(/model: eastron-sdm120 \} # by its values, or .*; check what is printed on it\n/);
    expect(out).toMatch(/ {2}# Unit 5: ABB B23,/);
    expect(out).toMatch(/model: abb-b23 \}\n/);
    expect(out).toMatch(/ {2}# Unit 6: an unknown device,.*\n {2}# - \{ name: unit6,/);
    expect(out).not.toMatch(/unit[24]/);
    const config = await configOf(`${SMALLEST}${out.slice(out.indexOf('sensors:'))}`);
    expect(config.sensors).toMatchObject([
      {
        name: 'unit3',
        unitId: 3,
        model: 'eastron-sdm120',
        connection: { transport: 'rtu', port: `${board.folder}/ttyLine`, baudRate: 9600 },
      },
      { name: 'unit5', unitId: 5, model: 'abb-b23' },
    ]);
  });

  it('shows each known unit as a device of its own', async () => {
    const { out } = await scanBoard('--port', `${board.folder}/ttyLine`, '--units', '3-6', '--devices');
    const config = await configOf(
      `${SMALLEST}provisioning: { deviceKey: k, deviceSecret: s }\n${out.slice(out.indexOf('devices:'))}`,
    );
    expect(config.devices.map(({ name }) => name)).toEqual(['unit3', 'unit5']);
    expect(config.sensors).toMatchObject([
      { name: 'unit3', device: 'unit3' },
      { name: 'unit5', device: 'unit5' },
    ]);
    expect(out).not.toContain('prefix');
  });

  it('writes nothing to any unit', async () => {
    await scanBoard('--port', `${board.folder}/ttyLine`, '--units', '3,5');
    expect((await board.record()).filter(({ kind }) => kind === 'written' || kind === 'moved')).toEqual([]);
  });

  it('knows SunSpec by its mark, and gives programs JSON', async () => {
    const { out } = await scanBoard('--host', 'inverter.lan', '--units', '1-2', '--json');
    expect(JSON.parse(out)).toMatchObject([
      {
        unitId: 1,
        connection: { transport: 'tcp', host: 'inverter.lan', port: 502 },
        identity: { maker: 'Fixture Solar', product: 'FX-5', revision: '(SunSpec at 40000)' },
      },
    ]);
  });

  it('tries baud rates until units answer', async () => {
    const speed = (path: string): string => execFileSync('stty', ['-F', path, 'speed'], { encoding: 'utf8' }).trim();
    const heardAt: string[] = [];
    const path: string = await peers.pty((asked, send) => {
      heardAt.push(speed(path));
      if (heardAt.at(-1) !== '19200') return;
      const refusal = Uint8Array.of(1, (asked[1] ?? 0) | 0x80, 2);
      const sum = crc16(refusal);
      send(Uint8Array.of(...refusal, sum & 0xff, sum >> 8));
    });
    const { out } = await scan(
      '--port',
      path,
      '--units',
      '1',
      '--baud',
      '9600,19200,38400',
      '--parity',
      'none',
      '--timeout',
      '1s',
    );
    expect(out).toMatch(/baudRate: 19200/);
    expect(heardAt.slice(0, 3)).toEqual(['9600', '9600', '19200']);
    expect(heardAt).not.toContain('38400');
  });

  it('asks with function 17 where 43 is refused', async () => {
    const port = await peers.tcp((asked, send) => {
      const pdu =
        asked[7] === 17 ? bytes('11 0A 01 FF 4D 58 2D 37 30 30 00 01') : Buffer.from([(asked[7] ?? 0) | 0x80, 1]);
      const head = Buffer.from(asked.subarray(0, 7));
      head.writeUInt16BE(pdu.length + 1, 4);
      send(Buffer.concat([head, pdu]));
    });
    const { out } = await scan('--host', '127.0.0.1', '--port', `${port}`, '--units', '1', '--json');
    expect(JSON.parse(out)).toMatchObject([{ unitId: 1, identity: { product: 'MX-700' } }]);
  });

  it('shows a device that answers to every unit number once', async () => {
    const port = await peers.tcp((asked, send) =>
      send(Buffer.from([...asked.subarray(0, 5), 3, asked[6] ?? 0, (asked[7] ?? 0) | 0x80, 2])),
    );
    const { out } = await scan('--host', '127.0.0.1', '--port', `${port}`, '--units', '1-5', '--json');
    expect((JSON.parse(out) as readonly object[]).length).toBe(1);
  });

  it.each(['tcp', 'rtu-over-tcp'])(
    'shows most units of a host as one when they answer alike, and the others, over %s',
    async (transport) => {
      const isTcp = transport === 'tcp';
      const port = await peers.tcp((asked, send) => {
        const [unitId = 0, code = 0] = asked.subarray(isTcp ? 6 : 0);
        const refusal = Uint8Array.of(code | 0x80, unitId === 4 ? 3 : 2);
        if (unitId !== 6) send(isTcp ? tcpFrame(asked.readUInt16BE(0), unitId, refusal) : rtuFrame(unitId, refusal));
      });
      const { out, err } = await scan(
        '--host',
        '127.0.0.1',
        '--port',
        `${port}`,
        '--transport',
        transport,
        '--units',
        '1-6',
        '--json',
      );
      expect((JSON.parse(out) as readonly { readonly unitId: number }[]).map(({ unitId }) => unitId)).toEqual([1, 4]);
      expect(err).toContain('4 units answer alike, and are shown as one; name others with --units, one at a time\n');
    },
  );

  it('looks at what it has found for five minutes in all', async () => {
    const clock = new FakeClock();
    const lookedAt = new Set<number>();
    const port = await peers.tcp((asked, send) => {
      const [unitId = 0, code = 0] = asked.subarray(6);
      if (code === 43) lookedAt.add(unitId);
      if (code === 43 && unitId === 2) void clock.advance(300_000);
      const pdu =
        code === 3 && asked.readUInt16BE(8) === 0 && asked[11] === 1
          ? Uint8Array.of(3, 2, 0, unitId)
          : Uint8Array.of(code | 0x80, 2);
      send(tcpFrame(asked.readUInt16BE(0), unitId, pdu));
    });
    const edge = fakeEdge();
    const shown: unknown[] = [];
    const flags = { host: '127.0.0.1', port: `${port}`, transport: 'tcp', units: [1, 2, 3], timeout: 1_000 } as Partial<
      ScanCall['flags']
    >;
    const print = { result: (found: unknown) => shown.push(found) } as unknown as ScanCall['print']; // its only method that is called
    await scanModbus({ flags, edge, print } as Partial<ScanCall> as ScanCall, { board: 'linux', gpio: 'auto' }, clock);
    expect(shown).toMatchObject([[{ unitId: 1 }, { unitId: 2 }, { unitId: 3 }]]);
    expect([...lookedAt]).toEqual([1, 2]);
    expect(edge.err()).toContain('there was no time to look at all units; name some with --units\n');
  });

  it('does not scan a host that the running agent uses, however it is written', async () => {
    const config = join(peers.folder, 'turnstone.yaml');
    const runFolder = join(peers.folder, 'run');
    const asked: Buffer[] = [];
    const port = await peers.tcp((request) => void asked.push(request));
    const meter = `{ name: meter, kind: modbus, connection: { transport: rtu-over-tcp, host: LocalHost, port: ${port} }, registers: { p: { address: 0 } } }`;
    const server = `{ name: scale, kind: serial-line, port: 'tcp://127.0.0.1:${port}', format: number, key: weight }`;
    await writeFile(config, `${SMALLEST}runFolder: ${runFolder}\nsensors: [${meter}, ${server}]\n`, { mode: 0o600 });
    const scanHost = (host: string) => scan('--host', host, '--port', `${port}`, '--units', '1', '--config', config);
    expect((await scanHost('localhost')).err).toMatch(/no Modbus unit answered; .*--timeout .5s/);
    const before = asked.length;
    const log = silentLog;
    const agent = await ControlServer.open(
      { ...socketOperations({}), folder: runFolder, clock: systemClock, files: systemFiles, log },
      new AbortController().signal,
    );
    try {
      for (const host of ['localhost', '127.0.0.1'])
        expect(await scanHost(host)).toMatchObject({
          exitCode: EXIT.failure,
          err: expect.stringMatching(/ is used by the agent; the agent runs here: stop it for the scan/),
        });
      expect(asked.length).toBe(before);
    } finally {
      await agent.close();
    }
  });

  it('says that another program holds the port, and what to look at when nobody answers', async () => {
    const path = await peers.pty(() => {});
    const held = await peers.ports.serial.open({ port: path, baudRate: 9600 }, new AbortController().signal);
    const busy = await scan('--port', path, '--units', '1');
    expect(busy).toMatchObject({
      exitCode: EXIT.failure,
      err: expect.stringMatching(/is used by another program; close that program/),
    });
    await held.close();
    const silent = await scan('--port', path, '--units', '1', '--baud', '9600');
    expect(silent).toMatchObject({
      out: '',
      err: expect.stringMatching(/no Modbus unit answered; check power, wiring/),
    });
    expect((await scan()).exitCode).toBe(EXIT.usage);
  });
});
