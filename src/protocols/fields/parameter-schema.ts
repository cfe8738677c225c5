import { z } from 'zod';
import { CHOICES_MAX, SEED_MAX, TOKEN_ID_MAX } from '../../core/limits.ts';
import {
  SCHEMA_NAME_CHARS_MAX,
  STOP_SEQUENCES_MAX,
  TOOLS_MAX,
  TOOL_NAME_CHARS_MAX,
  TOP_LOGPROBS_MAX,
} from '../limits.ts';
import { failFastArray } from '../fail-fast-array.ts';
import type { WireMessage } from './message-schema.ts';
import { SearchOptions } from './search-options.ts';
import { isRecord } from '../../lib/is-record.ts';

// Parameters that the chat completions interface and the native one share, with documented types and ranges.

const FunctionName = z
  .string()
  .max(TOOL_NAME_CHARS_MAX)
  .regex(/^[A-Za-z0-9_-]+$/);

export const JsonObject = z.custom<Readonly<Record<string, unknown>>>(isRecord, 'must be an object');

const Tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: FunctionName,
    description: z.string().nullish(),
    /** Not validated here; building a grammar rejects what cannot be enforced. */
    parameters: JsonObject.nullish(),
    strict: z.boolean().nullish(),
  }),
});

/** Fields of an output format that a JSON Schema describes. */
export const JSON_SCHEMA_FORMAT_FIELDS = {
  name: z
    .string()
    .max(SCHEMA_NAME_CHARS_MAX)
    .regex(/^[A-Za-z0-9_-]+$/),
  description: z.string().nullish(),
  schema: JsonObject,
  strict: z.boolean().nullish(),
};

const ResponseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object(JSON_SCHEMA_FORMAT_FIELDS),
  }),
]);

export const TokenId = z.int().min(0).max(TOKEN_ID_MAX);

/** Forms of `stop` that every interface accepts. A list holds either strings or token ids. */
export const STOP_FORMS = [
  z.string(),
  failFastArray(z.string(), { max: STOP_SEQUENCES_MAX }),
  failFastArray(TokenId, { max: STOP_SEQUENCES_MAX }),
] as const;

export const PARAMETERS = {
  n: z.int().min(1).max(CHOICES_MAX).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).lt(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  repetition_penalty: z.number().gt(0).nullish(),
  logit_bias: JsonObject.nullish(),
  seed: z.int().min(0).max(SEED_MAX).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(TOP_LOGPROBS_MAX).nullish(),
  response_format: ResponseFormat.nullish(),
  tools: failFastArray(Tool, { max: TOOLS_MAX }).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: FunctionName }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  tool_stream: z.boolean().nullish(),
  enable_thinking: z.boolean().nullish(),
  thinking: z
    .object({
      // Without a type, the documented default applies.
      type: z.enum(['adaptive', 'enabled', 'disabled']).default('adaptive'),
      budget_tokens: z.int().min(1).nullish(),
    })
    .nullish(),
  preserve_thinking: z.boolean().nullish(),
  thinking_budget: z.int().min(1).nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  enable_code_interpreter: z.boolean().nullish(),
  enable_search: z.boolean().nullish(),
  search_options: SearchOptions.nullish(),
};

export type WireTool = z.output<typeof Tool>;
export type WireStop = string | readonly (string | number | readonly number[])[] | null | undefined;

/** The parameters that control token sampling. */
export type SamplingFields = Pick<
  z.output<z.ZodObject<typeof PARAMETERS>>,
  | 'temperature'
  | 'top_p'
  | 'top_k'
  | 'min_p'
  | 'repetition_penalty'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'logit_bias'
  | 'seed'
>;

/** The shared fields of one request, independent of their location in the interface. */
export type ChatFields = z.output<z.ZodObject<typeof PARAMETERS>> & {
  readonly messages: readonly WireMessage[];
  readonly stop?: WireStop;
  /** Whether the response is streamed. */
  readonly stream?: boolean | null | undefined;
};
