import { z } from 'zod';

/**
 * Creates a schema that validates a value against the schema `choose` picks for that value. A union would try all of
 * its members, and its error could only guess which one was meant.
 */
export const selectSchema = <Value>(choose: (value: unknown) => z.ZodType<Value>) =>
  z.unknown().transform((value, context): Value => {
    const parsed = choose(value).safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    if (issue) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
    return z.NEVER;
  });
