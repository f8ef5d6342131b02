/** Adversarial look at Modbus links: failing tests are findings. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modbusConnection } from '../../../src/config/fields/lines-and-ports.ts';
import { crc16 } from '../../../src/hardware/modbus-frames.ts';
import { bytes, openPeerBench, type PeerBench } from '../../support/modbus-peer.ts';

const signal = AbortSignal.timeout(100_000);
let bench: PeerBench;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(() => bench.close());

const rtu = (hex: string): Buffer => {
  const body = bytes(hex);
  const sum = crc16(body);
  return Buffer.concat([body, Buffer.from([sum & 255, sum >> 8])]);
};
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const open = (written: object) => bench.ports.modbus.open(modbusConnection.parse(written), signal);
const one = (address: number) => ({ table: 'holding', address, count: 1 }) as const;
const value = (asked: Buffer): Buffer => rtu(`01 03 02 00 ${asked[3]?.toString(16).padStart(2, '0')}`);

describe('rtu', () => {
  it('slow bytes, 60 ms apart', async () => {
    const port = await bench.pty(async (asked, send) => {
      for (const byte of value(asked)) {
        send(Uint8Array.of(byte));
        await wait(60);
      }
    });
    const link = await open({ transport: 'rtu', port });
    expect(await link.readRegisters(1, one(7), signal)).toEqual([7]);
  });
  it('a late answer, a unit without loop-back', async () => {
    let n = 0;
    const port = await bench.pty(async (asked, send) => {
      if (asked[1] === 8) return;
      n += 1;
      if (n === 1) await wait(400);
      send(value(asked));
    });
    const link = await open({ transport: 'rtu', port, responseTimeout: '300ms' });
    await expect(link.readRegisters(1, one(7), signal)).rejects.toThrow();
    const results: unknown[] = [];
    for (let round = 0; round < 4; round += 1) results.push(await link.readRegisters(1, one(9), signal).catch((e: Error) => e.message));
    console.log('late', results);
    expect(results).not.toContainEqual([7]);
  });
  it('an echo and a unit that is dead: a write is not taken as done', async () => {
    const port = await bench.pty((asked, send) => send(asked));
    const link = await open({ transport: 'rtu', port, responseTimeout: '300ms' });
    const outcome = await link.writeRegisters(1, 5, [1], signal).then(
      () => 'written',
      (e: Error) => e.message,
    );
    console.log('echo write, unknown:', outcome);
    const read = await link.readRegisters(1, one(5), signal).catch((e: Error) => e.message);
    console.log('echo read:', read);
  });
  it('after an echo was learned, and the line was opened again, a write to a dead unit', async () => {
    let dead = false;
    const port = await bench.tcp((asked, send) => send(dead ? asked : Buffer.concat([asked, asked[1] === 3 ? value(asked) : asked])));
    const place = { transport: 'rtu-over-tcp', host: '127.0.0.1', port, responseTimeout: '300ms' };
    let link = await open(place);
    expect(await link.readRegisters(1, one(7), signal)).toEqual([7]);
    await link.close();
    dead = true;
    link = await open(place);
    await expect(link.ranked('off').writeRegisters(1, 5, [0], signal)).rejects.toThrow();
  });
  it('a bit of an echoing line, dead unit', async () => {
    const port = await bench.pty((asked, send) => send(asked));
    const link = await open({ transport: 'rtu', port, responseTimeout: '300ms' });
    const outcome = await link
      .ranked('off')
      .writeBit(1, { address: 5, bit: 3, on: false }, signal)
      .then(
        () => 'written',
        (e: Error) => e.message,
      );
    const outcome22 = await link
      .ranked('off', 22)
      .writeBit(1, { address: 5, bit: 3, on: false }, signal)
      .then(
        () => 'written',
        (e: Error) => e.message,
      );
    console.log('bit', outcome, '| fc22', outcome22);
  });
  it('unit that answers with a longer answer than asked for', async () => {
    const port = await bench.pty((_asked, send) => send(rtu('01 03 04 00 01 00 02')));
    const link = await open({ transport: 'rtu', port, responseTimeout: '300ms' });
    console.log('longer', await link.readRegisters(1, one(7), signal).catch((e: Error) => e.message));
  });
  it('a bit off while an earlier answer is owed by a unit that knows no loop-back', async () => {
    let silent = true;
    let word = 8;
    const port = await bench.pty((asked, send) => {
      if (asked[1] === 8 || silent) return;
      if (asked[1] === 6) {
        word = asked.readUInt16BE(4);
        send(asked);
      } else send(rtu(`01 03 02 00 ${word.toString(16).padStart(2, '0')}`));
    });
    const link = await open({ transport: 'rtu', port, responseTimeout: '300ms' });
    await link.readRegisters(1, one(7), signal).catch(() => {});
    silent = false;
    const began = Date.now();
    let outcome = '';
    for (let tries = 0; tries < 60 && outcome !== 'written'; tries += 1)
      outcome = await link
        .ranked('off')
        .writeBit(1, { address: 5, bit: 3, on: false }, signal)
        .then(
          () => 'written',
          (e: Error) => e.message,
        );
    console.log('off of a bit took', Date.now() - began, 'ms;', outcome, word);
    expect(Date.now() - began).toBeLessThan(3_000);
  });
});

describe('rtu over tcp', () => {
  it('a gateway that closes after each answer', async () => {
    const port = await bench.tcp(() => {}, {
      onConnect: (socket) =>
        socket.on('data', (asked) => {
          socket.write(value(asked));
          socket.end();
        }),
    });
    const link = await open({ transport: 'rtu-over-tcp', host: '127.0.0.1', port, responseTimeout: '500ms' });
    const results: unknown[] = [];
    for (let at = 0; at < 20; at += 1) results.push(await link.readRegisters(1, one(at), signal).catch((e: Error) => e.message));
    expect(results).toEqual(Array.from({ length: 20 }, (_, at) => [at]));
  });
  it('two masters behind one transparent converter: an answer to the other is not taken', async () => {
    const port = await bench.tcp((asked, send) => {
      send(rtu('01 03 02 03 E7'));
      setTimeout(() => send(value(asked)), 30);
    });
    const link = await open({ transport: 'rtu-over-tcp', host: '127.0.0.1', port, responseTimeout: '500ms' });
    console.log('two masters', await link.readRegisters(1, one(7), signal));
  });
});

describe('hosts', () => {
  it('two bits of one register, by a name in other letters, both stay', async () => {
    let word = 0;
    const port = await bench.tcp((asked, send) => {
      const p = asked[7] === 3 ? bytes(`03 02 00 ${word.toString(16).padStart(2, '0')}`) : asked.subarray(7, 12);
      if (asked[7] === 6) word = asked.readUInt16BE(10);
      setTimeout(() => send(Buffer.concat([asked.subarray(0, 4), Buffer.from([0, p.length + 1, 1]), p])), 20);
    });
    const a = await open({ transport: 'tcp', host: 'localhost', port });
    const b = await open({ transport: 'tcp', host: 'LOCALHOST', port });
    await Promise.all([
      a.ranked('movement').writeBit(1, { address: 5, bit: 3, on: true }, signal),
      b.ranked('movement').writeBit(1, { address: 5, bit: 4, on: true }, signal),
    ]);
    expect(word).toBe(0x18);
  });
});
describe('ascii', () => {
  it('split, with noise and small letters', async () => {
    const port = await bench.pty(async (asked, send) => {
      console.log(String(asked).trim());
      const lrc = (h: string) => (-bytes(h).reduce((s, x) => s + x, 0) & 255).toString(16).padStart(2, '0');
      send(Buffer.from('\0\xff:0', 'latin1'));
      await wait(300);
      send(Buffer.from(`:010302000`));
      await wait(300);
      send(Buffer.from(`7${lrc('0103020007')}\r\n`));
    });
    const link = await open({ transport: 'ascii', port });
    expect(await link.readRegisters(1, one(7), signal)).toEqual([7]);
  });
});
