/**
 * A certificate for the local platform's HTTPS port, made at start: an X.509 v3 self-signed one (RFC 5280), its own authority, so that a
 * client trusts it by being given it. Written in DER here, as the libraries for it are 20 packages and 4.9 MB (`@peculiar/x509`), 23 and
 * 9.1 MB (`selfsigned`), or sign with RSA alone (`node-forge`).
 */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';

export interface SelfSignedCertificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

export interface CertificateSubject {
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
  /** UTC epoch ms. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** `false`: it vouches for itself alone, so that whoever trusts it trusts no other name; default: it may sign others. */
  readonly isAuthority?: boolean;
}

/** Object identifiers, already in DER. */
const OID = {
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
  commonName: Buffer.from('0603550403', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
  basicConstraints: Buffer.from('0603551d13', 'hex'),
  extendedKeyUsage: Buffer.from('0603551d25', 'hex'),
  serverAuth: Buffer.from('06082b06010505070301', 'hex'),
} as const;

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utf8: 0x0c,
  sequence: 0x30,
  set: 0x31,
} as const;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
/** RFC 5280, 4.1.2.5: UTCTime through 2049, GeneralizedTime from then on. */
const GENERALIZED_FROM_YEAR = 2050;

/** A P-256 key and its certificate. */
export function makeCertificate(subject: CertificateSubject): SelfSignedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(OID.ecdsaWithSha256);
  const name = sequence(
    der(TAG.set, sequence(OID.commonName, der(TAG.utf8, Buffer.from(subject.names[0] ?? 'localhost')))),
  );
  const body = sequence(
    der(0xa0, der(TAG.integer, Buffer.from([2]))),
    der(TAG.integer, serialNumber()),
    algorithm,
    name,
    sequence(time(subject.fromMs), time(subject.untilMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions(subject))),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, algorithm, der(TAG.bitString, Buffer.from([0]), signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: new X509Certificate(certificate).toString(),
  };
}

function extensions({ names, isAuthority = true }: CertificateSubject): readonly Buffer[] {
  const alternatives = names.map((name) =>
    // GeneralName: [2] a DNS name, [7] the bytes of an address.
    isIP(name) === 0 ? der(0x82, Buffer.from(name, 'ascii')) : der(0x87, addressBytes(name)),
  );
  const constraints = isAuthority ? sequence(der(TAG.boolean, Buffer.from([0xff]))) : sequence();
  return [
    sequence(OID.subjectAltName, der(TAG.octetString, sequence(...alternatives))),
    sequence(OID.basicConstraints, der(TAG.boolean, Buffer.from([0xff])), der(TAG.octetString, constraints)),
    ...(isAuthority ? [] : [sequence(OID.extendedKeyUsage, der(TAG.octetString, sequence(OID.serverAuth)))]),
  ];
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const halves = new SocketAddress({ address, family: 'ipv6' }).address.split('::');
  const [left = [], right = []] = halves.map((half) => half.split(':').filter((group) => group !== ''));
  const zeros = new Array<string>(8 - left.length - right.length).fill('0');
  return Buffer.from([...left, ...zeros, ...right].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** Positive, so the highest bit is clear; not zero in its first byte, so DER needs no more. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes;
}

function time(ms: number): Buffer {
  const text = `${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  if (Number(text.slice(0, 4)) >= GENERALIZED_FROM_YEAR) return der(GENERALIZED_TIME, Buffer.from(text));
  return der(UTC_TIME, Buffer.from(text.slice(2)));
}

function sequence(...content: readonly Buffer[]): Buffer {
  return der(TAG.sequence, ...content);
}

function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = Buffer.from(body.length.toString(16).padStart(body.length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}
