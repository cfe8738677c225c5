import { z } from 'zod';

// Field types that several sections have.

export const text = z.string({ error: 'must be a string' }).min(1, { error: 'must not be empty' });

export const createListSchema = <Item extends z.ZodType>(item: Item) => z.array(item, { error: 'must be a list' });

export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}
