import { z } from 'zod';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { INCLUDES_MAX, SCHEMA_NAME_CHARACTERS_MAX, TOOLS_MAX } from '../../../core/limits.ts';
import { JsonObject, PARAMETERS } from '../../fields/parameter-schema.ts';
import { parameterTexts, textsAt } from '../../fields/texts.ts';
import { listOf } from '../../list-of.ts';
import type { RuleTexts } from '../../parse.ts';
import { placeIn } from './place.ts';
import { FunctionName, otherThan, Tool } from './tool-schema.ts';

// Shape and documented ranges of wire.md E6.3. Clients write null for "not set", so every optional field may be null.
// Rules between fields stand in rules.ts; `input` is looked into by items/.

const ToolChoice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), name: FunctionName }),
  z.object({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: listOf(z.looseObject({ type: z.string(), name: z.string().nullish() }), { max: TOOLS_MAX }),
  }),
  otherThan('function', 'allowed_tools'),
]);

const TextFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z
      .string()
      .max(SCHEMA_NAME_CHARACTERS_MAX)
      .regex(/^[A-Za-z0-9_-]+$/),
    description: z.string().nullish(),
    schema: JsonObject,
    strict: z.boolean().nullish(),
  }),
]);

const Conversation = z.union([z.string().min(1), z.object({ id: z.string().min(1) })]);

export const LOGPROBS_INCLUDE = 'message.output_text.logprobs';

/** Includes of this interface; what is not among them is no field of any answer. The last two are told in any case. */
export const INCLUDES: ReadonlySet<string> = new Set([
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
  tools: listOf(Tool, { max: TOOLS_MAX }).nullish(),
  tool_choice: ToolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  temperature: PARAMETERS.temperature,
  top_p: PARAMETERS.top_p,
  top_logprobs: PARAMETERS.top_logprobs,
  max_output_tokens: z.int().min(1).nullish(),
  // Of the chat interface, as enable_thinking is: clients send them along.
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
  include: listOf(z.string(), { max: INCLUDES_MAX }).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  background: z.boolean().nullish(),
  prompt: z.unknown().optional(),
  // They say who asks and how it is charged or cached, and change no answer.
  user: z.string().nullish(),
  service_tier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
});

export type ResponseWire = z.output<typeof ResponseBody>;

/** Which model is asked comes first: its own limits stand in the texts of what follows. */
export const ModelOnly = ResponseBody.pick({ model: true });

/** wire.md 1.7, with the limits of this model. */
export const responseTexts = (entry: ModelEntry): RuleTexts => ({
  ...textsAt(parameterTexts(entry), placeIn),
  max_output_tokens: `Range of max_output_tokens should be [1, ${entry.contextTokens}]`,
});
