import { z } from 'zod';

/**
 * Creates an array schema that stops at its first invalid element.
 *
 * `z.array` validates every element and keeps an issue for each, in every branch of a union: megabytes of invalid
 * elements would take seconds and gigabytes to report only the first.
 */
export function failFastArray<Item extends z.ZodType>(item: Item, { min = 0, max }: { min?: number; max: number }) {
  return z
    .array(z.unknown())
    .min(min)
    .max(max)
    .transform((values, context): z.output<Item>[] => {
      const list: z.output<Item>[] = [];
      for (const [index, value] of values.entries()) {
        const parsed = item.safeParse(value);
        if (!parsed.success) {
          const [issue] = parsed.error.issues;
          if (issue)
            context.issues.push({ ...issue, input: value, path: [index, ...issue.path] } as z.core.$ZodRawIssue);
          return z.NEVER;
        }
        list.push(parsed.data);
      }
      return list;
    });
}
