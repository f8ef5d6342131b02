import { describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { chooseOffer, chooseWish, isOurs } from '../../../src/firmware/choose-update.ts';
import type { FirmwareOffer } from '../../../src/firmware/firmware-offer.ts';
import { releasePaths } from '../../../src/firmware/guard-state.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import type { UpdateJournal } from '../../../src/firmware/update-journal.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { makeImage } from '../../support/release-image.ts';

const { firmware } = configSchema.parse({
  version: 1,
  platform: { url: 'http://127.0.0.1:1', accessToken: 'token' },
  firmware: {
    handlers: [
      { title: 'motor', program: '/bin/true' },
      { title: 'panel', package: 'software', program: '/bin/true' },
    ],
  },
});
const clock = new FakeClock({ wallMs: 1_700_000_000_000 });
const paths = releasePaths('/');
const deps = {
  kind: 'firmware',
  config: firmware,
  release: { runningVersion: '2.0.0', vitals: () => ({ uploaded: true, reachable: true }), requestRestart: () => {} },
  clock,
  paths,
  newId: () => 'fresh',
} as const;
const idle: UpdateJournal = { state: 'idle', history: [] };
const offer: FirmwareOffer = {
  title: 'turnstone',
  version: '3.0.0',
  checksum: 'ab',
  algorithm: 'SHA256',
  fingerprint: 'f',
};
const outcomeOf = (
  changes: Partial<FirmwareOffer>,
  journal: Partial<UpdateJournal> = {},
  other: Partial<typeof deps> = {},
) => chooseOffer({ ...deps, ...other }, { ...idle, ...journal }, { ...offer, ...changes })?.outcome;

describe('an offer to an idle updater', () => {
  it('begins an update, with all that the steps need', () => {
    expect(chooseOffer(deps, idle, offer)).toEqual({
      outcome: { event: 'offered' },
      update: {
        id: 'fresh',
        title: 'turnstone',
        version: '3.0.0',
        source: 'platform',
        fingerprint: 'f',
        from: '2.0.0',
        startedAtMs: 1_700_000_000_000,
        unanswered: 0,
        attempts: 0,
        offer,
      },
    });
  });

  it('is nothing when there is none, or it was settled already', () => {
    expect(chooseOffer(deps, idle, undefined)).toBeUndefined();
    expect(outcomeOf({}, { settledOffer: 'f' })).toBeUndefined();
    expect(outcomeOf({}, { settledOffer: 'g' })).toEqual({ event: 'offered' });
  });

  it('of what runs is done already; of that version for something attached it is not', () => {
    expect(outcomeOf({ version: '2.0.0' })).toEqual({ event: 'runs-already' });
    expect(outcomeOf({ version: '2.0.0', title: 'motor' })).toEqual({ event: 'offered' });
  });

  it('for a handler comes after what that installed last, and not after the agent’s release', () => {
    const ended = { from: 'unknown', startedAtMs: 1, endedAtMs: 2 };
    const history = [
      { ...ended, title: 'motor', version: '3.0', outcome: 'FAILED' as const },
      { ...ended, title: 'pump', version: '9', outcome: 'UPDATED' as const },
      { ...ended, title: 'motor', version: '1.5', outcome: 'UPDATED' as const },
    ];
    const from = (title: string): string | undefined =>
      chooseOffer(deps, { ...idle, history }, { ...offer, title, version: '4.0' })?.update.from;
    expect([from('motor'), from('pump'), from('toaster'), from('turnstone')]).toEqual(['1.5', '9', 'unknown', '2.0.0']);
  });

  it.each(['motor', 'turnstone'])('of %s that is there already says so', (title) => {
    const again = chooseOffer(deps, { ...idle, installedOffer: 'f' }, { ...offer, title, version: '2.0.0' });
    expect([again?.outcome.event, again?.update.isThere]).toEqual(['runs-already', true]);
  });

  it('that cannot be read is refused with its fault, and downloads nothing', () => {
    const refused = { title: 't', version: '1', fingerprint: 'f', fault: 'it has no checksum' };
    const beginning = chooseOffer(deps, idle, refused);
    expect(beginning?.outcome).toEqual({ event: 'refused', reason: 'it has no checksum' });
    expect(beginning?.update).not.toHaveProperty('offer');
  });

  it('is held against the newest confirmed release, and against what runs where none is known', () => {
    expect(outcomeOf({ version: '1.9.9' })).toEqual({
      event: 'refused',
      reason: '1.9.9 is older than 2.0.0, and allowDowngrade is off',
    });
    expect(outcomeOf({ version: '2.5.0' }, { confirmedVersion: '2.6.0' })).toMatchObject({ event: 'refused' });
    expect(outcomeOf({ version: '2.6.0' }, { confirmedVersion: '2.6.0' })).toEqual({ event: 'offered' });
    expect(outcomeOf({ version: '2.0.0+build' })).toEqual({ event: 'offered' });
    // It runs: whatever was confirmed before, there is nothing to be done.
    expect(outcomeOf({ version: '2.0.0' }, { confirmedVersion: '2.6.0' })).toEqual({ event: 'runs-already' });
    expect(
      outcomeOf({ version: '1.9.9' }, {}, { config: { ...firmware, allowDowngrade: true } as typeof firmware }),
    ).toEqual({
      event: 'offered',
    });
  });

  it('is held against what runs where that is newer than what was confirmed, as after an installation by hand', () => {
    expect(outcomeOf({ version: '1.9.9' }, { confirmedVersion: '1.5.0' })).toEqual({
      event: 'refused',
      reason: '1.9.9 is older than 2.0.0, and allowDowngrade is off',
    });
  });

  it('is for a handler of its own kind of package only', () => {
    expect(outcomeOf({ title: 'panel' })).toEqual({ event: 'refused', reason: 'nothing here is called "panel"' });
    expect(outcomeOf({ title: 'panel' }, {}, { kind: 'software' as 'firmware' })).toEqual({ event: 'offered' });
    expect(outcomeOf({}, {}, { kind: 'software' as 'firmware' })).toMatchObject({ event: 'refused' });
    expect([
      isOurs(deps, 'turnstone'),
      isOurs(deps, 'motor'),
      isOurs({ ...deps, kind: 'software' }, 'turnstone'),
    ]).toEqual([true, false, false]);
  });

  it('for a handler may have any version that is safe as an argument', () => {
    expect(outcomeOf({ title: 'motor', version: 'Build 7 (final)' })).toEqual({ event: 'offered' });
    expect(outcomeOf({ title: 'motor', version: `1${'x'.repeat(127)}` })).toEqual({ event: 'offered' });
    expect(outcomeOf({ title: 'motor', version: `1${'x'.repeat(128)}` })).toMatchObject({ event: 'refused' });
  });
});

describe("a person's wish", () => {
  const path = '/media/release.tsr';
  const target = '/var/lib/turnstone/firmware/image';
  const never = new AbortController().signal;

  function begin(bytes: Uint8Array, other: object = {}) {
    const disk = new MemoryFiles();
    disk.put(path, bytes);
    const begun = chooseWish({ ...deps, files: updateFiles(disk), ...other }, { kind: 'file', path }, target, never);
    return { disk, begun };
  }

  function goBack(version: string) {
    const disk = new MemoryFiles();
    for (const kept of ['1.0.0', '2.0.0', '.incoming']) disk.put(`/opt/turnstone/releases/${kept}/node`, 'x');
    return chooseWish({ ...deps, files: updateFiles(disk) }, { kind: 'back', version }, target, never);
  }

  it('to go back is an update to a kept release', async () => {
    expect(await goBack('1.0.0')).toMatchObject({
      outcome: { event: 'back-asked' },
      update: { version: '1.0.0', source: 'kept', title: 'turnstone' },
    });
  });

  it.each(['1.0.0 ', 'turnstone 1.0.0', '', '.incoming', '../releases/1.0.0', '0.9.0'])(
    'to go back to %j, which is not kept, is refused at once',
    async (version) => {
      await expect(goBack(version)).rejects.toMatchObject({ code: 'firmware/no-release', recovery: 'drop' });
    },
  );

  it('to go back to what runs is refused at once', async () => {
    await expect(goBack('2.0.0')).rejects.toMatchObject({ code: 'firmware/same-release' });
  });

  it('for a file copies it to where the image is expected, and takes the version from its manifest', async () => {
    const image = makeImage({ release: '2.1.0' });
    const { disk, begun } = begin(image.bytes);
    expect(await begun).toMatchObject({
      outcome: { event: 'file-given' },
      update: { version: '2.1.0', source: 'file', from: '2.0.0' },
    });
    expect(disk.contentOf(target).equals(image.bytes)).toBe(true);
    expect((await disk.facts(target))?.mode).toBe(0o600);
    await disk.syncFolder('/var/lib/turnstone/firmware');
    disk.cutPower(() => false);
    expect(disk.contentOf(target).equals(image.bytes)).toBe(true);
  });

  it('for the release that runs is refused, and so is what is none, and what is too large', async () => {
    await expect(begin(makeImage({ release: '2.0.0' }).bytes).begun).rejects.toMatchObject({
      code: 'firmware/same-release',
    });
    await expect(begin(Buffer.from('no release')).begun).rejects.toMatchObject({ code: 'firmware/bad-archive' });
    const { bytes } = makeImage({ release: '2.1.0' });
    await expect(begin(bytes, { config: { ...firmware, maxSizeBytes: bytes.length - 1 } }).begun).rejects.toMatchObject(
      {
        code: 'firmware/too-large',
      },
    );
    await expect(begin(bytes, { config: { ...firmware, maxSizeBytes: bytes.length } }).begun).resolves.toBeDefined();
  });

  it('for a file closes it, whatever is in it', async () => {
    for (const bytes of [makeImage({ release: '2.1.0' }).bytes, Buffer.from('no release')]) {
      const disk = new MemoryFiles();
      disk.put(path, bytes);
      const files = updateFiles(disk);
      let open = 0;
      const openPlain: typeof files.openPlain = async (name) => {
        const file = await files.openPlain(name);
        open += 1;
        const close = async (): Promise<void> => {
          open -= 1;
        };
        return { ...file, close };
      };
      await chooseWish({ ...deps, files: { ...files, openPlain } }, { kind: 'file', path }, target, never).catch(
        () => undefined,
      );
      expect(open).toBe(0);
    }
  });
});
