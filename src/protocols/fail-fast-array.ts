import { z } from 'zod';

/**
 * Creates an array schema that stops at its first invalid element.
 *
 * `z.array` validates every element and keeps an issue for each, in every branch of a union: megabytes of invalid
 * elements would take seconds and gigabytes to report only the first.
 *
 * @param from Position of the first element that is validated and returned, and `to` that after the last. Default: all.
 */
export function failFastArray<Item extends z.ZodType>(
  item: Item,
  { min = 0, max, from = 0, to = max }: { min?: number; max: number; from?: number; to?: number },
) {
  return z
    .array(z.unknown())
    .min(min)
    .max(max)
    .transform((values, context): z.output<Item>[] => {
      const list: z.output<Item>[] = [];
      for (let index = from; index < Math.min(to, values.length); index++) {
        const value = values[index];
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
