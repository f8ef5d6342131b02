/** Every check of a configuration that looks at nothing outside it, in the order in which their faults of one place are told. */
import { checkPlatformAccess, checkProvisioning, checkStatusPage } from './access.ts';
import { checkLimits, checkMethodValues, checkRuleValues } from './actuator-values.ts';
import { checkDisabled } from './disabled.ts';
import { checkDoubled } from './doubled.ts';
import type { Check } from './draft.ts';
import { checkLockoutFile, checkSockets } from './folders.ts';
import { checkBias, checkBoard, checkBuses, checkLines, checkSerialPorts } from './hardware.ts';
import { checkAttributeKeys, checkFixedAttributes, checkKeyRules, checkMethodKeys, checkProducedKeys, checkRuleKeys } from './keys.ts';
import { checkKinds } from './kinds.ts';
import { checkNames, checkReferences } from './names.ts';
import { checkFirmwareBounds, checkShapes } from './ranges.ts';
import { checkAddedKeys, checkClientAttributes, checkReservedKeys } from './reserved-keys.ts';
import { checkConditions, checkLostSensors } from './rules.ts';
import { checkSafeStates } from './safe-states.ts';
import { checkDeviceName, checkPlaceholders } from './templates.ts';
import { checkAlarms } from './thresholds.ts';
import { checkActuatorTimes, checkDeliveryTimes, checkSensorTimes } from './timing.ts';
import { checkAlarmTypes, checkRuleTypes } from './value-types.ts';

export const CHECKS: readonly Check[] = [
  checkNames,
  checkDoubled,
  checkReferences,
  checkDisabled,
  checkLines,
  checkBuses,
  checkSerialPorts,
  checkBias,
  checkBoard,
  checkSockets,
  checkLockoutFile,
  checkKeyRules,
  checkProducedKeys,
  checkAttributeKeys,
  checkFixedAttributes,
  checkReservedKeys,
  checkClientAttributes,
  checkAddedKeys,
  checkRuleKeys,
  checkMethodKeys,
  checkSensorTimes,
  checkLostSensors,
  checkActuatorTimes,
  checkDeliveryTimes,
  checkAlarms,
  checkAlarmTypes,
  checkKinds,
  checkLimits,
  checkSafeStates,
  checkConditions,
  checkRuleValues,
  checkRuleTypes,
  checkMethodValues,
  checkPlaceholders,
  checkDeviceName,
  checkShapes,
  checkFirmwareBounds,
  checkPlatformAccess,
  checkProvisioning,
  checkStatusPage,
];
