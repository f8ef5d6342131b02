import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  type ArchiveKind,
  expectArchive,
  expectStrongPassphrase,
  openArchive,
  sealArchive,
} from '../../../src/devices/archive.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';

const PASSPHRASE = 'correct horse battery';
const CONTENT = { record: { accessToken: 'the-token', deviceName: 'gateway-OLD' }, exportedAtMs: 5 };
const KINDS: readonly ArchiveKind[] = ['identity', 'device', 'gateway'];

const sealed = (kind: ArchiveKind, content: object = CONTENT): Promise<string> =>
  sealArchive(kind, content as typeof CONTENT, PASSPHRASE, systemRandomBytes);
const changed = (text: string, change: object): string => JSON.stringify({ ...JSON.parse(text), ...change });

describe.each(KINDS)('an archive of kind %s', (kind) => {
  it('opens with its passphrase, and shows nothing without', async () => {
    const text = await sealed(kind);
    expect(text).not.toMatch(/the-token|gateway-OLD/);
    const { content, ...clear } = JSON.parse(text);
    expect(clear).toMatchObject({ format: 'turnstone/archive', version: 1, kind });
    await expect(promisify(gunzip)(Buffer.from(content, 'base64'))).rejects.toThrow();
    expect(await openArchive(kind, text, PASSPHRASE)).toEqual(CONTENT);
  });

  it('does not open with another passphrase, nor after any change', async () => {
    const text = await sealed(kind);
    const archive = JSON.parse(text);
    const flipped = Buffer.from(archive.content, 'base64');
    flipped[3] = (flipped[3] ?? 0) ^ 1;
    const wrong = {
      code: 'provisioning/wrong-passphrase',
      message: 'the archive does not open: wrong passphrase, or the file was changed',
    };
    await expect(openArchive(kind, text, 'another passphrase')).rejects.toMatchObject(wrong);
    for (const change of [{ content: flipped.toString('base64') }, { tag: archive.tag.slice(0, 8) }])
      await expect(openArchive(kind, changed(text, change), PASSPHRASE)).rejects.toMatchObject(wrong);
    for (const N of [2 ** 14, 2 ** 20])
      await expect(openArchive(kind, changed(text, { scrypt: { N, r: 8, p: 1 } }), PASSPHRASE)).rejects.toThrow(
        /no archive of Turnstone, or a damaged one: .*scrypt/,
      );
  });

  it('is no other kind, even where its clear part says so', async () => {
    const text = await sealed(kind);
    for (const other of KINDS.filter((one) => one !== kind)) {
      expect(() => expectArchive(other, text)).toThrow(expect.objectContaining({ code: 'provisioning/wrong-archive' }));
      await expect(openArchive(other, changed(text, { kind: other }), PASSPHRASE)).rejects.toMatchObject({
        code: 'provisioning/wrong-passphrase',
      });
    }
  });
});

it.each([
  ['identity', 'this archive holds a gateway’s identity: use turnstone identity import FILE'],
  ['device', 'this archive holds an attached device: use turnstone devices move --from FILE --slot SLOT'],
  ['gateway', 'this archive holds a whole gateway: use turnstone restore FILE'],
] as const)('an archive of kind %s says in the wrong place: %s', async (kind, words) => {
  const other = kind === 'identity' ? 'device' : 'identity';
  const text = await sealed(kind);
  expect(() => expectArchive(other, text)).toThrow(words);
});

it.each([
  ['', /not whole/],
  ['[]', /damaged one: it is no object/],
  ['{"format":"turnstone/archive","version":9}', /later release \(format version 9\)/],
  ['{"format":"turnstone/identity","version":1}', /before 0\.1\.0, .* with turnstone identity export FILE/],
  ['{"format":"turnstone/gateway","version":1}', /before 0\.1\.0, .* with turnstone identity export FILE/],
  [
    JSON.stringify({
      format: 'turnstone/archive',
      version: 1,
      kind: 'identity',
      scrypt: { N: 2 ** 20, r: 32, p: 1 },
      salt: 'AA==',
      iv: 'AA==',
      tag: 'AA==',
      content: 'AA==',
    }),
    /damaged one/,
  ],
  ['[[[[[[]]]]]]', /not whole/],
])('refuses %j in words', (text, words) => {
  expect(() => expectArchive('identity', text)).toThrow(words);
});

it('has bounds in size and depth', async () => {
  const large = await sealed('identity', { secret: systemRandomBytes(200_000).toString('base64') });
  expect(() => expectArchive('identity', large)).toThrow('it has more than 131072 characters');
  const unpacksTooFar = await sealed('gateway', { content: 'a'.repeat(13 * 1024 * 1024) });
  const deep = await sealed('device', { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } });
  for (const [kind, text] of [
    ['gateway', unpacksTooFar],
    ['device', deep],
  ] as const)
    await expect(openArchive(kind, text, PASSPHRASE)).rejects.toThrow('damaged one: its content does not unpack');
});

it('opens with the same passphrase from another keyboard, which may write an accent as a sign of its own', async () => {
  const text = await sealArchive('identity', CONTENT, 'caf\u00e9 au lait', systemRandomBytes);
  expect(await openArchive('identity', text, 'cafe\u0301 au lait')).toEqual(CONTENT);
});

it('needs a passphrase worth the name', async () => {
  const weak = { code: 'provisioning/weak-passphrase' };
  await expect(sealArchive('identity', CONTENT, 'short', systemRandomBytes)).rejects.toMatchObject(weak);
  expect(() => expectStrongPassphrase('gateway', 'short')).toThrow(
    'a passphrase of at least 10 characters is needed: whoever opens the file is this gateway',
  );
});
