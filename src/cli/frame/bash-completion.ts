/** Completion for bash: tables of what stands behind each command, and one function that walks the words that were typed. */
import { flattened, type Offer, type SurfaceCommand } from './surface.ts';

const HEAD = `\
# Completion of turnstone for bash, made by: turnstone completion bash
`;

const WALK = `\
_turnstone() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} path='' word='' offer='' at=0 i
  # bash takes --option=value apart at the sign.
  if [ "$current" = = ]; then current=''
  elif [ "$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      =) i=$((i + 1)) ;;
      -*) if [ -n "$(_turnstone_value "$path" "$word")" ] && [ "\${COMP_WORDS[i+1]}" != = ]; then i=$((i + 1)); fi ;;
      *) if [ "$at" = 0 ] && [[ " $(_turnstone_subcommands "$path") " == *" $word "* ]]; then path="\${path:+$path }$word"
        else at=$((at + 1)); fi ;;
    esac
  done
  offer=$(_turnstone_value "$path" "$before")
  if [ -z "$offer" ]; then
    case $current in
      -*) offer="words $(_turnstone_options "$path") --help" ;;
      *) offer=$(_turnstone_argument "$path" "$at")
        if [ "$at" = 0 ] && [ -n "$(_turnstone_subcommands "$path")" ]; then offer="words $(_turnstone_subcommands "$path")"; fi ;;
    esac
  fi
  COMPREPLY=()
  case $offer in
    words\\ *) mapfile -t COMPREPLY < <(compgen -W "\${offer#words }" -- "$current") ;;
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
}
complete -F _turnstone turnstone
`;

export function bashScript(commands: readonly SurfaceCommand[]): string {
  const all = flattened(commands);
  const words = (some: readonly SurfaceCommand[]): string => some.map(({ path }) => path.split(' ').at(-1)).join(' ');
  const groups = all.filter(({ subcommands }) => subcommands.length > 0);
  const subcommands = [
    ['', `${words(commands)} help`] as const,
    ...groups.map((one) => [one.path, words(one.subcommands)] as const),
  ];
  const options = [
    ['', '--version'] as const,
    ...all.map((one) => [one.path, one.options.map(({ flag }) => flag).join(' ')] as const),
  ];
  const values = all.flatMap(({ path, options: some }) =>
    some.flatMap(({ flag, value, offer }) => (value === undefined ? [] : [[`${path} ${flag}`, offer] as const])),
  );
  const args = all.flatMap((one) => one.arguments.map(({ offer }, at) => [`${one.path} ${at}`, offer] as const));
  return [
    HEAD,
    tableOf('_turnstone_subcommands', '$1', subcommands),
    tableOf('_turnstone_options', '$1', options),
    tableOf('_turnstone_value', '$1 $2', offered(values)),
    tableOf('_turnstone_argument', '$1 $2', offered(args.filter(([, { kind }]) => kind !== 'nothing'))),
    WALK,
  ].join('');
}

function offered(rows: readonly (readonly [string, Offer])[]): readonly (readonly [string, string])[] {
  return rows.map(([key, offer]) => [key, offer.kind === 'words' ? `words ${offer.words.join(' ')}` : offer.kind]);
}

/** Keys with the same answer stand in one branch. Names and choices are words of letters, digits and dashes. */
function tableOf(name: string, key: string, rows: readonly (readonly [string, string])[]): string {
  const keysOf = new Map<string, string[]>();
  for (const [one, answer] of rows) if (answer !== '') keysOf.set(answer, [...(keysOf.get(answer) ?? []), one]);
  const branches = [...keysOf].map(
    ([answer, keys]) => `    ${keys.map((one) => `'${one}'`).join(' | ')}) echo '${answer}' ;;\n`,
  );
  return `${name}() {\n  case "${key}" in\n${branches.join('')}  esac\n}\n`;
}
