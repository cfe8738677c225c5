import { z } from 'zod';
import { GenerationBody } from '../generation/schema.ts';

/** wire.md 10, tokenizer: the input of a generation. Clients always send parameters, and always empty. */
export const TokenizerBody = z.object({
  ...GenerationBody.pick({ model: true, input: true }).shape,
  parameters: z.object({}).nullish(),
});

export type TokenizerWire = z.output<typeof TokenizerBody>;
