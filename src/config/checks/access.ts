/** Credentials, TLS and the status page: what is incomplete, and what anyone on the way could read. */
import { type Finding, finding, findingAtKey, noEffect } from '../fields/findings.ts';
import type { Check } from './draft.ts';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** First parts of the platform's own paths: its pages and its interfaces. */
const PAGES = /^\/(api|login|home|dashboards?|devices?|entities|profiles|customers|assets|alarms|rulechains?|settings|account)(\/|$)/i;
const PAIR = ['clientCertificateFile', 'clientKeyFile'] as const;

export const checkPlatformAccess: Check = ({ sections: { platform, provisioning } }) => {
  if (platform === undefined) return [];
  const findings: Finding[] = [];
  const [half, ...rest] = PAIR.filter((file) => platform[file] !== undefined);
  if (half !== undefined && rest.length === 0)
    findings.push(findingAtKey(['platform', half], `${half} without ${PAIR.find((file) => file !== half)}`, 'both'));
  const { hostname, protocol, pathname } = new URL(platform.url);
  const at = ['platform', 'url'];
  if (PAGES.test(pathname))
    findings.push(finding(at, 'the address of a page or an endpoint:', 'scheme, host and port of the platform alone'));
  else if (pathname !== '/')
    findings.push(
      finding(at, 'every request goes below the path of', 'scheme, host and port alone, unless a proxy wants this prefix', {
        warning: true,
      }),
    );
  if (protocol === 'http:') {
    for (const option of ['caFile', 'clientCertificateFile'] as const)
      if (platform[option] !== undefined) findings.push(noEffect(['platform'], option, 'a url beginning with https://'));
    if (!LOOPBACK.test(hostname))
      findings.push(finding(at, 'the access token travels unencrypted with', 'an address beginning with https://', { warning: true }));
  }
  const sources = 'accessToken, accessTokenFile or accessTokenCredential, or a section provisioning';
  const hint = 'without one, only credentials that are in the state folder already are used';
  if (!isGiven(platform, 'accessToken') && provisioning === undefined)
    findings.push(findingAtKey(['platform'], 'neither an access token nor provisioning', sources, { hint, warning: true }));
  return findings;
};

export const checkProvisioning: Check = ({ sections: { provisioning } }) => {
  if (provisioning === undefined) return [];
  return (['deviceKey', 'deviceSecret'] as const)
    .filter((field) => !isGiven(provisioning, field))
    .map((field) => findingAtKey(['provisioning'], `${field} is missing`, `${field}, ${field}File or ${field}Credential`));
};

/** Anyone on the network can open the page: a PIN that is guessed in a minute is none. */
const MIN_PIN_LENGTH = 4;

export const checkStatusPage: Check = ({ sections: { status } }) => {
  if (status === undefined) return [];
  if (status.page === 'lan' && !isGiven(status, 'pin')) return [finding(['status', 'page'], 'no PIN for', 'pin or pinFile beside it')];
  const isShort = status.pin !== undefined && status.pin.reveal().length < MIN_PIN_LENGTH;
  return isShort ? [finding(['status', 'pin'], 'too short:', `at least ${MIN_PIN_LENGTH} characters`)] : [];
};

/** Also when its file could not be read: that has been said already. */
function isGiven(section: object, secret: string): boolean {
  return ['', 'File', 'Credential'].some((source) => Object.hasOwn(section, `${secret}${source}`));
}
