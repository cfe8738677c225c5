import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { Messages } from '../../fields/message-schema.ts';
import { JsonObject, PARAMETERS, STOP_FORMS } from '../../fields/parameter-schema.ts';
import { MESSAGE_TEXTS, parameterTexts } from '../../fields/texts.ts';
import type { RuleTexts } from '../../parse.ts';

// Shape and documented ranges of E1. Clients write null for "not set", so every optional field may be null.
// Rules between fields stand in rules.ts, what other interfaces say alike in protocols/fields/.

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

/** Which model is asked comes first: its own limits stand in the texts of what follows. */
export const ModelOnly = ChatCompletionBody.pick({ model: true });

/** wire.md 1.7, with the limits of this model. */
export const chatTexts = (entry: ModelEntry): RuleTexts => ({ ...MESSAGE_TEXTS, ...parameterTexts(entry) });
