/**
 * Lays out what a Debian package is built from: scripts/package-release.ts RELEASE-FOLDER TARGET DATE
 * TARGET/release is the release without what has another place in a package, under a manifest of its own; TARGET/debian holds packaging/debian
 * with the two files that are made here, changelog and copyright. DATE is seconds since 1970.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MANIFEST_NAME, parseManifest } from '../src/firmware/release-manifest.ts';
import { ROOT } from './bundle.ts';

/** Beginnings of paths in a release whose files dpkg puts elsewhere, or not at all. */
const ELSEWHERE = ['config/', 'docs/', 'systemd/', 'man/', 'completions/', 'LICENSE', 'signing-key.pem', 'install.sh'];
const PAPERS = /^[A-Z]+\.md$/;
const MAINTAINER = 'Turnstone maintainers <maintainers@turnstone.invalid>';

const [source = '', target = '', date = ''] = process.argv.slice(2);
const text = readFileSync(join(source, MANIFEST_NAME), 'utf8');
const manifest = parseManifest(text);
const isKept = (path: string): boolean =>
  !PAPERS.test(path) && !ELSEWHERE.some((beginning) => path.startsWith(beginning));

mkdirSync(target, { recursive: true });
for (const { path } of manifest.files) {
  const to = join(target, isKept(path) ? 'release' : 'papers', path);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(join(source, path), to);
}
const files = manifest.files.filter(({ path }) => isKept(path));
writeFileSync(join(target, 'release', MANIFEST_NAME), `${JSON.stringify({ ...JSON.parse(text), files }, null, 1)}\n`);
parseManifest(readFileSync(join(target, 'release', MANIFEST_NAME), 'utf8'));
cpSync(join(ROOT, 'packaging/debian'), join(target, 'debian'), { recursive: true });
writeFileSync(join(target, 'debian/changelog'), changelog());
writeFileSync(join(target, 'debian/copyright'), copyright());

/** A pre-release is older than its release for dpkg only behind a tilde. */
function packageVersion(): string {
  return manifest.release.replace(/^v(?=\d)/, '').replaceAll('-', '~');
}

function changelog(): string {
  const day = new Date(Number(date) * 1000).toUTCString().replace('GMT', '+0000');
  const what = `  * Release ${manifest.release}. What changes for somebody who updates:\n    /usr/share/doc/turnstone/CHANGELOG.md.gz`;
  return `turnstone (${packageVersion()}) stable; urgency=medium\n\n${what}\n\n -- ${MAINTAINER}  ${day}\n`;
}

/** The machine-readable form (DEP-5). What is bundled is named as a whole, with every text that came with it. */
function copyright(): string {
  const bundled = readFileSync(join(source, 'LICENSES.txt'), 'utf8');
  const node = existsSync(join(source, 'LICENSE.node')) ? readFileSync(join(source, 'LICENSE.node'), 'utf8') : '';
  return [
    'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: turnstone',
    'Files: *\nCopyright: 2026 the Turnstone maintainers\nLicense: Apache-2.0',
    `Files: release/*.mjs release/pages/* release/native/*\nCopyright: 2026 the Turnstone maintainers\n${indented(holders(bundled))}\nLicense: Apache-2.0 and bundled-packages`,
    `Files: release/node\nCopyright: ${holders(node).join('\n ')}\nLicense: Node.js`,
    'License: Apache-2.0\n On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.',
    `License: bundled-packages\n${verbatim(bundled)}`,
    `License: Node.js\n${verbatim(node)}`,
  ]
    .join('\n\n')
    .concat('\n');
}

function holders(licences: string): string[] {
  const lines = licences
    .split('\n')
    .flatMap((line) => /copyright (?:\(c\)|©)?\s*(.*\d{4}.*|.*\. All rights.*)$/i.exec(line)?.[1]?.trim() ?? []);
  return [...new Set(lines)].filter((line) => line !== '');
}

/** The text of the Apache licence lies on every Debian system, and a package refers to it. */
function verbatim(licences: string): string {
  const short = licences.replaceAll(
    /^.*Apache License\s+Version 2\.0, January 2004[\s\S]*?END OF TERMS AND CONDITIONS/gm,
    'Apache License, Version 2.0: the whole text is in /usr/share/common-licenses/Apache-2.0.',
  );
  return indented(short.trimEnd().split('\n'));
}

/** One space before each line, and a dot on an empty one. */
function indented(lines: readonly string[]): string {
  return lines.map((line) => (line.trim() === '' ? ' .' : ` ${line.trimEnd()}`)).join('\n');
}
