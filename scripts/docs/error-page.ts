/** One page of every error code, with the messages that people see beside it. */
import type { ErrorCodeFound } from './error-codes.ts';
import { ERROR_WORDS, RECOVERY_WORDS, ROOM_WORDS } from './error-words.ts';
import { code, list, page, part } from './markdown.ts';

/** Place of a code in the page. */
export const anchorOf = (of: string): string => of.replace('/', '-');

export function errorPage(errors: readonly ErrorCodeFound[]): string {
  const rooms = Map.groupBy(errors, ({ code: of }) => of.split('/')[0] ?? '');
  return page('Error codes', [
    'Each error has a code and a message. Search this page for words of the message that you see.',
    'In a message, … stands for a name, a number or the cause.',
    list([...rooms.keys()].map((room) => `[${code(room)}](#${room}): ${ROOM_WORDS[room] ?? ''}`)),
    ...[...rooms].map(([room, found]) => part(room, ROOM_WORDS[room], ...found.map(section))),
  ]);
}

function section(found: ErrorCodeFound): string {
  const told = [...new Set(found.messages.map(({ text }) => text))];
  const after = found.recoveries.map((recovery) => RECOVERY_WORDS[recovery]).filter((words) => words !== undefined);
  return [
    `<a id="${anchorOf(found.code)}"></a>\n\n### ${code(found.code)}`,
    ERROR_WORDS[found.code],
    told.length === 0 ? undefined : list(told.map(code)),
    after.length === 0 ? undefined : after.join(' Or: '),
  ]
    .filter((one) => one !== undefined)
    .join('\n\n');
}
