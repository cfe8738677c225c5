import type { Message, ContentPart, Tool, ToolCall } from '../../core/message.ts';
import {
  NO_STOP,
  type GenerationRequest,
  type OutputFormat,
  type Sampling,
  type StopConditions,
} from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { WireMessage, WirePart } from './message-schema.ts';
import type { ChatFields, SamplingFields, WireStop, WireTool } from './parameter-schema.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';
import { decodeThinking } from './thinking.ts';

/** A top_k above this value disables top-k sampling (docs/wire/openai-compatible.md#chat-request). */
const TOP_K_OFF_ABOVE = 100;

/** Converts the shared chat fields, already checked by the schemas and rules, to a generation request. */
export function decodeChatFields(model: string, wire: ChatFields, toPath: FieldPathMapper): GenerationRequest {
  return {
    model,
    messages: wire.messages.map(decodeMessage),
    sampling: decodeSampling(wire),
    stop: decodeStop(wire.stop),
    choices: wire.n ?? 1,
    ...omitNullish({
      maxTokens: wire.max_tokens,
      maxTotalTokens: wire.max_completion_tokens,
      thinking: decodeThinking(wire),
      ...decodeToolUse(wire, toPath),
      outputFormat: decodeOutputFormat(wire.response_format, toPath),
    }),
    ...(wire.preserve_thinking === true ? { preserveThinking: true } : {}),
    ...(wire.logprobs === true ? { logprobs: { top: wire.top_logprobs ?? 0 } } : {}),
  };
}

function decodeMessage(wire: WireMessage): Message {
  const shared = { role: wire.role, content: decodeContent(wire.content), ...omitNullish({ name: toText(wire.name) }) };
  switch (wire.role) {
    case 'system':
    case 'developer':
    case 'user':
      return shared;
    case 'tool':
      return { ...shared, toolCallId: wire.tool_call_id };
    case 'assistant': {
      const toolCalls = wire.tool_calls?.map(decodeToolCall) ?? [];
      return {
        ...shared,
        ...omitNullish({ reasoning: toText(wire.reasoning_content) }),
        ...(toolCalls.length > 0 ? { toolCalls } : {}),
        ...(wire.partial === true ? { partial: true } : {}),
      };
    }
  }
}

function decodeContent(content: WireMessage['content']): readonly ContentPart[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content.toWellFormed() }];
  return content.flatMap(decodePart);
}

function decodePart(part: WirePart): readonly ContentPart[] {
  switch (part.type) {
    case 'text': {
      const cache = part.cache_control ? ({ cache: 'ephemeral' } as const) : {};
      return [{ type: 'text', text: part.text.toWellFormed(), ...cache }];
    }
    case 'image_url':
      return [{ type: 'image', url: part.image_url.url }];
    case 'input_audio':
    case 'video':
    case 'video_url':
    case 'file':
    case 'refusal':
      return []; // rejected by the rules earlier
  }
}

const decodeToolCall = (call: {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}): ToolCall => ({
  id: call.id,
  name: call.function.name.toWellFormed(),
  arguments: call.function.arguments.toWellFormed(),
});

function decodeToolUse(
  { tools, tool_choice: choice, parallel_tool_calls: isParallel, tool_stream: streamsComplex }: ChatFields,
  toPath: FieldPathMapper,
): Pick<GenerationRequest, 'toolUse' | 'uncallableTools'> {
  if (!tools?.length) return {};
  const decoded = tools.map((tool, index) => decodeTool(tool, toPath(`tools[${index}].function.parameters`)));
  if (choice === 'none') return { uncallableTools: decoded };
  return {
    toolUse: {
      tools: decoded,
      choice: typeof choice === 'object' && choice ? { name: choice.function.name } : (choice ?? 'auto'),
      isParallel: isParallel === true,
      streamsComplexArguments: streamsComplex === true,
    },
  };
}

/** `strict` has no effect: arguments always follow their schema. */
function decodeTool({ function: { name, description, parameters } }: WireTool, field: string): Tool {
  const takesNone = !parameters || Object.keys(parameters).length === 0;
  return {
    name,
    description: description?.toWellFormed() ?? '',
    parameters: takesNone ? undefined : parameters,
    field,
  };
}

/** `strict` has no effect here either: the answer always follows the schema. */
function decodeOutputFormat(format: ChatFields['response_format'], toPath: FieldPathMapper): OutputFormat | undefined {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json-object' };
    case 'json_schema': {
      const { name, schema } = format.json_schema;
      return { type: 'json-schema', name, schema, field: toPath('response_format.json_schema.schema') };
    }
  }
}

export function decodeSampling(wire: SamplingFields): Sampling {
  const topK = wire.top_k === null || (wire.top_k ?? 0) > TOP_K_OFF_ABOVE ? 0 : wire.top_k;
  return omitNullish({
    temperature: wire.temperature,
    topP: wire.top_p,
    topK,
    minP: wire.min_p,
    repetitionPenalty: wire.repetition_penalty,
    presencePenalty: wire.presence_penalty,
    frequencyPenalty: wire.frequency_penalty,
    logitBias: wire.logit_bias && decodeLogitBias(wire.logit_bias),
    seed: wire.seed,
  });
}

const decodeLogitBias = (bias: Readonly<Record<string, unknown>>): ReadonlyMap<number, number> =>
  new Map(Object.entries(bias).map(([token, value]) => [Number(token), Number(value)]));

export function decodeStop(stop: WireStop): StopConditions {
  if (stop === undefined || stop === null) return NO_STOP;
  const items = typeof stop === 'string' ? [stop] : stop;
  return {
    strings: items.filter((item) => typeof item === 'string').map((item) => item.toWellFormed()),
    tokens: items.flatMap((item) => (typeof item === 'string' ? [] : [typeof item === 'number' ? [item] : item])),
  };
}

/** Replaces half a surrogate pair by U+FFFD, as every tokenizer would. */
const toText = (value: string | null | undefined): string | undefined => value?.toWellFormed();
