/** Codes of errors in the sources, each with the messages that stand beside it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { english } from '../../src/names/sentences.ts';
import { ROOT } from '../bundle.ts';
import { skip, wordsOf } from './source-text.ts';

/** Message as one file has it; … stands for what is put in. */
export interface Message {
  readonly text: string;
  readonly file: string;
}

export interface ErrorCodeFound {
  readonly code: string;
  readonly messages: readonly Message[];
  /** What the agent does then, as far as the place says it. */
  readonly recoveries: readonly string[];
  /** Files below src/ that have the code. */
  readonly files: readonly string[];
}

/** Functions and classes whose first argument is the fault alone, and the room that they set before it. */
const ROOM_OF: Readonly<Record<string, string>> = {
  PlatformError: 'platform',
  AnalyticsError: 'analytics',
  sensorFault: 'sensors',
  'values/json.ts:refused': 'json',
};

const CODE = /^[a-z][a-z-]*\/[a-z][a-z0-9-]*$/;
const RECOVERY: Readonly<Record<string, string>> = {
  retryable: 'retry',
  sensorFault: 'retry',
  hardwareFault: 'retry',
  refusal: 'drop',
};
const THROWN = /(?:AgentError|retryable|refusal|[a-z]\w*)\(\s*'([a-z-]+)\/[a-z0-9-]+'/g;
/** First parts of other texts with a slash. */
const NO_ROOMS = new Set([
  'application',
  'text',
  'multipart',
  'device',
  'etc',
  'proc',
  'sys',
  'opt',
  'turnstone',
  'attributes',
  'room',
]);

interface Found {
  readonly messages: Map<string, Message>;
  readonly recoveries: Set<string>;
  readonly files: Set<string>;
}

export function errorCodes(): readonly ErrorCodeFound[] {
  const sources = sourceFiles();
  const rooms = new Set(sources.flatMap(({ text }) => [...text.matchAll(THROWN)].map(([, room = '']) => room)));
  for (const room of Object.values(ROOM_OF)) rooms.add(room);
  for (const other of NO_ROOMS) rooms.delete(other);
  const found = new Map<string, Found>();
  for (const { file, text } of sources) {
    for (const { code, message, recovery } of callsIn(file, text, rooms)) {
      const known = found.get(code) ?? { messages: new Map(), recoveries: new Set(), files: new Set() };
      found.set(code, known);
      known.files.add(file);
      for (const words of message) known.messages.set(`${file} ${words}`, { text: words.trim(), file });
      if (recovery !== undefined) known.recoveries.add(recovery);
    }
  }
  return [...found]
    .map(([code, { messages, recoveries, files }]) => ({
      code,
      messages: [...messages.values()].filter(hasWords),
      recoveries: [...recoveries],
      files: [...files],
    }))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
}

/** True for a message that is more than what the program puts in. */
function hasWords({ text }: Message): boolean {
  return /[a-z]{2}.*[a-z]{2}/i.test(text.replaceAll('…', ''));
}

/** Sources of the agent without its tests, by their paths below src/. */
export function sourceFiles(): readonly { readonly file: string; readonly text: string }[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .sort()
    .map((file) => ({ file, text: readFileSync(join(ROOT, 'src', file), 'utf8') }));
}

interface Call {
  readonly code: string;
  readonly message: readonly string[];
  readonly recovery: string | undefined;
}

function callsIn(file: string, text: string, rooms: ReadonlySet<string>): readonly Call[] {
  const calls: Call[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const end = skip(text, at);
    if (end === at) continue;
    const literal = text.slice(at, end);
    const [, callee = ''] = /([\w.#]+)\(\s*$/.exec(text.slice(Math.max(0, at - 80), at)) ?? [];
    const room = ROOM_OF[callee] ?? ROOM_OF[`${file}:${callee}`];
    const names = literal.startsWith("'") ? [codeOf(literal, room, rooms)] : [];
    for (const code of names) if (code !== undefined) calls.push({ code, ...beside(text, end, callee) });
    at = end - 1;
  }
  return calls;
}

function codeOf(literal: string, room: string | undefined, rooms: ReadonlySet<string>): string | undefined {
  const words = wordsOf(literal);
  if (room !== undefined) return /^[a-z-]+$/.test(words) ? `${room}/${words}` : undefined;
  return CODE.test(words) && rooms.has(words.split('/')[0] ?? '') ? words : undefined;
}

/** The message and the recovery in the arguments behind a code. */
function beside(text: string, from: number, callee: string): Pick<Call, 'message' | 'recovery'> {
  if (!/^\s*,/.test(text.slice(from)) || callee === '' || callee === 'hasCode')
    return { message: [], recovery: undefined };
  const args = argumentsBehind(text, from);
  const message = args.map((one) => messagesOf(one, text.slice(0, from))).find((words) => words.length > 0) ?? [];
  const [, recovery = RECOVERY[callee]] = /recovery: '(\w+)'/.exec(args.join(',')) ?? [];
  return { message, recovery };
}

/** The arguments behind a first one, up to the end of the call. */
function argumentsBehind(text: string, from: number): readonly string[] {
  const args: string[] = [];
  let depth = 0;
  let start = text.indexOf(',', from) + 1;
  for (let at = start; at < text.length; at += 1) {
    const end = skip(text, at);
    if (end > at) {
      at = end - 1;
      continue;
    }
    const sign = text[at] ?? '';
    if (')]}'.includes(sign) && depth === 0) return [...args, text.slice(start, at)];
    if ('([{'.includes(sign)) depth += 1;
    else if (')]}'.includes(sign)) depth -= 1;
    else if (sign === ',' && depth === 0) {
      args.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return args;
}

/** The texts of an argument: one, several of which one is chosen, or those of the constant that it names. */
function messagesOf(argument: string, before: string): readonly string[] {
  const given = argument.trim();
  const [, id] = /^sentence\(\s*'([\w/-]+)'/.exec(given) ?? [];
  if (id !== undefined) return [english({ id, values: new Proxy({}, { get: () => '…' }) })];
  if (/^\w+$/.test(given)) {
    const from = before.lastIndexOf(`const ${given} =`);
    const [, value = ''] = from < 0 ? [] : [...(/^const \w+ =([\s\S]*?);\n/.exec(before.slice(from)) ?? [])];
    return /^\w+$/.test(value.trim()) ? [] : messagesOf(value, '');
  }
  if (!/^['"`]|^[\w.!=<> ()?]+\?\s*['"`]/.test(given)) return [];
  const texts: string[] = [];
  let isJoined = false;
  for (let at = 0; at < given.length; at += 1) {
    const end = skip(given, at);
    if (end > at) {
      const words = wordsOf(given.slice(at, end));
      if (isJoined) texts.push((texts.pop() ?? '') + words);
      else texts.push(words);
      isJoined = false;
      at = end - 1;
    } else if (given[at] === '+') isJoined = true;
    else if ('{(,'.includes(given[at] ?? '') && texts.length > 0) break;
  }
  return texts.filter((words) => /\s/.test(words));
}
