/** Page of all options outside of sensors and actuators, made from the schema and from the comments of the example. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { configShape } from '../../src/config/schema/agent-config.ts';
import { ROOT } from '../bundle.ts';
import { CONFIG_WORDS, placeWords } from './config-words.ts';
import { exampleComments } from './example-comments.ts';
import type { ReferencePage } from './kind-pages.ts';
import { code, page, part, plain, sentence, table } from './markdown.ts';
import { configFields } from './option-comments.ts';
import { type OptionRow, optionRows, SECTION } from './option-rows.ts';

const SAYS = 'Every option outside of sensors and actuators, by section.';
/** Sections with pages of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  sensors: 'A list. [Every sensor](every-sensor.md) has the options that all have, and each kind its own page.',
  actuators: 'A list. [Every actuator](every-actuator.md) has the options that all have, and each kind its own page.',
};
/** A condition within another has the same options. */
const WITHIN_CONDITION = /^rules\[\]\.when\.((all|any)\[\]|not)\./;
const BY_ATTRIBUTE = 'A shared attribute can change it.';
const AMOUNTS =
  'Durations are written as `500ms`, `10s`, `5m`, `1h30m`, `90d`; sizes as `64kB`, `16MB`, `1GB`, or `KiB`, `MiB`, `GiB`; rates as `50/s` or `200kB/s`.';
const SECRETS = `A secret stands in the file, comes from the environment (\`\${NAME}\`, in any text), from a file (\`…File\`) or from a systemd credential (\`…Credential\`).`;

export function configPage(): ReferencePage {
  const comments = exampleComments(readFileSync(join(ROOT, 'config/turnstone.example.yaml'), 'utf8'));
  const all = configRows(comments);
  const sections = Object.keys(configShape);
  const single = sections.flatMap((name) => all.filter(({ path }) => path === name && !hasBelow(all, name)));
  const text = page('Configuration reference', [
    `${AMOUNTS} ${SECRETS}`,
    'One without a default is off when it is not given. The file `config/turnstone.example.yaml` shows all of them in place.',
    part('At the top of the file', rowTable(single)),
    ...sections
      .filter((name) => hasBelow(all, name) || ELSEWHERE[name] !== undefined)
      .map((name) =>
        part(
          name,
          ELSEWHERE[name] ?? sectionSays(all, name),
          ELSEWHERE[name] === undefined ? rowTable(all.filter(({ path }) => isBelow(path, name))) : undefined,
        ),
      ),
    part(
      'templates',
      'Sections with words to fill in, for sensors and actuators that are alike: [Configuration](../configuration.md#many-alike).',
    ),
  ]);
  return { path: 'configuration.md', name: 'configuration', says: SAYS, text };
}

/** Rows of all sections; the words of the example go before those of the sources. */
export function configRows(comments: ReadonlyMap<string, string>): readonly OptionRow[] {
  const { sensors: _sensors, actuators: _actuators, ...others } = configShape;
  const rows = optionRows(z.object(others), { kind: 'config', fields: configFields() });
  const paths = new Set(rows.map(({ path }) => path));
  return rows
    .filter(({ path }) => !WITHIN_CONDITION.test(path))
    .map((row) => {
      const own = CONFIG_WORDS[row.path] ?? placeWords(row.path, paths);
      const isLive = row.meaning.endsWith(BY_ATTRIBUTE) || /^live\b/.test(comments.get(row.path) ?? '');
      const words = own === undefined ? wordsOf(comments.get(row.path) ?? row.meaning) : sentence(plain(own));
      return { ...row, meaning: isLive ? `${words} ${BY_ATTRIBUTE}`.trim() : words };
    })
    .filter(({ meaning, takes }) => meaning !== '' || takes !== SECTION);
}

/** Words of a comment without the mark `live`, which is told at the end. */
function wordsOf(comment: string): string {
  const words = comment
    .replace(/^live(; |$)/, '')
    .replace(BY_ATTRIBUTE, '')
    .trim();
  return words === '' ? '' : sentence(plain(words));
}

function sectionSays(rows: readonly OptionRow[], name: string): string | undefined {
  const own = rows.find(({ path }) => path === name);
  return own === undefined || own.meaning === '' ? undefined : own.meaning;
}

const isBelow = (path: string, name: string): boolean => path.startsWith(`${name}.`) || path.startsWith(`${name}[`);
const hasBelow = (rows: readonly OptionRow[], name: string): boolean => rows.some(({ path }) => isBelow(path, name));

function rowTable(rows: readonly OptionRow[]): string | undefined {
  return table(
    ['Option', 'Meaning', 'Takes', 'Default'],
    rows.map(({ path, meaning, takes, byDefault }) => [code(path), meaning, takes, byDefault]),
  );
}
