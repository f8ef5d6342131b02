/**
 * Signs a file for packages that are no release, a configuration or what a handler installs, as build-release.ts signs a release:
 * scripts/build-release.sh --key signing-key.pem --sign FILE
 * Writes FILE.signed: the file with the signature behind it, which a gateway takes off. The same file and key give the same bytes.
 */
import { createHash, createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { signatureFrame } from '../src/firmware/release-signature.ts';

const { values } = parseArgs({ options: { sign: { type: 'string' }, key: { type: 'string' } } });
const { sign: file, key } = values;
if (file === undefined || key === undefined) {
  process.stderr.write('build-release: --sign FILE needs --key signing-key.pem\n');
  process.exit(64);
}
const content = readFileSync(file);
const signed = Buffer.concat([content, signatureFrame(sha256(content), createPrivateKey(readFileSync(key)))]);
writeFileSync(`${file}.signed`, signed);
console.log(`${file}.signed\n${signed.length} bytes, signed, SHA-256 ${sha256(signed).toString('hex')}`);

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
