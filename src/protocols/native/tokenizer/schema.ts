import { z } from 'zod';
import { GenerationBody } from '../generation/schema.ts';

/** The input of a generation; clients always send empty parameters (docs/wire/dashscope-native.md#tokenizer). */
export const TokenizerBody = z.object({
  ...GenerationBody.pick({ model: true, input: true }).shape,
  parameters: z.object({}).nullish(),
});

export type TokenizerWire = z.output<typeof TokenizerBody>;
