/**
 * Certificates and keys that are there and are none, or do not belong together: the platform is never reached with them, and nothing between
 * here and there says why. One half of a pair may be in the middle of being replaced.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { readUserFile } from '../../host/durable-file.ts';
import type { ConfigPath } from '../fields/config-fault.ts';
import { type Finding, finding } from '../fields/findings.ts';
import type { ConfigDraft } from './draft.ts';

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
  if (key !== undefined && privateKey === undefined) tell(atKey, 'no private key in', 'a file with a key in PEM, without a passphrase');
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
  if (why !== undefined) tell(['platform', 'clientCertificateFile'], `${why} in`, 'a certificate that TLS takes here, with its key');
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
