import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { MESSAGES_MAX, PARTS_MAX, STOP_SEQUENCES_MAX } from '../../limits.ts';
import { STOP_TOKENS_MAX } from '../limits.ts';
import { CacheControl, createMessagesSchema } from '../../fields/message-schema.ts';
import { PARAMETERS, STOP_FORMS, TokenId } from '../../fields/parameter-schema.ts';
import { CONTENT_NOT_STRING, MESSAGE_TEXTS, createParameterTexts, mapTextPaths } from '../../fields/parameter-texts.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';
import { toNativePath } from './to-native-path.ts';

// Fields and documented ranges (docs/wire/dashscope-native.md#generation-request, #multimodal-generation). Clients
// write null for "not set", so every optional field may be null. Rules between fields: parse-generation-fields.ts.

/** Content blocks that no model supports. Only their presence matters: it is an error. */
export const UNSUPPORTED_BLOCKS = ['audio', 'input_audio', 'video', 'video_url', 'doc_url', 'file'] as const;
const Block = z.unknown().optional();

/** A content part. Its fields determine its type: `{"text"}`, `{"image"}`. Some clients also send `type`. */
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

const Messages = createMessagesSchema(z.union([z.string(), failFastArray(Part, { max: PARTS_MAX })]));

const Turn = z.object({ user: z.string().nullish(), bot: z.string().nullish() });

const Input = z.object({
  messages: Messages.nullish(),
  prompt: z.string().nullish(),
  history: failFastArray(Turn, { max: MESSAGES_MAX }).nullish(),
});

const TokenSequences = failFastArray(failFastArray(TokenId, { min: 1, max: STOP_TOKENS_MAX }), {
  max: STOP_SEQUENCES_MAX,
});

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

/** Parsed first, because the limits of the model occur in the texts of later errors. */
export const ModelOnly = GenerationBody.pick({ model: true });

/** Returns the vendor's error texts with the limits of this model (docs/wire/dashscope-native.md#errors). */
export function createGenerationTexts(entry: ModelEntry): RuleTexts {
  return {
    ...mapTextPaths(MESSAGE_TEXTS, toNativePath),
    ...mapTextPaths(createParameterTexts(entry), toNativePath),
    'input.messages[].role': 'Role must be user or assistant and Content length must be greater than 0',
    'input.messages[].content[]': CONTENT_NOT_STRING,
    'input.messages[].content[].text': CONTENT_NOT_STRING,
    'parameters.stop': STOP_RULE,
    'parameters.stop[]': STOP_RULE,
    'parameters.stop[][]': STOP_RULE,
  };
}

const STOP_RULE = `stop must be a string, or an array of at most ${STOP_SEQUENCES_MAX} strings, token ids or lists of at most ${STOP_TOKENS_MAX} token ids, not mixed`;
