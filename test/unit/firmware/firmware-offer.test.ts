import { describe, expect, it } from 'vitest';
import { type FirmwareOffer, offerKeys, prefixOf, readOffer } from '../../../src/firmware/firmware-offer.ts';
import type { JsonObject } from '../../../src/values/json.ts';

const SUM = 'AB'.repeat(32);
const shared = (changes: JsonObject = {}): JsonObject => ({
  fw_title: 'turnstone',
  fw_version: '2.0.0',
  fw_checksum: SUM,
  ...changes,
});
const read = (changes?: JsonObject) => readOffer('firmware', shared(changes));

describe('an offer', () => {
  it('is asked for by the seven names of its kind', () => {
    expect(offerKeys('firmware')).toEqual(
      ['title', 'version', 'checksum', 'checksum_algorithm', 'size', 'url', 'tag'].map((name) => `fw_${name}`),
    );
    expect(offerKeys('software')[0]).toBe('sw_title');
    expect([prefixOf('firmware'), prefixOf('software')]).toEqual(['fw', 'sw']);
  });

  it('is read as one thing', () => {
    expect(read({ fw_checksum_algorithm: 'MD5', fw_size: 12, fw_url: 'https://x.test/a' })).toEqual({
      title: 'turnstone',
      version: '2.0.0',
      checksum: SUM.toLowerCase(),
      algorithm: 'MD5',
      sizeBytes: 12,
      url: 'https://x.test/a',
      fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });

  it('needs no more than title, version and checksum', () => {
    const { fingerprint: _, ...rest } = read() as FirmwareOffer;
    expect(rest).toEqual({ title: 'turnstone', version: '2.0.0', checksum: SUM.toLowerCase(), algorithm: 'SHA256' });
  });

  it('is none without a title or without a version', () => {
    expect([
      read({ fw_title: '' }),
      read({ fw_version: '  ' }),
      read({ fw_title: null }),
      readOffer('software', shared()),
    ]).toEqual(new Array(4).fill(undefined));
  });

  it('is asked for as it was written, with its blanks, and is another one without them', () => {
    expect(read({ fw_title: ' motor', fw_version: '7 ' })).toMatchObject({ title: ' motor', version: '7 ' });
    expect(read({ fw_version: '2.0.0 ' })?.fingerprint).not.toBe(read()?.fingerprint);
    expect(read({ fw_checksum: ` ${SUM} ` })).toMatchObject({ checksum: SUM.toLowerCase() });
  });

  it('may have numbers for its title and version, however long', () => {
    expect(read({ fw_title: 12, fw_version: 9007199254740993n })).toMatchObject({
      title: '12',
      version: '9007199254740993',
    });
  });

  it.each([0, '0', '', null])('says nothing of its size by %j', (size) => {
    expect(read({ fw_size: size })).not.toMatchObject({ sizeBytes: expect.anything() });
    expect(read({ fw_size: size })).not.toMatchObject({ fault: expect.anything() });
  });

  it.each([
    [{ fw_title: 't'.repeat(256) }, 'its title or version is too long'],
    [{ fw_version: '1'.repeat(256) }, 'its title or version is too long'],
    [{ fw_checksum: `${SUM}${SUM}0` }, 'its checksum is none'],
    [{ fw_checksum: 'sum' }, 'its checksum is none'],
    [{ fw_size: '1'.repeat(16) }, 'its size is not a number of bytes'],
    [{ fw_size: -1 }, 'its size is not a number of bytes'],
    [{ fw_url: `https://${'x'.repeat(2041)}` }, 'its address is too long'],
    [{ fw_checksum_algorithm: 'R'.repeat(60) }, `the checksum algorithm ${'R'.repeat(40)} is not known`],
  ])('is refused with its name and its fault %#', (changes, fault) => {
    const refused = read(changes);
    expect(refused).toMatchObject({ fault, fingerprint: expect.any(String) });
    expect(refused?.title.length).toBeLessThan(256);
    expect(refused?.version.length).toBeLessThan(256);
  });

  it('may be as long as is allowed', () => {
    const changes = {
      fw_title: 't'.repeat(255),
      fw_version: '1'.repeat(255),
      fw_url: `https://${'x'.repeat(2040)}`,
      fw_size: '1'.repeat(15),
    };
    expect(read({ ...changes, fw_checksum: `${SUM}${SUM}` })).not.toMatchObject({ fault: expect.anything() });
  });

  it('is another one when any of its parts is another, the tag too', () => {
    const fingerprints = [
      read(),
      read({ fw_tag: 'again' }),
      read({ fw_size: 1 }),
      read({ fw_url: 'https://x.test' }),
      read({ fw_version: '2.0.1' }),
      read({ fw_checksum: `${SUM.slice(0, -1)}0` }),
    ].map((offer) => offer?.fingerprint);
    expect(new Set(fingerprints).size).toBe(fingerprints.length);
    expect(read({ other: 1 })?.fingerprint).toBe(fingerprints[0]);
  });
});
