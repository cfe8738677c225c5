import { z } from 'zod';

// items/ and metadata.ts validate these fields; the schemas pass them on unchanged, as they are stored.

export const CreateBody = z.object({ items: z.unknown().optional(), metadata: z.unknown().optional() });

export const UpdateBody = z.object({ metadata: z.unknown().optional() });

export const AddBody = z.object({ items: z.unknown().optional() });
