import type { ModelEntry } from '../../../catalogue/model.ts';
import type { ResponseWire } from './schema.ts';
import { isFunctionTool, type ResponseTool } from './tool-schema.ts';

/** Fields that every object of one response repeats. */
export interface ResponseHead {
  /** `resp_` and a unique part, which the ids of output items share. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** Model name in the request. */
  readonly model: string;
  /** Request fields as the response repeats them, with defaults filled in. */
  readonly requestFields: object;
}

/** Temperature and top_p if neither the caller nor the catalogue sets them. */
const NEUTRAL_SAMPLING = 1;

/**
 * Encodes the request fields that a response object repeats: the documented ones and those that the published OpenAI
 * schema requires (docs/wire/openai-compatible.md#response-object).
 */
export function encodeRequestFields(wire: ResponseWire, { sampling }: Pick<ModelEntry, 'sampling'>): object {
  const { reasoning, text } = wire;
  return {
    parallel_tool_calls: wire.parallel_tool_calls === true,
    tool_choice: wire.tool_choice ?? 'auto',
    tools: (wire.tools ?? []).map(encodeTool),
    instructions: wire.instructions ?? null,
    metadata: wire.metadata ?? {},
    previous_response_id: wire.previous_response_id ?? null,
    conversation: getConversationId(wire) === undefined ? null : { id: getConversationId(wire) },
    max_output_tokens: wire.max_output_tokens ?? null,
    max_tool_calls: wire.max_tool_calls ?? null,
    temperature: wire.temperature ?? sampling.temperature ?? NEUTRAL_SAMPLING,
    top_p: wire.top_p ?? sampling.topP ?? NEUTRAL_SAMPLING,
    top_logprobs: wire.top_logprobs ?? 0,
    presence_penalty: sampling.presencePenalty ?? 0,
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    text: { format: encodeFormat(text?.format), ...(text?.verbosity ? { verbosity: text.verbosity } : {}) },
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    store: wire.store ?? true,
    truncation: wire.truncation ?? 'disabled',
    background: wire.background === true,
    service_tier: 'default',
    user: wire.user ?? null,
    safety_identifier: wire.safety_identifier ?? null,
    prompt_cache_key: wire.prompt_cache_key ?? null,
  };
}

/** Encodes a function tool with all of its fields, which readers of the published schema require. */
const encodeTool = (tool: ResponseTool): object =>
  isFunctionTool(tool)
    ? {
        type: tool.type,
        name: tool.name,
        description: tool.description ?? null,
        parameters: tool.parameters ?? null,
        strict: tool.strict ?? null,
      }
    : omitSecrets(tool);

/** Removes the caller's credentials for a tool server, which are neither returned nor stored. */
export const omitSecrets = (tool: ResponseTool): object =>
  Object.fromEntries(Object.entries(tool).filter(([name]) => !SECRET_FIELDS.has(name)));

const SECRET_FIELDS = new Set(['headers', 'authorization']);

const encodeFormat = (format: NonNullable<ResponseWire['text']>['format']): object =>
  format?.type === 'json_schema'
    ? { ...format, description: format.description ?? null, strict: format.strict ?? false }
    : (format ?? { type: 'text' });

export const getConversationId = ({ conversation }: ResponseWire): string | undefined =>
  (typeof conversation === 'string' ? conversation : conversation?.id) ?? undefined;

/** Returns the id of the output item at a position. It is the same streamed, unstreamed and stored. */
export const formatOutputId = ({ id }: Pick<ResponseHead, 'id'>, prefix: string, index: number): string =>
  `${prefix}${id.slice(id.indexOf('_') + 1)}${String(index).padStart(2, '0')}`;
