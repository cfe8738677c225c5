import type { ModelEntry } from '../../../catalogue/model.ts';
import type { ResponseWire } from './schema.ts';
import { isFunctionTool } from './tool-schema.ts';
import type { WireTool } from './tool-schema.ts';

/** What every object of one response repeats. */
export interface ResponseHead {
  /** `resp_` and what the ids of its output are made of. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** As asked. */
  readonly model: string;
  /** What was asked for, as the interface tells it: spelled out where nothing was said. */
  readonly asked: object;
}

/** Temperature where neither caller nor catalogue says: neutral, as for top_p. */
const NEUTRAL = 1;

/** wire.md E6.4, its comfort fields, and what the published schema of responses wants besides. */
export function askedFields(wire: ResponseWire, { sampling }: Pick<ModelEntry, 'sampling'>): object {
  const { reasoning, text } = wire;
  return {
    parallel_tool_calls: wire.parallel_tool_calls === true,
    tool_choice: wire.tool_choice ?? 'auto',
    tools: (wire.tools ?? []).map(tellTool),
    instructions: wire.instructions ?? null,
    metadata: wire.metadata ?? {},
    previous_response_id: wire.previous_response_id ?? null,
    conversation: conversationId(wire) === undefined ? null : { id: conversationId(wire) },
    max_output_tokens: wire.max_output_tokens ?? null,
    max_tool_calls: wire.max_tool_calls ?? null,
    temperature: wire.temperature ?? sampling.temperature ?? NEUTRAL,
    top_p: wire.top_p ?? sampling.topP ?? NEUTRAL,
    top_logprobs: wire.top_logprobs ?? 0,
    presence_penalty: sampling.presencePenalty ?? 0,
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    text: { format: tellFormat(text?.format), ...(text?.verbosity ? { verbosity: text.verbosity } : {}) },
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

/** Functions with all of their fields: readers of the published schema want them. */
const tellTool = (tool: WireTool): object =>
  isFunctionTool(tool)
    ? {
        type: tool.type,
        name: tool.name,
        description: tool.description ?? null,
        parameters: tool.parameters ?? null,
        strict: tool.strict ?? null,
      }
    : withoutSecrets(tool);

/** What a caller sends along for a server of tools opens that server: it is neither told back nor kept. */
export const withoutSecrets = (tool: WireTool): object =>
  Object.fromEntries(Object.entries(tool).filter(([name]) => !SECRETS.has(name)));

const SECRETS = new Set(['headers', 'authorization']);

const tellFormat = (format: NonNullable<ResponseWire['text']>['format']): object =>
  format?.type === 'json_schema'
    ? { ...format, description: format.description ?? null, strict: format.strict ?? false }
    : (format ?? { type: 'text' });

export const conversationId = ({ conversation }: ResponseWire): string | undefined =>
  (typeof conversation === 'string' ? conversation : conversation?.id) ?? undefined;

/** Of the output at this position: the same streamed, told at once and kept. */
export const outputId = ({ id }: Pick<ResponseHead, 'id'>, prefix: string, index: number): string =>
  `${prefix}${id.slice(id.indexOf('_') + 1)}${String(index).padStart(2, '0')}`;
