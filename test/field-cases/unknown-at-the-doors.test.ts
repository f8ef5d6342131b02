/** A write whose outcome is not known, as the command line, RPC and the timeline tell it: never as refused. */
import { expect, it } from 'vitest';
import { outcomeUnknown } from '../../src/actuators/late-writes.ts';
import { actuate } from '../../src/cli/actuate.ts';
import type { ActuateCall } from '../../src/cli/commands/status.ts';
import { EXIT } from '../../src/cli/exit-code.ts';
import { retryable } from '../../src/errors/agent-error.ts';
import { errorReply, isOutcomeUnknown } from '../../src/rpc/rpc-reply.ts';
import { ruleEvent } from '../../src/timeline/words.ts';
import { relaySettings } from '../support/fake-actuator.ts';
import { outputDoor } from '../support/told-outputs.ts';

const silent = retryable('hardware/outcome-unknown', 'no answer, and the write may still arrive');
const unknown = outcomeUnknown(relaySettings('pump'), true, silent);
const fail = async (): Promise<never> => {
  throw unknown;
};

it('ends the command line with a code of its own, and says where to look', async () => {
  const call = { args: { name: 'pump', value: 'on' }, flags: {}, agent: async () => ({ ask: fail }) };
  await expect(actuate(call as unknown as ActuateCall)).rejects.toMatchObject({
    exitCode: EXIT.outcomeUnknown,
    message: expect.stringMatching(/not known whether pump takes on.*--why/),
  });
});

it('is outcome-unknown over RPC', () => {
  expect(isOutcomeUnknown(errorReply(unknown))).toBe(true);
});

const plain = { settings: () => relaySettings('pump'), check: () => true };

it('is told in the timeline as unknown, from the page and by a rule', async () => {
  const words: string[] = [];
  const { ask } = outputDoor('page', { ...plain, set: fail }, (event) => void words.push(event.words));
  const asking = ask('setActuator', { name: 'pump', value: true }, new AbortController().signal);
  await expect(asking).rejects.toBe(unknown);
  const edge = { rule: 'fill', on: true, refusal: unknown.message, isUnknown: true };
  const rule = { name: 'fill', set: { actuator: 'pump', value: true } };
  words.push(
    ruleEvent(edge, { actuators: [], rules: [rule as Parameters<typeof ruleEvent>[1]['rules'][number]] }).words,
  );
  expect(words).toEqual([
    expect.stringMatching(/^Somebody on the page wanted pump to be on, and the answer did not come: it is not known/),
    expect.stringMatching(/^Rule fill began, and pump has not answered: it is not known/),
  ]);
});
