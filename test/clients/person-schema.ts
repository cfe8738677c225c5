import { z } from 'zod';

/** A text in which the smallest model finds the values of the schema below. */
export const PERSON_TEXT =
  'Anna Kowalska is 31 years old. She is a nurse, lives in Lyon, France, and speaks Polish and French.';

/** A schema with nesting, a list, an enumeration, bounds and a nullable value. */
export const PersonSchema = z.object({
  name: z.string().max(40),
  age: z.int().min(0).max(150),
  job: z.enum(['doctor', 'nurse', 'teacher']),
  languages: z.array(z.string().max(20)).min(1).max(3),
  address: z.object({ city: z.string().max(30), country: z.string().max(30) }),
  phone: z.string().max(20).nullable(),
});
