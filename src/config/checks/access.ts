/** Credentials, TLS and the status page: what is incomplete, what anyone on the way could read, and certificates that are none. */

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { readUserFile } from '../../host/whole-file.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding, findingAtKey, noEffect } from '../fields/findings.ts';
import type { Check, ConfigDraft } from './draft.ts';

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** First parts of the platform's own paths: its pages and its interfaces. */
const PAGES =
  /^\/(api|login|home|dashboards?|devices?|entities|profiles|customers|assets|alarms|rulechains?|settings|account)(\/|$)/i;
const PAIR = ['clientCertificateFile', 'clientKeyFile'] as const;

export const checkPlatformAccess: Check = ({ sections: { platform, provisioning, firmware } }) => {
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
      finding(
        at,
        'every request goes below the path of',
        'scheme, host and port alone, unless a proxy wants this prefix',
        {
          warning: true,
        },
      ),
    );
  if (protocol === 'http:') {
    // Files with an external URL are fetched over https in any case, and their host may be of the private authority.
    const unused = firmware?.enabled === false ? ['caFile' as const] : [];
    for (const option of [...unused, 'clientCertificateFile' as const])
      if (platform[option] !== undefined)
        findings.push(noEffect(['platform'], option, 'a url beginning with https://'));
    if (!LOOPBACK.test(hostname))
      findings.push(
        finding(at, 'the access token travels unencrypted with', 'an address beginning with https://', {
          warning: true,
        }),
      );
  }
  const sources = 'accessToken, accessTokenFile or accessTokenCredential, or a section provisioning';
  const hint = 'without one, only credentials that are in the state folder already are used';
  if (!isGiven(platform, 'accessToken') && provisioning === undefined)
    findings.push(
      findingAtKey(['platform'], 'neither an access token nor provisioning', sources, { hint, warning: true }),
    );
  return findings;
};

export const checkProvisioning: Check = ({ sections: { provisioning } }) => {
  if (provisioning === undefined) return [];
  const { devices } = provisioning;
  const missing = (section: object, path: ConfigPath, fields: readonly string[]): Finding[] =>
    fields
      .filter((field) => !isGiven(section, field))
      .map((field) => findingAtKey(path, `${field} is missing`, `${field}, ${field}File or ${field}Credential`));
  return [
    ...missing(provisioning, ['provisioning'], ['deviceKey', 'deviceSecret']),
    ...(devices === undefined ? [] : missing(devices, ['provisioning', 'devices'], ['key', 'secret'])),
  ];
};

/** Anyone on the network can open the page: a PIN that is guessed in a minute is none. */
const MIN_PIN_LENGTH = 4;

export const checkStatusPage: Check = ({ sections: { status } }) => {
  if (status === undefined) return [];
  if (status.page === 'lan' && !isGiven(status, 'pin'))
    return [finding(['status', 'page'], 'no PIN for', 'pin or pinFile beside it')];
  if (status.control && !isGiven(status, 'pin'))
    return [finding(['status', 'control'], 'no PIN for', 'pin or pinFile beside it')];
  const isShort = status.pin !== undefined && status.pin.reveal().length < MIN_PIN_LENGTH;
  return isShort ? [finding(['status', 'pin'], 'too short:', `at least ${MIN_PIN_LENGTH} characters`)] : [];
};

/** Whoever takes an output out takes its limits and protecting rules with it. */
export const checkRemoteConfiguration: Check = ({ sections: { remoteConfiguration } }) => {
  const at = remoteConfiguration?.enabled === true ? remoteConfiguration.allow.indexOf('outputs') : -1;
  if (at === -1) return [];
  const problem = 'from afar an output can be taken out with its limits, and be put in again without them, by';
  return [
    finding(['remoteConfiguration', 'allow', at], problem, 'it only while outputs are changed', { warning: true }),
  ];
};

/** Also when its file could not be read: that has been said already. */
export function isGiven(section: object, secret: string): boolean {
  return ['', 'File', 'Credential'].some((source) => Object.hasOwn(section, `${secret}${source}`));
}

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

export async function checkCertificates({ sections: { platform, analytics } }: ConfigDraft): Promise<Finding[]> {
  const [authority, analyticsAuthority, certificate, key] = await Promise.all(
    [platform?.caFile, analytics?.caFile, platform?.clientCertificateFile, platform?.clientKeyFile].map(contentOf),
  );
  const findings: Finding[] = [];
  const tell = (path: ConfigPath, problem: string, expected: string): void => {
    findings.push(finding(path, problem, expected, { mayPass: true }));
  };
  const chainIn = (text: string | undefined, path: ConfigPath): readonly X509Certificate[] => {
    const chain = text === undefined ? [] : certificatesIn(text);
    if (chain === undefined) tell(path, 'no whole certificate in', 'a file with certificates in PEM');
    return chain ?? [];
  };
  chainIn(authority, ['platform', 'caFile']);
  chainIn(analyticsAuthority, ['analytics', 'caFile']);
  const [own] = chainIn(certificate, ['platform', 'clientCertificateFile']);
  const privateKey = key === undefined ? undefined : keyIn(key);
  const atKey: ConfigPath = ['platform', 'clientKeyFile'];
  if (key !== undefined && privateKey === undefined)
    tell(atKey, 'no private key in', 'a file with a key in PEM, without a passphrase');
  if (own !== undefined && privateKey !== undefined && !own.checkPrivateKey(privateKey))
    tell(atKey, 'the key of another certificate in', 'the key of clientCertificateFile');
  if (findings.length > 0) return findings;
  // Whole is not enough: what this machine calls too weak is refused at every connection.
  const whyRefused = (files: SecureContextOptions): string | undefined => {
    try {
      createSecureContext(files);
      return undefined;
    } catch (error) {
      return refusalIn(error);
    }
  };
  for (const [text, path] of [
    [authority, ['platform', 'caFile']],
    [analyticsAuthority, ['analytics', 'caFile']],
  ] as const) {
    const why = text === undefined ? undefined : whyRefused({ ca: text });
    if (why !== undefined) tell(path, `${why} in`, 'certificates that TLS takes here');
  }
  const why = certificate === undefined || key === undefined ? undefined : whyRefused({ cert: certificate, key });
  if (why !== undefined)
    tell(['platform', 'clientCertificateFile'], `${why} in`, 'a certificate that TLS takes here, with its key');
  return findings;
}

/** In the words of OpenSSL, which quote nothing of a file. */
function refusalIn(error: unknown): string {
  const { reason = 'something that is refused' } = error as { readonly reason?: unknown };
  return `a certificate or key that TLS refuses (${reason})`;
}

/** Undefined when it is not there, which is told already. */
async function contentOf(file: string | undefined): Promise<string | undefined> {
  const content = file === undefined ? undefined : await readUserFile(file).catch(() => undefined);
  return content?.toString('latin1');
}

/** Undefined unless there is one, and all can be read: after one that cannot, those behind it are passed over. */
function certificatesIn(text: string): readonly X509Certificate[] | undefined {
  const written = text.match(CERTIFICATE) ?? [];
  try {
    return written.length === 0 ? undefined : written.map((one) => new X509Certificate(one));
  } catch {
    return undefined;
  }
}

function keyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}
