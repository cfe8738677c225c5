import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { TOOLS_MAX } from '../../limits.ts';
import { INCLUDES_MAX } from '../limits.ts';
import { JSON_SCHEMA_FORMAT_FIELDS, JsonObject, PARAMETERS } from '../../fields/parameter-schema.ts';
import { createParameterTexts, mapTextPaths } from '../../fields/parameter-texts.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import type { RuleTexts } from '../../parse.ts';
import { toResponsesPath } from './responses-path.ts';
import { FunctionName, createOtherTypeSchema, Tool } from './tool-schema.ts';

// Fields with their documented types and ranges (docs/wire/openai-compatible.md#responses-request). Clients write null
// for
// "not set", so every optional field may be null. rules.ts checks rules between fields; items/ validates `input`.

const ToolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), name: FunctionName }),
  z.object({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: failFastArray(z.looseObject({ type: z.string(), name: z.string().nullish() }), { max: TOOLS_MAX }),
  }),
  createOtherTypeSchema('function', 'allowed_tools'),
]);

const TextFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    ...JSON_SCHEMA_FORMAT_FIELDS,
  }),
]);

const Conversation = z.union([z.string().min(1), z.object({ id: z.string().min(1) })]);

export const LOGPROBS_INCLUDE = 'message.output_text.logprobs';

/** Supported values of `include`. The data of the last two is always part of the response. */
export const SUPPORTED_INCLUDES: ReadonlySet<string> = new Set([
  LOGPROBS_INCLUDE,
  'web_search_call.action.sources',
  'code_interpreter_call.outputs',
]);

export const ResponseBody = z.object({
  model: z.string().min(1),
  input: z.unknown().optional(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().min(1).nullish(),
  conversation: Conversation.nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).nullish(),
  tools: failFastArray(Tool, { max: TOOLS_MAX }).nullish(),
  tool_choice: ToolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  temperature: PARAMETERS.temperature,
  top_p: PARAMETERS.top_p,
  top_logprobs: PARAMETERS.top_logprobs,
  max_output_tokens: z.int().min(1).nullish(),
  // Fields of the chat interface, which clients send here too.
  enable_thinking: PARAMETERS.enable_thinking,
  thinking_budget: PARAMETERS.thinking_budget,
  preserve_thinking: PARAMETERS.preserve_thinking,
  reasoning: z
    .object({
      effort: PARAMETERS.reasoning_effort,
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    })
    .nullish(),
  text: z.object({ format: TextFormat.nullish(), verbosity: z.enum(['low', 'medium', 'high']).nullish() }).nullish(),
  metadata: JsonObject.nullish(),
  include: failFastArray(z.string(), { max: INCLUDES_MAX }).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  background: z.boolean().nullish(),
  prompt: z.unknown().optional(),
  // Identification, billing and caching; without effect on the response.
  user: z.string().nullish(),
  service_tier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
});

export type ResponseWire = z.output<typeof ResponseBody>;

/** The model is resolved before the other fields are parsed, because error texts contain its limits. */
export const ModelOnly = ResponseBody.pick({ model: true });

/** Returns the error texts, with the limits of a model (docs/wire/openai-compatible.md#errors). */
export const createResponseTexts = (entry: ModelEntry): RuleTexts => ({
  ...mapTextPaths(createParameterTexts(entry), toResponsesPath),
  max_output_tokens: `Range of max_output_tokens should be [1, ${entry.contextTokens}]`,
});
