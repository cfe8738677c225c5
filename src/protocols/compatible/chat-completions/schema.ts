import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import {
  CHOICES_MAX,
  MESSAGES_MAX,
  PARTS_MAX,
  SCHEMA_NAME_CHARACTERS_MAX,
  SEED_MAX,
  STOP_SEQUENCES_MAX,
  TOKEN_ID_MAX,
  TOOLS_MAX,
  TOOL_NAME_CHARACTERS_MAX,
  TOP_LOGPROBS_MAX,
} from '../../../core/limits.ts';
import { listOf } from '../../list-of.ts';
import type { RuleTexts } from '../../parse.ts';

// Shape and documented ranges of E1. Clients write null for "not set", so every optional field may be null.
// Rules between fields stand in rules.ts, prescribed texts in `chatTexts` below.

const TextPart = z.object({
  type: z.literal('text'),
  text: z.string(),
  cache_control: z.object({ type: z.literal('ephemeral'), ttl: z.literal('5m').nullish() }).nullish(),
});
const ImagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) });
/** Parts no model here takes: only their names matter, for the refusal. */
const OtherPart = z.object({ type: z.enum(['input_audio', 'video', 'video_url', 'file', 'refusal']) });

const Part = z.discriminatedUnion('type', [TextPart, ImagePart, OtherPart]);
const Content = z.union([z.string(), listOf(Part, { min: 1, max: PARTS_MAX })]);

const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function').nullish(),
  /** Our own answers carry it, and clients send them back as they are. */
  index: z.int().nullish(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const named = { content: Content, name: z.string().nullish() };

const Message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), ...named }),
  z.object({ role: z.literal('developer'), ...named }),
  z.object({ role: z.literal('user'), ...named }),
  z.object({
    role: z.literal('assistant'),
    content: Content.nullish(),
    name: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    tool_calls: listOf(ToolCall, { max: TOOLS_MAX }).nullish(),
    partial: z.boolean().nullish(),
  }),
  z.object({ role: z.literal('tool'), content: Content, tool_call_id: z.string(), name: z.string().nullish() }),
]);

const FunctionName = z
  .string()
  .max(TOOL_NAME_CHARACTERS_MAX)
  .regex(/^[A-Za-z0-9_-]+$/);

const JsonObject = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
);

const Tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: FunctionName,
    description: z.string().nullish(),
    /** Not looked into here: where a grammar is made of it, what cannot be enforced is refused. */
    parameters: JsonObject.nullish(),
    strict: z.boolean().nullish(),
  }),
});

const SearchOptions = z.object({
  forced_search: z.boolean().nullish(),
  search_strategy: z.enum(['turbo', 'max', 'agent', 'agent_max', 'standard', 'pro']).nullish(),
  enable_search_extension: z.boolean().nullish(),
  enable_source: z.boolean().nullish(),
  enable_citation: z.boolean().nullish(),
  citation_format: z.string().nullish(),
  prepend_search_result: z.boolean().nullish(),
});

const ResponseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z
        .string()
        .max(SCHEMA_NAME_CHARACTERS_MAX)
        .regex(/^[A-Za-z0-9_-]+$/),
      description: z.string().nullish(),
      schema: JsonObject,
      strict: z.boolean().nullish(),
    }),
  }),
]);

const TokenId = z.int().min(0).max(TOKEN_ID_MAX);

export const ChatCompletionBody = z.object({
  model: z.string().min(1),
  messages: listOf(Message, { min: 1, max: MESSAGES_MAX }),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
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
  stop: z
    .union([z.string(), listOf(z.string(), { max: STOP_SEQUENCES_MAX }), listOf(TokenId, { max: STOP_SEQUENCES_MAX })])
    .nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(TOP_LOGPROBS_MAX).nullish(),
  response_format: ResponseFormat.nullish(),
  tools: listOf(Tool, { max: TOOLS_MAX }).nullish(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.literal('function'), function: z.object({ name: FunctionName }) }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  tool_stream: z.boolean().nullish(),
  functions: z.unknown().optional(),
  function_call: z.unknown().optional(),
  enable_thinking: z.boolean().nullish(),
  thinking: z
    .object({ type: z.enum(['adaptive', 'enabled', 'disabled']), budget_tokens: z.int().min(1).nullish() })
    .nullish(),
  preserve_thinking: z.boolean().nullish(),
  thinking_budget: z.int().min(1).nullish(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  enable_code_interpreter: z.boolean().nullish(),
  enable_search: z.boolean().nullish(),
  search_options: SearchOptions.nullish(),
  modalities: z
    .array(z.enum(['text', 'audio']))
    .min(1)
    .nullish(),
  audio: JsonObject.nullish(),
});

export type ChatCompletionWire = z.output<typeof ChatCompletionBody>;
export type WireMessage = ChatCompletionWire['messages'][number];
export type WirePart = z.output<typeof Part>;
export type WireTool = z.output<typeof Tool>;

/** Which model is asked comes first: its own limits stand in the texts of what follows. */
export const ModelOnly = ChatCompletionBody.pick({ model: true });

const TOOL_CHOICE =
  'tool_choice is one of the strings that should be ["none", "auto", "required"], or names a function';

const FUNCTION_NAME = `A function's name has 1 to ${TOOL_NAME_CHARACTERS_MAX} letters, digits, underscores or hyphens, and at most 64 tokens`;

const CACHE_CONTROL = 'cache_control must be {"type": "ephemeral"}, with a ttl of "5m" if any';

const RESPONSE_FORMAT =
  "Unknown format of response_format, response_format should be a dict, includes 'type' and an optional key 'json_schema'.";

/** wire.md 1.7, with the limits of this model. */
export function chatTexts({ contextTokens, maxThinkingTokens }: ModelEntry): RuleTexts {
  const thinkingMax = maxThinkingTokens ?? contextTokens;
  const stop = `stop must be a string, or an array of at most ${STOP_SEQUENCES_MAX} strings or token ids, not both`;
  const maxTokens = `Range of max_tokens should be [1, ${contextTokens}]`;
  return {
    messages: (value) => (Array.isArray(value) && value.length === 0 ? "[] is too short - 'messages'" : MESSAGES),
    'messages[].role': 'Role must be one of system, developer, user, assistant, tool',
    'messages[].content': (value) =>
      value === undefined || value === null ? 'The content field is a required field.' : CONTENT,
    'messages[].content[].type': CONTENT,
    'messages[].content[].cache_control.type': CACHE_CONTROL,
    'messages[].content[].cache_control.ttl': CACHE_CONTROL,
    max_tokens: maxTokens,
    max_completion_tokens: maxTokens.replace('max_tokens', 'max_completion_tokens'),
    temperature: floatText('temperature', 'Temperature should be in [0.0, 2.0)'),
    top_p: floatText('top_p', 'Range of top_p should be (0.0, 1.0]'),
    top_k: 'Parameter top_k be greater than or equal to 0',
    min_p: floatText('min_p', 'Range of min_p should be [0.0, 1.0]'),
    repetition_penalty: floatText('repetition_penalty', 'Repetition_penalty should be greater than 0.0'),
    presence_penalty: floatText('presence_penalty', 'Presence_penalty should be in [-2.0, 2.0]'),
    frequency_penalty: floatText('frequency_penalty', 'Frequency_penalty should be in [-2.0, 2.0]'),
    n: `Range of n should be [1, ${CHOICES_MAX}]`,
    seed: `Range of seed should be [0, ${SEED_MAX}]`,
    top_logprobs: `Range of top_logprobs should be [0, ${TOP_LOGPROBS_MAX}]`,
    stop,
    'stop[]': stop,
    thinking_budget: `The thinking_budget parameter must be a positive integer and not greater than ${thinkingMax}`,
    tool_choice: TOOL_CHOICE,
    'tool_choice.type': TOOL_CHOICE,
    'tool_choice.function.name': FUNCTION_NAME,
    'tools[].function.name': FUNCTION_NAME,
    response_format: RESPONSE_FORMAT,
    'response_format.type': RESPONSE_FORMAT,
    'response_format.json_schema.name': `A schema's name has 1 to ${SCHEMA_NAME_CHARACTERS_MAX} letters, digits, underscores or hyphens`,
  };
}

/** wire.md 1.7: what a text model says to a part that is not text. */
export const CONTENT = 'input content must be a string.';

const MESSAGES = `messages must be an array of 1 to ${MESSAGES_MAX} messages`;

const floatText = (name: string, range: string) => (value: unknown) =>
  typeof value === 'number' ? range : `'${name}' must be Float`;
