import { describe, expect, it } from 'vitest';
import { authorization, parseChallenge } from '../../../src/sensors/http/digest-login.ts';

// RFC 7616, section 3.9.1: one request, asked with both algorithms.
const REALM = 'http-auth@example.org';
const NONCE = '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v';
const OPAQUE = 'FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS';
const LOGIN = { user: 'Mufasa', password: 'Circle of Life' };
const REQUEST = {
  method: 'GET',
  target: '/dir/index.html',
  count: 1,
  clientNonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
};
const challenge = (algorithm: string): string =>
  `Digest realm="${REALM}", qop="auth, auth-int", algorithm=${algorithm}, nonce="${NONCE}", opaque="${OPAQUE}"`;

function answerTo(header: string): string {
  const asked = parseChallenge(header);
  return asked === undefined ? '' : authorization(asked, LOGIN, REQUEST);
}

describe('the answer to a question for a password', () => {
  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('is that of RFC 7616 for %s', (algorithm, response) => {
    const answer = answerTo(challenge(algorithm));
    expect(answer).toContain(`response="${response}"`);
    expect(answer).toContain(`uri="/dir/index.html"`);
    expect(answer).toContain('qop=auth, nc=00000001');
  });

  // RFC 2069 in its errata: no counts.
  it('is the older one where no quality is asked for', () => {
    const answer = answerTo(
      'Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"',
    );
    expect(answer).not.toContain('cnonce');
    expect(answer).toMatch(/response="[0-9a-f]{32}"/);
  });

  it('takes the strongest of several, and Basic where there is no other', () => {
    expect(parseChallenge(`${challenge('MD5')}, ${challenge('SHA-256')}, Basic realm="x"`)).toMatchObject({
      algorithm: 'SHA-256',
    });
    expect(answerTo('Basic realm="x"')).toBe(`Basic ${Buffer.from('Mufasa:Circle of Life').toString('base64')}`);
    expect(parseChallenge('Bearer realm="x"')).toBeUndefined();
    expect(parseChallenge('Digest realm="x", nonce="n", qop="auth-int"')).toBeUndefined();
  });
});
