/** Completion for zsh: a function for each command, which hands what it takes to _arguments. */
import { flattened, type Offer, type SurfaceCommand, type SurfaceOption } from './surface.ts';

const HEAD = `\
#compdef turnstone
# Completion of turnstone for zsh, made by: turnstone completion zsh
`;

/** As a function of fpath the file is called at once; one that is sourced gives its name to compdef. */
const END = `\
if [ "$funcstack[1]" = _turnstone ]; then _turnstone "$@"; else compdef _turnstone turnstone; fi
`;

export function zshScript(commands: readonly SurfaceCommand[]): string {
  const root = groupOf('_turnstone', commands, [`'(-V --version)'{-V,--version}'[print the version]'`]);
  return [HEAD, ...flattened(commands).map(functionOf), root, END].join('');
}

function functionOf(command: SurfaceCommand): string {
  const options = command.options.map(specOf);
  if (command.subcommands.length > 0) return groupOf(nameOf(command.path), command.subcommands, options);
  const args = command.arguments.map(
    ({ name, isOptional, isVariadic, offer }) =>
      `'${isVariadic ? '*:' : isOptional ? '::' : ':'}${name}:${actionOf(offer)}'`,
  );
  return `${nameOf(command.path)}() {\n  _arguments ${[...options, HELP, ...args].join(' \\\n    ')}\n}\n`;
}

const HELP = `'(-h --help)'{-h,--help}'[display help for command]'`;

/** Behind the name of a subcommand its own function goes on. */
function groupOf(name: string, commands: readonly SurfaceCommand[], options: readonly string[]): string {
  const last = (path: string): string => path.split(' ').at(-1) ?? path;
  const described = commands.map(({ path, says }) => quoted(`${last(path)}:${says.replace(/[\\:]/g, '\\$&')}`));
  const branches = commands.map(({ path }) => `        ${last(path)}) ${nameOf(path)} ;;\n`);
  return `\
${name}() {
  local context state state_descr line curcontext="$curcontext"
  typeset -A opt_args
  _arguments -C ${[...options, HELP, "'1:command:->command'", "'*::word:->word'"].join(' \\\n    ')}
  case $state in
    command)
      local -a commands=(
        ${described.join('\n        ')}
      )
      _describe command commands ;;
    word)
      case $line[1] in
${branches.join('')}      esac ;;
  esac
}
`;
}

function specOf({ flag, says, value, offer, isRepeatable }: SurfaceOption): string {
  const takes = value === undefined ? '' : `:${value.replace(/[<>]/g, '').replace(/:/g, '\\:')}:${actionOf(offer)}`;
  return quoted(
    `${isRepeatable ? '*' : ''}${flag}${value === undefined ? '' : '='}[${says.replace(/[\\[\]:]/g, '\\$&')}]${takes}`,
  );
}

function actionOf(offer: Offer): string {
  if (offer.kind === 'words') return `(${offer.words.join(' ')})`;
  if (offer.kind === 'folders') return '_files -/';
  return offer.kind === 'files' ? '_files' : ' ';
}

function nameOf(path: string): string {
  return `_turnstone_${path.replace(/[ -]/g, '_')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
