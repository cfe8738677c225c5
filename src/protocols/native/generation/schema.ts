import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { MESSAGES_MAX, PARTS_MAX, STOP_SEQUENCES_MAX, STOP_TOKENS_MAX } from '../../../core/limits.ts';
import { CacheControl, messagesWith } from '../../fields/message-schema.ts';
import { PARAMETERS, STOP_FORMS, TokenId } from '../../fields/parameter-schema.ts';
import { CONTENT, MESSAGE_TEXTS, parameterTexts, textsAt } from '../../fields/texts.ts';
import { listOf } from '../../list-of.ts';
import type { RuleTexts } from '../../parse.ts';
import { place } from './place.ts';

// Shape and documented ranges of wire.md 1.2 and 1.8. Clients write null for "not set", so every optional field may be
// null. Rules between fields stand in rules.ts, what other interfaces say alike in protocols/fields/.

/** Blocks no model here takes: that they are there is all that matters, for the refusal. */
export const OTHER_BLOCKS = ['audio', 'input_audio', 'video', 'video_url', 'doc_url', 'file'] as const;
const Block = z.unknown().optional();

/** What a part is, its fields tell: `{"text"}`, `{"image"}`. Some clients name the type besides, as elsewhere. */
const Part = z.object({
  type: z.string().nullish(),
  text: z.string().nullish(),
  image: z.string().nullish(),
  image_url: z.object({ url: z.string() }).nullish(),
  cache_control: CacheControl.nullish(),
  audio: Block,
  input_audio: Block,
  video: Block,
  video_url: Block,
  doc_url: Block,
  file: Block,
});

const Messages = messagesWith(z.union([z.string(), listOf(Part, { max: PARTS_MAX })]));

const Turn = z.object({ user: z.string().nullish(), bot: z.string().nullish() });

const Input = z.object({
  messages: Messages.nullish(),
  prompt: z.string().nullish(),
  history: listOf(Turn, { max: MESSAGES_MAX }).nullish(),
});

const TokenSequences = listOf(listOf(TokenId, { min: 1, max: STOP_TOKENS_MAX }), { max: STOP_SEQUENCES_MAX });

export const Parameters = z.object({
  ...PARAMETERS,
  stop: z.union([...STOP_FORMS, TokenSequences]).nullish(),
  result_format: z.enum(['text', 'message']).nullish(),
  incremental_output: z.boolean().nullish(),
});

export const GenerationBody = z.object({
  model: z.string().min(1),
  input: Input.nullish(),
  parameters: Parameters.nullish(),
});

export type GenerationWire = z.output<typeof GenerationBody>;
export type InputWire = z.output<typeof Input>;
export type ParametersWire = z.output<typeof Parameters>;
export type NativeMessage = z.output<typeof Messages>[number];
export type NativePart = z.output<typeof Part>;

/** Which model is asked comes first: its own limits stand in the texts of what follows. */
export const ModelOnly = GenerationBody.pick({ model: true });

/** wire.md 1.7, with the limits of this model. */
export function generationTexts(entry: ModelEntry): RuleTexts {
  return {
    ...textsAt(MESSAGE_TEXTS, place),
    ...textsAt(parameterTexts(entry), place),
    'input.messages[].role': 'Role must be user or assistant and Content length must be greater than 0',
    'input.messages[].content[]': CONTENT,
    'input.messages[].content[].text': CONTENT,
    'parameters.stop': STOP,
    'parameters.stop[]': STOP,
    'parameters.stop[][]': STOP,
  };
}

const STOP = `stop must be a string, or an array of at most ${STOP_SEQUENCES_MAX} strings, token ids or lists of at most ${STOP_TOKENS_MAX} token ids, not mixed`;
