/** Shows what happened: asks the agent, or reads its record where none runs. */
import { join } from 'node:path';
import { namedFolders } from '../config/peek-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { systemFiles } from '../host/files.ts';
import { printable } from '../names/printable.ts';
import { operationsOf } from '../operations/operation-table.ts';
import { eventJson, type TimelineEvent } from '../timeline/event.ts';
import { selectEvents, timelineQueryOf } from '../timeline/query.ts';
import { inOrder, TIMELINE_FILE, timelineFile } from '../timeline/timeline-file.ts';
import { type JsonObject, stringifyJson } from '../values/json.ts';
import { type AgentCalls, type AgentFiles, agentWallMs } from './agent-calls.ts';
import type { TimelineCall } from './commands/timeline.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';

const KIND_WIDTH = 8;
/** One answer of the agent. */
const MAX_ANSWER = 500;

export async function showTimeline({ flags, agent, print, edge }: TimelineCall): Promise<void> {
  const calls = await agent();
  const from = flags.since === undefined ? undefined : (await agentWallMs(calls)) - flags.since;
  const events = await lastEvents(
    calls,
    { from, kinds: flags.kind === undefined ? undefined : [...flags.kind] },
    flags.count,
  );
  if (events.length === 0 && flags.json !== true)
    edge.stderr.write('turnstone: nothing is recorded of this; try without --since and --kind\n');
  for (const event of events.toReversed()) {
    const { yellow, dim } = print.style;
    const time = `${new Date(event.ts).toISOString().replace(/\.\d+Z$/, 'Z')}${event.unsure === true ? '~' : ' '}`;
    const kind = event.kind.padEnd(KIND_WIDTH);
    const line = `${dim(time)} ${event.kind === 'alarm' ? yellow(kind) : kind} ${printable(event.words)}`;
    print.write(`${flags.json === true ? stringifyJson(eventJson(event)) : line}\n`);
    await edge.stdout.drained();
  }
}

/** Calls that are answered from the record on disk: an agent that starts meanwhile is not kept from it. */
export async function openTimelineFile(configFile: string, edge: Edge): Promise<AgentFiles> {
  const { stateFolder } = await namedFolders(configFile, edge.environment);
  const read = async (): Promise<readonly TimelineEvent[]> => {
    try {
      return inOrder((await timelineFile(systemFiles, join(stateFolder, TIMELINE_FILE)).read()).values);
    } catch (cause) {
      throw new CommandError(messageOf(cause), {
        exitCode: EXIT.noPermission,
        nextStep: 'try sudo turnstone timeline',
        cause,
      });
    }
  };
  return {
    operations: operationsOf({ timeline: async (query) => selectEvents(await read(), timelineQueryOf(query)) }),
    close: async () => {},
  };
}

/** The newest first. */
async function lastEvents(calls: AgentCalls, query: JsonObject, count: number): Promise<readonly TimelineEvent[]> {
  const events: TimelineEvent[] = [];
  while (events.length < count) {
    const before = events.at(-1)?.seq;
    const params = { ...query, before, limit: Math.min(MAX_ANSWER, count - events.length) };
    const { events: found, more } = await calls.ask('timeline', params);
    events.push(...found);
    if (!more || found.length === 0) break;
  }
  return events;
}
