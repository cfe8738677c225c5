import { z } from 'zod';

/**
 * A value in the form that its own words name, where a union would try all forms and could only guess which one was meant
 * when none fits.
 */
export const chosenBy = <Value>(choose: (value: unknown) => z.ZodType<Value>) =>
  z.unknown().transform((value, context): Value => {
    const parsed = choose(value).safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    if (issue) context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
    return z.NEVER;
  });
