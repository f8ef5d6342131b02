import { Encoder } from 'cbor-x';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { cborCodec } from '../../../src/platform/cbor-codec.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { jsonCodec } from '../../../src/platform/payload-codec.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';

const never = new AbortController().signal;
const codec = cborCodec();
const bytesOf = (value: JsonValue): Uint8Array => codec.encode(value) as Uint8Array;

describe('the CBOR codec', () => {
  it('gives back what it was given: every value type, longs to the last digit', () => {
    const json = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.boolean(),
        fc.constant(null),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((double) => (Object.is(double, -0) ? 0 : double)),
        fc.integer(),
        fc.maxSafeInteger(),
        fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
        fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(
          fc.string().filter((key) => key !== '__proto__' && key !== '__proto_'),
          tie('value'),
          { maxKeys: 4, noNullPrototype: true },
        ),
      ),
    })).value;
    fc.assert(
      fc.property(json, (value) => {
        expect(codec.decode(bytesOf(value))).toEqual(value);
      }),
      { numRuns: 1000 },
    );
  });

  it('writes whole numbers as integers of the fewest bytes, never as doubles', () => {
    expect(Buffer.from(bytesOf(5)).toString('hex')).toBe('05');
    expect(Buffer.from(bytesOf(5n)).toString('hex')).toBe('05');
    expect(Buffer.from(bytesOf(1_700_000_000_123)).toString('hex')).toBe('1b0000018bcfe5687b');
  });

  // RFC 8949, section 3.2.3 and appendix A: (_ "strea", "ming").
  it.each([
    ['7f657374726561646d696e67ff', 'streaming'],
    ['a1617f7f6161ff', { '\x7f': 'a' }],
    ['a17f61616162ff7f7803c3bc61ff', { ab: 'üa' }],
    ['837fff01c25f4201004100ff', ['', 1, 65_536]],
  ])('takes strings in pieces: %s', (hex, value) => expect(codec.decode(Buffer.from(hex, 'hex'))).toEqual(value));

  it('takes a long text in pieces between other values, as servers in Java send it', () => {
    const text = 'ü0123456789'.repeat(900);
    const utf8 = Buffer.from(text);
    const pieces = [utf8.subarray(0, 4_000), utf8.subarray(4_000)];
    // The cut of a piece may not fall into a letter.
    expect(pieces[0]?.toString()).not.toContain('\ufffd');
    const heads = pieces.map(({ length }) => Buffer.from([0x79, length >> 8, length & 0xff]));
    const bytes = Buffer.concat([
      Buffer.from('83', 'hex'),
      Buffer.from('7f', 'hex'),
      ...pieces.flatMap((piece, at) => [heads[at] as Buffer, piece]),
      Buffer.from('ff', 'hex'),
      bytesOf('between'),
      Buffer.from('7f6178ff', 'hex'),
    ]);
    expect(codec.decode(bytes)).toEqual([text, 'between', 'x']);
  });

  it.each(['7f6161', '7f41ff', '7f7f6161ffff', '7f01ff', '7f7a00ffffff61ff'])(
    'refuses pieces that are none of their string, or do not end: %s',
    (hex) => expect(() => codec.decode(Buffer.from(hex, 'hex'))).toThrow('not CBOR'),
  );

  it('writes what is past int64 as digits', () => expect(codec.decode(bytesOf(2n ** 63n))).toBe('9223372036854775808'));

  it('makes the records that JSON makes, with ts never beside values and no key twice', () => {
    const rows = {
      keys: ['ts', 'x', 'values', 'x', 'x', 'values', 'ts'],
      values: [1, 2, 3, 4, 5, 6, 7],
      ts: [9, 9, 9, 9, 9, 10, 10],
    };
    expect(codec.decode(codec.encodeTelemetry(rows) as Uint8Array)).toEqual(
      jsonCodec.decode(Buffer.from(jsonCodec.encodeTelemetry(rows))),
    );
    expect(codec.decode(codec.encodeTelemetry(rows) as Uint8Array)).toEqual([
      { ts: 9, values: { ts: 1, x: 2 } },
      { ts: 9, values: { values: 3, x: 4 } },
      { ts: 9, values: { x: 5 } },
      { ts: 10, values: { values: 6 } },
      { ts: 10, values: { ts: 7 } },
    ]);
  });

  it.each<[string, Buffer]>([
    ['an array', Buffer.concat([Buffer.from('9a000f4241', 'hex'), Buffer.alloc(1_000_001)])],
    ['a map', Buffer.concat([Buffer.from('ba000f4241', 'hex'), Buffer.alloc(2_000_002)])],
  ])('refuses %s of more members than are read, though they are all there', (_name, bytes) => {
    expect(() => codec.decode(bytes)).toThrow(expect.objectContaining({ code: expect.stringMatching(/^cbor\//) }));
  });

  it('takes fewer bytes than JSON', () => {
    const records = Array.from({ length: 50 }, (_, n) => ({
      ts: 1_700_000_000_000 + n,
      values: { temperature: 20 + n, on: n % 2 === 0 },
    }));
    const rows = rowsOf(...records);
    const [cbor, json] = [codec.encodeTelemetry(rows), jsonCodec.encodeTelemetry(rows)];
    expect(cbor.length).toBeLessThan(json.length * 0.8);
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['half of it', Buffer.from(bytesOf({ a: 'text' })).subarray(0, 4)],
    ['an array that announces four thousand million members', Buffer.from('9affffffff', 'hex')],
    ['a map that announces as many', Buffer.from('baffffffff', 'hex')],
    ['a string that announces more bytes than there are', Buffer.from('7affffffff61', 'hex')],
    ['depth without end', Buffer.alloc(200_000, 0x81)],
    ['40 levels', Buffer.concat([Buffer.alloc(40, 0x81), Buffer.from([0])])],
    ['a date', new Encoder().encode(new Date(0))],
  ])('refuses %s', (_name, bytes) => {
    expect(() => codec.decode(bytes)).toThrow(expect.objectContaining({ code: expect.stringMatching(/^cbor\//) }));
  });

  it('refuses more values than a small heap takes, and numbers that take seconds to make', () => {
    const tooLarge = expect.objectContaining({ code: 'cbor/too-large' });
    expect(() =>
      codec.decode(Buffer.concat([Buffer.from([0x9a, 0, 0, 0xff, 0xff]), Buffer.alloc(0xffff, 0x80)])),
    ).toThrow(tooLarge);
    expect(() =>
      codec.decode(Buffer.concat([Buffer.from([0xc2, 0x59, 0x10, 0x00]), Buffer.alloc(0x1000, 0xff)])),
    ).toThrow(tooLarge);
    expect(codec.decode(Buffer.concat([Buffer.from([0x79, 0xff, 0xff]), Buffer.alloc(0xffff, 0x61)]))).toHaveLength(
      0xffff,
    );
    expect(codec.decode(Buffer.from([0xc2, 0x49, 1, 0, 0, 0, 0, 0, 0, 0, 0]))).toBe(2n ** 64n);
  });

  it('drops __proto__ and leaves the prototype alone', () => {
    const decoded = codec.decode(
      new Encoder({ useRecords: false }).encode(JSON.parse('{"__proto__":{"polluted":1},"a":1}')),
    ) as JsonObject;
    expect(decoded).toEqual({ a: 1 });
    expect(({} as { readonly polluted?: number }).polluted).toBeUndefined();
  });
});

describe('over CBOR', () => {
  let platform: LocalPlatform;
  let api: HttpDeviceApi;
  let id: string;

  beforeAll(async () => {
    platform = await LocalPlatform.start();
    const device = platform.ensureDevice('cbor');
    id = device.id;
    api = new HttpDeviceApi({
      settings: { url: platform.url },
      token: () => device.accessToken,
      clock: systemClock,
      codec,
    });
  });
  afterAll(async () => {
    await api.close();
    await platform.close();
  });

  it('telemetry arrives in all three forms with every type', async () => {
    const values = {
      text: 'x',
      yes: true,
      double: 0.1,
      long: 9_007_199_254_740_993n,
      whole: 20,
      json: { a: [1, 9_007_199_254_740_993n] },
    };
    await api.postTelemetry(rowsOf({ ts: 5, values }), never);
    await api.postTelemetry(rowsOf({ values: { later: 1 } }), never);
    await api.postTelemetry(rowsOf({ ts: 6, values: { many: 1 } }, { ts: 7, values: { many: 2 } }), never);
    for (const [key, value] of Object.entries(values))
      expect(platform.state.telemetry.series(id, key).latest(), key).toEqual({ ts: 5, value });
    expect(platform.state.telemetry.series(id, 'later').latest()?.ts).toBeGreaterThan(1_700_000_000_000);
    expect(platform.state.telemetry.series(id, 'many').size).toBe(2);
  });

  it('attributes go out and come back', async () => {
    await api.postAttributes({ model: 'x', serial: 9_007_199_254_740_993n }, never);
    platform.state.setAttributes(id, 'SHARED_SCOPE', { wanted: { level: 9_007_199_254_740_993n, at: 1.5 } });
    expect(await api.getAttributes({}, never)).toEqual({
      client: { model: 'x', serial: 9_007_199_254_740_993n },
      shared: { wanted: { level: 9_007_199_254_740_993n, at: 1.5 } },
      empty: false,
    });
  });

  it('RPC comes in and its reply goes back', async () => {
    const reply = platform.rpc.call(id, {
      method: 'm',
      params: { n: 9_007_199_254_740_993n },
      oneway: false,
      timeoutMs: 5000,
    });
    const request = await api.pollRpc(5000, never);
    expect(request).toEqual({ id: 0, method: 'm', params: { n: 9_007_199_254_740_993n } });
    await api.replyRpc(0, { result: [1.5, 9_007_199_254_740_993n] }, never);
    expect(await reply).toEqual({ result: [1.5, 9_007_199_254_740_993n] });
  });

  it('an error in plain text is still understood', async () => {
    platform.faults.plant({ kind: 'answer', status: 500, body: 'Malformed', contentType: 'text/plain' });
    expect(await api.postTelemetry(rowsOf({ ts: 1, values: { a: 1 } }), never)).toEqual({
      kind: 'refused',
      status: 500,
      text: 'Malformed',
    });
  });
});
