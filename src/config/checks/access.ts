/** Credentials, TLS and the status page: what is incomplete, and what anyone on the way could read. */
import type { Finding } from '../fields/findings.ts';
import type { Check } from './draft.ts';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export const checkPlatformAccess: Check = ({ sections: { platform, provisioning } }) => {
  if (platform === undefined) return [];
  const findings: Finding[] = [];
  const pair = (one: 'clientCertificateFile' | 'clientKeyFile', other: 'clientCertificateFile' | 'clientKeyFile'): void => {
    if (platform[one] !== undefined && platform[other] === undefined)
      findings.push({ path: ['platform', one], atKey: true, problem: `${one} without ${other}`, value: '', expected: 'both' });
  };
  pair('clientCertificateFile', 'clientKeyFile');
  pair('clientKeyFile', 'clientCertificateFile');
  const { hostname, protocol } = new URL(platform.url);
  if (protocol === 'http:') {
    for (const option of ['caFile', 'clientCertificateFile'] as const) {
      if (platform[option] !== undefined)
        findings.push({
          path: ['platform', option],
          atKey: true,
          problem: `${option} has no effect`,
          value: '',
          expected: 'a url beginning with https://',
        });
    }
    if (!LOOPBACK.test(hostname))
      findings.push({
        path: ['platform', 'url'],
        problem: 'the access token travels unencrypted with',
        expected: 'https://',
        warning: true,
      });
  }
  if (!isGiven(platform, 'accessToken') && provisioning === undefined)
    findings.push({
      path: ['platform'],
      atKey: true,
      problem: 'neither an access token nor provisioning',
      value: '',
      expected: 'accessToken, accessTokenFile or accessTokenCredential, or a section provisioning',
      hint: 'without one, only credentials that are in the state folder already are used',
      warning: true,
    });
  return findings;
};

export const checkProvisioning: Check = ({ sections: { provisioning } }) => {
  if (provisioning === undefined) return [];
  return (['deviceKey', 'deviceSecret'] as const)
    .filter((field) => !isGiven(provisioning, field))
    .map((field) => ({
      path: ['provisioning'],
      atKey: true,
      problem: `${field} is missing`,
      value: '',
      expected: `${field}, ${field}File or ${field}Credential`,
    }));
};

/** Anyone on the network can open the page: a PIN that is guessed in a minute is none. */
const MIN_PIN_LENGTH = 4;

export const checkStatusPage: Check = ({ sections: { status } }) => {
  if (status === undefined) return [];
  if (status.page === 'lan' && !isGiven(status, 'pin'))
    return [{ path: ['status', 'page'], problem: 'no PIN for', expected: 'pin or pinFile beside it' }];
  return status.pin !== undefined && status.pin.reveal().length < MIN_PIN_LENGTH
    ? [{ path: ['status', 'pin'], problem: 'too short:', expected: `at least ${MIN_PIN_LENGTH} characters` }]
    : [];
};

/** Also when its file could not be read: that has been said already. */
function isGiven(section: object, secret: string): boolean {
  return ['', 'File', 'Credential'].some((source) => Object.hasOwn(section, `${secret}${source}`));
}
