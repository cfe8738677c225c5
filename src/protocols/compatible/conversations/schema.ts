import { z } from 'zod';

// What stands in these fields is looked into by items/ and metadata-of.ts: taken over whole, it is kept as it was sent.

export const CreateBody = z.object({ items: z.unknown().optional(), metadata: z.unknown().optional() });

export const UpdateBody = z.object({ metadata: z.unknown().optional() });

export const AddBody = z.object({ items: z.unknown().optional() });
