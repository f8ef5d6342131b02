/** Returns where the plan of a restore lies until it is finished: beside the configuration, for root alone to read, for the service to see. */
export function restorePlanPath(configFile: string): string {
  return `${configFile}.restore`;
}
