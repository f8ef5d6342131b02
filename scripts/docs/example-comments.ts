/** Comments of config/turnstone.example.yaml, by the path of the option that they stand behind. */
const OPTION = /^( *)(- )?(?:#)?(\w+):(?:\s|$)/;

/** @returns texts by path: `outbox.commitAge`, `devices[].serialNumber.sensor`. An option that is off (`#option: value`) has its text, too. */
export function exampleComments(example: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  const open: { readonly depth: number; readonly path: string }[] = [];
  for (const line of example.split('\n')) {
    const [whole, indent = '', dash, name = ''] = OPTION.exec(line) ?? [];
    if (whole === undefined || /^ *# /.test(line)) continue;
    // An item's options stand two deeper than its dash, with which the first of them begins.
    const depth = indent.length + (dash === undefined ? 0 : 2);
    while ((open.at(-1)?.depth ?? -1) >= depth) open.pop();
    const parent = open.at(-1);
    const isItem = parent !== undefined && depth - parent.depth === 4 ? '[]' : '';
    const path = parent === undefined ? name : `${parent.path}${isItem}.${name}`;
    open.push({ depth, path });
    const text = commentIn(line.slice(whole.length));
    if (text !== undefined && !comments.has(path)) comments.set(path, text);
  }
  return comments;
}

/** Text behind the last ` # ` that stands outside of quotes. */
function commentIn(value: string): string | undefined {
  let quote = '';
  for (let at = 0; at < value.length; at += 1) {
    const sign = value.charAt(at);
    if (quote !== '') quote = sign === quote ? '' : quote;
    else if (sign === '"' || (sign === "'" && !/\w/.test(value.charAt(at - 1)))) quote = sign;
    else if (sign === '#' && (at === 0 || value[at - 1] === ' ')) return value.slice(at + 1).trim();
  }
  return undefined;
}
