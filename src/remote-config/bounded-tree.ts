/**
 * A configuration as a plain tree, within bounds that root trusts: no bytes, depth or aliases without end. Templates, anchors and merge
 * keys are expanded; variables of the environment stay as they are written.
 */
import { Lexer } from 'yaml';
import { expandTemplates } from '../config/expand-templates.ts';
import { decodeText } from '../config/yaml/yaml-bounds.ts';
import { readYaml } from '../config/yaml/yaml-source.ts';
import { refusal } from '../errors/agent-error.ts';
import type { Tree } from './tree-differences.ts';

export const MAX_CONFIGURATION_BYTES = 1024 * 1024;
/** They are for sharing a few key rules. */
const MAX_ALIASES = 100;
/** Emitted by the lexer before the text of a block, which may begin with anything. */
const TEXT_FOLLOWS = '\x1f';

/**
 * Reads bytes that may be anything. At most 32 levels, by readYaml.
 * @param whose words for the file: "the file in place".
 * @throws AgentError `remote-config/unreadable` (drop).
 */
export function boundedTree(bytes: Uint8Array, whose: string): Tree {
  const wrong = (why: string): Error => refusal('remote-config/unreadable', `${whose} cannot be read: ${why}`);
  if (bytes.length > MAX_CONFIGURATION_BYTES) throw wrong(`it has more than ${MAX_CONFIGURATION_BYTES} bytes`);
  const text = decodeText(bytes);
  if (typeof text !== 'string') throw wrong(text.problem);
  if (hasTooManyAliases(text)) throw wrong(`it has more than ${MAX_ALIASES} aliases`);
  const { tree, faults } = expandTemplates(readYaml(text));
  const [fault] = faults;
  if (fault !== undefined) throw wrong(`line ${fault.line}: ${fault.problem}`);
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) throw wrong('it is no mapping');
  return tree as Tree;
}

function hasTooManyAliases(text: string): boolean {
  let aliases = 0;
  let before = '';
  for (const token of new Lexer().lex(text)) {
    if (token.startsWith('*') && before !== TEXT_FOLLOWS && ++aliases > MAX_ALIASES) return true;
    before = token;
  }
  return false;
}
