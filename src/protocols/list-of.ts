import { z } from 'zod';

/**
 * An array whose check ends with its first bad element.
 *
 * zod's own looks at all of them and keeps a problem for each, of every branch of a union: megabytes of wrong elements
 * would take seconds and gigabytes for a refusal that names the first.
 */
export function listOf<Item extends z.ZodType>(item: Item, { min = 0, max }: { min?: number; max: number }) {
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
