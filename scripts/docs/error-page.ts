/** One page of every error code, with the messages that people see beside it. */
import { type ErrorCodeFound, errorCodes } from './error-codes.ts';
import { ERROR_WORDS, RECOVERY_WORDS, ROOM_WORDS } from './error-words.ts';
import { code, list, page, part, sentence } from './markdown.ts';

/** Place of a code in the page. */
export const anchorOf = (of: string): string => of.replace('/', '-');

export function errorPage(): string {
  const rooms = Map.groupBy(errorCodes(), ({ code: of }) => of.split('/')[0] ?? '');
  return page('Error codes', [
    'Logs, answers and `--json` have these codes; the terminal has the message alone. In a message, … stands for a name, a number or the cause.',
    list([...rooms.keys()].map((room) => `[${code(room)}](#${room}): ${ROOM_WORDS[room] ?? ''}`)),
    ...[...rooms].map(([room, found]) => part(room, ROOM_WORDS[room], ...found.map(section))),
  ]);
}

function section(found: ErrorCodeFound): string {
  const told = messagesToShow(found);
  const after = found.recoveries.map((recovery) => RECOVERY_WORDS[recovery]).filter((words) => words !== undefined);
  return [
    `<a id="${anchorOf(found.code)}"></a>\n\n### ${code(found.code)}`,
    ERROR_WORDS[found.code],
    told.length === 0 ? undefined : list(told.map(code)),
    after.length === 0 ? undefined : sentence(`Then ${after.join('; or ')}`),
  ]
    .filter((one) => one !== undefined)
    .join('\n\n');
}

/** Messages with words of their own. */
export function messagesToShow({ messages }: ErrorCodeFound): readonly string[] {
  return messages.map((message) => message.trim()).filter((message) => /[a-z]{2}.*[a-z]{2}/i.test(message.replaceAll('…', '')));
}
