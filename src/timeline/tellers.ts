/** Functions for the rooms that tell by themselves: each of their words becomes an event. */
import type { RuleEvent } from '../actuators/rule-event.ts';
import type { Sentence } from '../errors/sentence.ts';
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import type { ToldCommand } from '../rpc/told-command.ts';
import type { ToldAcknowledgement } from '../telemetry/acknowledgement.ts';
import type { ToldAlarm } from '../telemetry/alarm-change.ts';
import type { NamingConfig } from './named.ts';
import type { TellTimeline } from './timeline.ts';
import { acknowledgedEvents, alarmEvents, commandEvent, ruleEvent, updateEvents } from './words.ts';

/** @param config in force, for what a rule moves, and for names. */
export function tellersOf(tell: TellTimeline, config: () => NamingConfig) {
  return {
    onRuleEvent: (event: RuleEvent, instead?: Sentence): void => tell(ruleEvent(event, config(), instead)),
    onAlarm: (alarm: ToldAlarm): void => alarmEvents(alarm, config()).forEach(tell),
    onAlarmAcknowledged: (told: ToldAcknowledgement): void => acknowledgedEvents(told, config()).forEach(tell),
    onCommand: (command: ToldCommand, device?: string): void => tell(commandEvent(command, config(), device)),
    onReported: (kind: string, status: UpdaterStatus): void => updateEvents(kind, status).forEach(tell),
  };
}
