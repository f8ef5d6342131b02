/** Moves an attached device between two gateways, by an archive. */
import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '../errors/agent-error.ts';
import { systemFiles } from '../host/files.ts';
import { printable } from '../names/printable.ts';
import type { Answers, OperationName } from '../operations/answers.ts';
import { writeDurably } from '../store/durable-file.ts';
import type { JsonObject } from '../values/json.ts';
import { passphraseForNew, readArchive } from './archive-file.ts';
import type { MoveCall } from './commands/devices.ts';
import { askFor } from './devices.ts';
import { CommandError, usageError } from './exit-code.ts';

export async function moveDevice(call: MoveCall): Promise<void> {
  const { to, from, slot } = call.flags;
  const { name } = call.args;
  if (to !== undefined && from === undefined && name !== '') return sendAway(call, name, to);
  if (from !== undefined && to === undefined && slot !== undefined && name === '') return takeIn(call, from, slot);
  throw usageError('write turnstone devices move NAME --to FILE, or turnstone devices move --from FILE --slot SLOT');
}

/** The file is durable before the device leaves: a move that is cut off leaves it where it was. */
async function sendAway(call: MoveCall, name: string, file: string): Promise<void> {
  const { print } = call;
  if ((await systemFiles.facts(file)) !== undefined)
    throw usageError(`${file} is there already: it may be another device`);
  await access(dirname(file), constants.W_OK).catch((cause: unknown) => {
    throw usageError(`cannot write ${file}: ${systemCode(cause)}`, { cause });
  });
  const passphrase = await passphraseForNew('device', call);
  const { id, text } = await ask(call, 'packDevice', {
    device: name,
    passphrase,
  });
  await writeDurably(systemFiles, file, text);
  const left = await ask(call, 'leaveDevice', { device: id });
  print.write(`written to ${file}; whoever has it and the passphrase is ${printable(left.name)}\n`);
  print.write('nothing new is sent as it from here');
  if (left.heldEntries > 0) print.write(`; ${left.heldEntries} entries of before are delivered from here still`);
  print.write('\n');
  const [slot] = left.slots;
  if (slot === undefined) return;
  print.write(
    `take ${left.slots.map(printable).join(', ')} out of the configuration here once the other gateway has it\n`,
  );
  print.write(`to undo this: turnstone devices move --from ${file} --slot ${printable(slot)}\n`);
}

async function takeIn(call: MoveCall, file: string, slot: string): Promise<void> {
  const { flags, print } = call;
  const { text, passphrase } = await readArchive('device', file, call);
  const params = { slot, text, passphrase, replace: flags.replace === true };
  const { name, isConfigured } = await ask(call, 'takeDevice', params);
  print.write(`${slot} is ${printable(name)} here from now on\n`);
  if (!isConfigured) print.write(`now put ${slot} under devices: in the configuration, and restart the agent\n`);
}

async function ask<Name extends OperationName>(
  call: MoveCall,
  method: Name,
  params: JsonObject,
): Promise<Answers[Name]> {
  try {
    return await askFor(call, method, params);
  } catch (error) {
    if (method !== 'leaveDevice' || !(error instanceof Error)) throw error;
    throw new CommandError(`the file is written, but the agent has not let the device go: ${error.message}`, {
      cause: error,
      nextStep: 'remove the file, and ask again',
    });
  }
}
