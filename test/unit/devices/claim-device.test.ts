import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ClaimRequest, claimDevice, claimText, makeClaimSecret } from '../../../src/devices/claim-device.ts';
import { type Files, systemFiles } from '../../../src/host/files.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { stateFolder } from './state-folder.ts';

async function given(files: Files = systemFiles, fault: () => Error | undefined = () => undefined) {
  const folder = await stateFolder();
  const clock = new FakeClock();
  const sent: unknown[] = [];
  const hidden: string[] = [];
  const claim = (request: ClaimRequest) =>
    claimDevice(
      {
        deviceApi: {
          claim: async (what) => {
            const failed = fault();
            if (failed !== undefined) throw failed;
            sent.push(what);
          },
        },
        stateFolder: folder,
        deviceName: 'gw',
        clock,
        files,
        randomBytes: systemRandomBytes,
        hide: (secret) => hidden.push(secret),
      },
      request,
      new AbortController().signal,
    );
  return { folder, clock, sent, hidden, claim };
}

describe('claiming', () => {
  it('makes a secret that nobody guesses and anybody can type', () => {
    const secrets = new Set(Array.from({ length: 100 }, () => makeClaimSecret(systemRandomBytes)));
    expect(secrets.size).toBe(100);
    for (const secret of secrets) expect(secret).toMatch(/^([A-HJKMNP-Z2-9]{5}-){3}[A-HJKMNP-Z2-9]{5}$/);
  });

  it('sends secret and duration, and says until when', async () => {
    const { claim, sent, hidden, clock } = await given();
    const open = await claim({ secretKey: 'given', durationMs: 600_000 });
    expect(sent).toEqual([{ secretKey: 'given', durationMs: 600_000 }]);
    expect(open).toEqual({
      deviceName: 'gw',
      secretKey: 'given',
      untilMs: clock.wallMs() + 600_000,
      untilIsEstimate: false,
      alreadyOpen: false,
    });
    expect(hidden).toContain('given');
  });

  it('leaves the duration to the platform when none is given', async () => {
    const { claim, sent } = await given();
    expect((await claim({})).untilIsEstimate).toBe(true);
    expect(sent[0]).toEqual({ secretKey: expect.any(String) });
  });

  it('shows the open claim again, since the platform would ignore another', async () => {
    const { claim, clock } = await given();
    const first = await claim({ durationMs: 600_000 });
    expect(await claim({ secretKey: 'another', durationMs: 600_000 })).toMatchObject({
      secretKey: first.secretKey,
      alreadyOpen: true,
    });
    await clock.advance(600_001);
    expect(await claim({ secretKey: 'another', durationMs: 600_000 })).toMatchObject({
      secretKey: 'another',
      alreadyOpen: false,
    });
  });

  it('shows what is left of the open claim, also when its own secret is given again', async () => {
    const { claim, clock, sent } = await given();
    const { untilMs } = await claim({ secretKey: 'given', durationMs: 600_000 });
    await clock.advance(540_000);
    const again = { secretKey: 'given', durationMs: 600_000 };
    expect(await claim(again)).toMatchObject({ secretKey: 'given', untilMs, alreadyOpen: true });
    expect(sent.at(-1)).toEqual({ secretKey: 'given', durationMs: 60_000 });
    await clock.advance(60_000);
    expect(await claim(again)).toMatchObject({ untilMs: untilMs + 600_000, alreadyOpen: false });
  });

  it('that the platform refuses is not open, and keeps nobody from the next', async () => {
    let fault: Error | undefined;
    const { claim, folder } = await given(systemFiles, () => fault);
    for (const [kind, status] of [
      ['refused', 400],
      ['unauthorised', 401],
      ['not-found', 404],
      ['unauthorised', undefined],
    ] as const) {
      fault = new PlatformError(kind, 'no', status === undefined ? {} : { status });
      await expect(claim({ secretKey: `by ${kind}` })).rejects.toBe(fault);
      expect(await readdir(folder)).toEqual([]);
    }
    fault = undefined;
    expect(await claim({ secretKey: 'another' })).toMatchObject({ secretKey: 'another', alreadyOpen: false });
  });

  it('of which nobody knows whether the platform took it stays open, and so does one that was taken before', async () => {
    let fault: Error | undefined;
    const { claim } = await given(new MemoryFiles(), () => fault);
    for (const doubt of [
      new PlatformError('busy', 'gone'),
      new PlatformError('refused', 'a fault', { status: 500 }),
      new Error('other'),
    ]) {
      fault = doubt;
      await expect(claim({ secretKey: 'first', durationMs: 600_000 })).rejects.toBe(fault);
    }
    fault = undefined;
    expect(await claim({ secretKey: 'another' })).toMatchObject({ secretKey: 'first', alreadyOpen: true });
    fault = new PlatformError('refused', 'no', { status: 400 });
    for (const secretKey of ['first', 'another']) await expect(claim({ secretKey })).rejects.toBe(fault);
    fault = undefined;
    expect(await claim({ secretKey: 'another' })).toMatchObject({ secretKey: 'first', alreadyOpen: true });
  });

  it('is never kept open for longer than it was opened for, whatever the wall clock says', async () => {
    const { claim, clock, sent } = await given();
    const { secretKey } = await claim({ durationMs: 600_000 });
    await clock.advance(60_000);
    clock.stepWall(-3_600_000);
    expect(await claim({})).toMatchObject({ secretKey, untilMs: clock.wallMs() + 540_000 });
    clock.stepWall(7_200_000);
    expect(await claim({})).toMatchObject({ secretKey, untilMs: clock.wallMs() + 540_000 });
    clock.reboot({ bootId: 'without a clock', wallMs: 30_000 });
    expect(await claim({})).toMatchObject({ secretKey, alreadyOpen: true, untilMs: 630_000 });
    expect(sent.slice(1)).toEqual([540_000, 540_000, 600_000].map((durationMs) => ({ secretKey, durationMs })));
  });

  it('keeps the secret where only the service user reads it, and minds no spoilt file', async () => {
    const { claim, folder } = await given();
    const { secretKey } = await claim({});
    expect((await stat(join(folder, 'claim.json'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'claim.json'), 'utf8')).toContain(secretKey);
    await writeFile(join(folder, 'claim.json'), 'x');
    expect((await claim({})).alreadyOpen).toBe(false);
  });

  it('makes no second secret while it cannot be seen whether there is one', async () => {
    const files = new MemoryFiles();
    const { claim, sent } = await given(files);
    const { secretKey } = await claim({});
    files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
    await expect(claim({})).rejects.toMatchObject({ code: 'host/read-failed', recovery: 'retry' });
    files.faults = {};
    expect([await claim({}), sent.length]).toMatchObject([{ secretKey, alreadyOpen: true }, 2]);
  });

  it('says in the QR code what a claim form asks for', () => {
    expect(JSON.parse(claimText({ deviceName: 'gw', secretKey: 's' }))).toEqual({ deviceName: 'gw', secretKey: 's' });
  });
});
