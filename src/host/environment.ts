/** The process's environment, for those who are handed it: nobody else reads it. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** A copy taken now; what libraries change later is not seen. */
export function systemEnvironment(): Environment {
  return { ...process.env };
}
