import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { Messages } from '../../fields/message-schema.ts';
import { JsonObject, PARAMETERS, STOP_FORMS } from '../../fields/parameter-schema.ts';
import { MESSAGE_TEXTS, createParameterTexts } from '../../fields/parameter-texts.ts';
import type { RuleTexts } from '../../parse.ts';

// Fields with their documented types and ranges (docs/wire/openai-compatible.md#chat-request). Clients write null for
// "not set", so every optional field may be null. rules.ts checks rules between fields; protocols/fields/ contains what
// other interfaces share.

export const ChatCompletionBody = z.object({
  ...PARAMETERS,
  model: z.string().min(1),
  messages: Messages,
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  stop: z.union(STOP_FORMS).nullish(),
  functions: z.unknown().optional(),
  function_call: z.unknown().optional(),
  modalities: z
    .array(z.enum(['text', 'audio']))
    .min(1)
    .nullish(),
  audio: JsonObject.nullish(),
});

export type ChatCompletionWire = z.output<typeof ChatCompletionBody>;

/** The model is resolved before the other fields are parsed, because error texts contain its limits. */
export const ModelOnly = ChatCompletionBody.pick({ model: true });

/** Returns the error texts, with the limits of a model (docs/wire/openai-compatible.md#errors). */
export const createChatTexts = (entry: ModelEntry): RuleTexts => ({ ...MESSAGE_TEXTS, ...createParameterTexts(entry) });
