import { z } from 'zod';

// Field types that several sections have.

export const text = z.string({ error: 'must be a string' }).min(1, { error: 'must not be empty' });

export const createListSchema = <Item extends z.ZodType>(item: Item) => z.array(item, { error: 'must be a list' });

export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export const MAPPING = { error: 'must be a mapping' };

/** Creates the schema of a mapping all of whose settings have defaults. An absent mapping gets these defaults. */
export function createSection<const Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const schema = z.strictObject(shape, MAPPING);
  return schema.prefault({} as z.input<typeof schema>);
}
