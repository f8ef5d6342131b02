import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../../../src/host/self-signed-certificate.ts';
import { PayloadFault } from '../../../../src/stand-ins/local-platform/http-reply.ts';
import { LocalPlatform } from '../../../../src/stand-ins/local-platform/local-platform.ts';
import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  checksumOf,
  readPart,
  receiveFile,
} from '../../../../src/stand-ins/local-platform/package-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-packages-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('checksums', () => {
  const OF_DIGITS: Readonly<Record<ChecksumAlgorithm, string>> = {
    MD5: '25f9e794323b453885f5181f1b624d0b',
    SHA256: '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
    SHA384: 'eb455d56d2c1a69de64e832011f3393d45f3fa31d6842f21af92d2fe469c499da5e3179847334a18479c8d1dedea1be3',
    SHA512:
      'd9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274ad27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85',
    CRC32: '2639f4cb',
    MURMUR3_32: '82f3feb4',
    MURMUR3_128: 'a4cc66db5e64843c05a11e3ac7faf899',
  };

  it.each(CHECKSUM_ALGORITHMS)(
    '%s agrees with its published vector, wherever in a file the part lies',
    async (algorithm) => {
      const path = join(folder, 'part');
      await writeFile(path, 'xx123456789yy');
      expect(await checksumOf({ path, from: 2, until: 11 }, algorithm)).toBe(OF_DIGITS[algorithm]);
    },
  );
});

describe('an upload', () => {
  const body = (middle: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from('--b0undary\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n--b0undary\r\n'),
      Buffer.from(
        'Content-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: application/x-thing\r\n\r\n',
      ),
      middle,
      Buffer.from('\r\n--b0undary--\r\n'),
    ]);

  it('gives back exactly the bytes of the file, whatever they look like', async () => {
    const files = [
      Buffer.alloc(0),
      Buffer.from('\r\n--b0undar\r\n'),
      Buffer.from('\r\n\r\n'),
      Buffer.alloc(100_000, 7),
    ];
    for (const file of files) {
      const found = await receiveFile(
        Readable.from([body(file)]),
        'multipart/form-data; boundary=b0undary',
        join(folder, 'upload'),
      );
      const parts: Buffer[] = [];
      for await (const part of readPart(found)) parts.push(part);
      expect(Buffer.concat(parts).equals(file)).toBe(true);
      expect(found).toMatchObject({ fileName: 'a.bin', contentType: 'application/x-thing' });
    }
  });

  it('is refused when it has no file, no end or is no multipart', async () => {
    const type = 'multipart/form-data; boundary="b0undary"';
    const path = join(folder, 'upload');
    const cut = body(Buffer.from('x')).subarray(0, -10);
    await expect(receiveFile(Readable.from([cut]), type, path)).rejects.toThrow(PayloadFault);
    await expect(receiveFile(Readable.from([Buffer.from('--b0undary--')]), type, path)).rejects.toThrow(PayloadFault);
    await expect(receiveFile(Readable.from([body(Buffer.from('x'))]), 'application/json', path)).rejects.toThrow(
      PayloadFault,
    );
  });
});

describe('the certificate', () => {
  const nowMs = Date.UTC(2026, 10, 21, 12, 0, 0);

  it('is valid for its names, addresses and days, and signed by itself', () => {
    const names = ['localhost', '127.0.0.1', '::1', 'fe80::1:2', 'gateway.example'];
    const { cert, key } = makeCertificate({ names, fromMs: nowMs, untilMs: Date.UTC(2060, 0, 1) });
    const parsed = new X509Certificate(cert);
    expect(parsed.verify(parsed.publicKey)).toBe(true);
    expect(parsed.ca).toBe(true);
    expect(key).toContain('PRIVATE KEY');
    for (const host of ['localhost', 'gateway.example']) expect(parsed.checkHost(host)).toBe(host);
    for (const address of ['127.0.0.1', '::1', 'fe80::1:2']) expect(parsed.checkIP(address)).toBe(address);
    expect(parsed.checkHost('elsewhere.example')).toBeUndefined();
    expect([parsed.validFromDate.getTime(), parsed.validToDate.getTime()]).toEqual([nowMs, Date.UTC(2060, 0, 1)]);
  });

  it('has another key and serial number each time', () => {
    const [a, b] = [0, 1].map(
      () => new X509Certificate(makeCertificate({ names: ['x'], fromMs: nowMs, untilMs: nowMs + 1 }).cert),
    );
    expect(a?.serialNumber).not.toBe(b?.serialNumber);
    expect(a?.publicKey.equals(b?.publicKey ?? a.publicKey)).toBe(false);
  });
});

describe('an assignment', () => {
  it('first announces deletions, then the new values, to the same device', async () => {
    const platform = await LocalPlatform.start();
    const { id } = platform.ensureDevice('gw');
    const path = join(folder, 'image');
    await writeFile(path, 'image');
    const file = { path, from: 0, until: 5, fileName: 'image', contentType: 'x' };
    platform.state.packages.put({
      id: 'p1',
      kind: 'FIRMWARE',
      title: 't',
      version: '1',
      createdMs: 0,
      file,
      checksum: 'c',
      checksumAlgorithm: 'MD5',
    });
    const device = platform.state.registry.devices.byId(id);
    if (device === undefined) throw new Error('no device');
    const told: unknown[] = [];
    platform.state.attributes.onShared((deviceId, message) => told.push([deviceId, message]));
    platform.state.registry.devices.put({ ...device, firmwareId: 'p1' });
    platform.packages.announce({ ...device, firmwareId: 'p1' }, 'FIRMWARE');
    expect(told).toEqual([
      [id, { deleted: ['fw_tag', 'fw_url'] }],
      [id, { fw_title: 't', fw_version: '1', fw_size: 5, fw_checksum: 'c', fw_checksum_algorithm: 'MD5' }],
    ]);
    await platform.close();
  });

  it('in whole-file mode names no size, and serves no chunks', async () => {
    const platform = await LocalPlatform.start({ wholeFileFirmware: true });
    const { id, accessToken } = platform.ensureDevice('gw');
    const path = join(folder, 'image');
    await writeFile(path, 'image');
    platform.state.packages.put({
      id: 'p1',
      kind: 'FIRMWARE',
      title: 't',
      version: '1',
      createdMs: 0,
      file: { path, from: 0, until: 5, fileName: 'image', contentType: 'x' },
    });
    const device = platform.state.registry.devices.byId(id);
    if (device === undefined) throw new Error('no device');
    platform.state.registry.devices.put({ ...device, firmwareId: 'p1' });
    platform.packages.announce({ ...device, firmwareId: 'p1' }, 'FIRMWARE');
    expect(platform.state.attributes.read(id, 'SHARED_SCOPE').map(({ key }) => key)).toEqual([
      'fw_title',
      'fw_version',
    ]);
    const answer = await fetch(`${platform.url}/api/v1/${accessToken}/firmware?title=t&version=1&size=2&chunk=1`);
    expect(await answer.text()).toBe('image');
    await platform.close();
  });
});
