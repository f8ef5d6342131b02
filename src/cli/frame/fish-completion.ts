/** Completion for fish: a line for each command, option and argument, with the command behind which it stands. */
import { flattened, type Offer, type SurfaceCommand } from './surface.ts';

const HEAD = `\
# Completion of turnstone for fish, made by: turnstone completion fish
# True when the words typed so far, without options, are these; behind the last, arguments may stand.
function __turnstone_at
    set -l words (commandline -opc)[2..]
    set -l plain (string match -v -- '-*' $words)
    set -l depth (count $argv)
    test $depth -eq 0; and return 0
    test (count $plain) -ge $depth; and test "$plain[1..$depth]" = "$argv"
end
function __turnstone_only
    set -l plain (string match -v -- '-*' (commandline -opc)[2..])
    test (count $plain) -eq (count $argv); and __turnstone_at $argv
end
complete -c turnstone -f
complete -c turnstone -n __turnstone_only -s V -l version -d 'print the version'
complete -c turnstone -s h -l help -d 'display help for command'
`;

export function fishScript(commands: readonly SurfaceCommand[]): string {
  return HEAD + namesOf('', commands) + flattened(commands).map(linesOf).join('');
}

function linesOf(command: SurfaceCommand): string {
  const options = command.options.map(({ flag, says, value, offer }) => {
    const takes = value === undefined ? '' : `${offer.kind === 'files' ? ' -r' : ' -x'}${offeredBy(offer)}`;
    return `complete -c turnstone -n ${quoted(`__turnstone_at ${command.path}`)} -l ${flag.slice(2)}${takes} -d ${quoted(says)}\n`;
  });
  const args = command.arguments
    .filter(({ offer }) => offer.kind !== 'nothing')
    .map(({ offer }) => `complete -c turnstone -n ${quoted(`__turnstone_only ${command.path}`)}${offeredBy(offer)}\n`);
  return [namesOf(command.path, command.subcommands), ...options, ...args].join('');
}

function namesOf(path: string, commands: readonly SurfaceCommand[]): string {
  const condition = quoted(`__turnstone_only ${path}`.trim());
  return commands
    .map((one) => `complete -c turnstone -n ${condition} -a ${one.path.split(' ').at(-1)} -d ${quoted(one.says)}\n`)
    .join('');
}

function offeredBy(offer: Offer): string {
  if (offer.kind === 'words') return ` -a ${quoted(offer.words.join(' '))}`;
  if (offer.kind === 'folders') return " -a '(__fish_complete_directories)'";
  return offer.kind === 'files' ? ' -F' : '';
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
