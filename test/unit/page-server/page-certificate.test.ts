import { X509Certificate } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Log, silentLog } from '../../../src/host/log.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { readWhole } from '../../../src/host/whole-file.ts';
import {
  openPageCertificate,
  PAGE_CERTIFICATE,
  type PageCertificate,
} from '../../../src/page-server/page-certificate.ts';
import { shortFingerprint } from '../../../src/status/shape/agent-status.ts';
import { writeDurably } from '../../../src/store/durable-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const FILE = `/state/${PAGE_CERTIFICATE}`;
const DAY_MS = 86_400_000;

describe('the certificate of the page', () => {
  let files: MemoryFiles;
  let told: string[];

  beforeEach(async () => {
    files = new MemoryFiles();
    await files.makeFolder('/state');
    told = [];
  });

  function open(clock = clockAt('2026-03-01'), hostname = 'gateway-7'): Promise<PageCertificate> {
    const log: Log = { ...silentLog, warn: (_fields, message) => told.push(message) };
    return openPageCertificate({ files, clock, log, stateFolder: '/state', hostname });
  }

  it('is made once, for the owner alone, under the names of this machine', async () => {
    const made = await open();
    expect((await files.facts(FILE))?.mode).toBe(0o600);
    const { subjectAltName, validFrom, fingerprint256 } = new X509Certificate(made.cert);
    expect(subjectAltName).toBe(
      'DNS:gateway-7, DNS:gateway-7.local, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
    );
    expect([new Date(validFrom).toISOString(), made.fingerprint]).toEqual(['2024-12-31T00:00:00.000Z', fingerprint256]);
    expect(shortFingerprint(made.fingerprint)).toMatch(/^([0-9A-F]{2} ){7}[0-9A-F]{2}$/);
    expect([await open(), told]).toEqual([made, []]);
  });

  it('is good for whoever knows the time, though this machine did not: a clock without a battery changes nothing', async () => {
    const made = await open(clockAt('1970-01-01'));
    const { validFrom, validTo } = new X509Certificate(made.cert);
    expect(Date.parse(validFrom)).toBeLessThan(Date.UTC(2025, 0, 1));
    expect(Date.parse(validTo)).toBeGreaterThan(Date.UTC(2034, 0, 1));
    expect(await open(clockAt('2026-03-01'))).toEqual(made);
    expect(await open(clockAt('1970-01-01'))).toEqual(made);
  });

  it.each(['no name', 'a'.repeat(64), 'localhost', ''])(
    'has only names that a certificate takes: %j',
    async (hostname) => {
      const { cert } = await open(undefined, hostname);
      expect(new X509Certificate(cert).subjectAltName).toMatch(/^DNS:localhost, IP/);
    },
  );

  it('is made anew a month before its end, and not earlier', async () => {
    const made = await open();
    const endMs = Date.parse(new X509Certificate(made.cert).validTo);
    expect(await open(clockAt(endMs - 31 * DAY_MS))).toEqual(made);
    expect(told).toEqual([]);
    const next = await open(clockAt(endMs - 29 * DAY_MS));
    expect(next.fingerprint).not.toBe(made.fingerprint);
    expect(told).toEqual([expect.stringContaining('ends soon')]);
    expect(await open(clockAt(endMs))).toEqual(next);
  });

  it('is made anew when the file is damaged, cut, or has the key of another', async () => {
    const { key, cert, fingerprint } = await open();
    const other = makeCertificate({ names: ['x'], fromMs: 0, untilMs: Date.UTC(2040, 0, 1) });
    const at = cert.length - 60;
    const flipped = `${cert.slice(0, at)}${cert[at] === 'A' ? 'B' : 'A'}${cert.slice(at + 1)}`;
    for (const text of [
      '',
      'nothing',
      key,
      key + cert.slice(0, 90),
      other.key + cert,
      key + flipped,
      'x'.repeat(20_000),
    ]) {
      told = [];
      await writeDurably(files, FILE, text);
      const next = await open();
      expect(next.fingerprint).not.toBe(fingerprint);
      expect(told).toHaveLength(1);
      expect(await open()).toEqual(next);
    }
  });

  it('is another one for now while the disk does not give the kept one, which stays', async () => {
    const made = await open();
    files.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
    const clock = clockAt('2026-03-01');
    const opening = open(clock);
    await clock.advance(2_000);
    expect((await opening).fingerprint).not.toBe(made.fingerprint);
    files.faults = { delay: () => new Promise(() => {}) };
    const hanging = open(clock);
    await clock.advance(10_000);
    expect((await hanging).fingerprint).not.toBe(made.fingerprint);
    expect(told).toEqual(Array(2).fill(expect.stringContaining('until the next start')));
    files.faults = {};
    expect(await open()).toEqual(made);
  });

  it('opens the page all the same when the disk does not take it', async () => {
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    expect((await open()).fingerprint).toMatch(/^[0-9A-F:]{95}$/);
    expect(told).toEqual([expect.stringContaining('the next start makes another')]);
    files.faults = {};
    expect(await readWhole(files, FILE)).toBeUndefined();
  });
});

function clockAt(when: string | number): FakeClock {
  return new FakeClock({ wallMs: new Date(when).getTime() });
}
