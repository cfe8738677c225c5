import type { Message, Part, Tool, ToolCall } from '../../core/message.ts';
import { NO_STOP } from '../../core/request.ts';
import type { GenerationRequest, OutputFormat, Sampling, Stop, ToolUse } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { WireMessage, WirePart } from './message-schema.ts';
import type { ChatFields, SamplingFields, WireStop, WireTool } from './parameter-schema.ts';
import type { Place } from './place.ts';
import { decodeThinking } from './thinking.ts';

/** wire.md E1.1: a top_k above this is the same as none. */
const TOP_K_OFF_ABOVE = 100;

/** The wire's words in ours. They were checked by the schemas and the rules. */
export function decodeChat(model: string, wire: ChatFields, place: Place): GenerationRequest {
  return {
    model,
    messages: wire.messages.map(decodeMessage),
    sampling: decodeSampling(wire),
    stop: decodeStop(wire.stop),
    choices: wire.n ?? 1,
    ...present({
      maxTokens: wire.max_tokens,
      maxTotalTokens: wire.max_completion_tokens,
      thinking: decodeThinking(wire),
      toolUse: decodeToolUse(wire, place),
      outputFormat: decodeOutputFormat(wire.response_format, place),
    }),
    ...(wire.preserve_thinking === true ? { preserveThinking: true } : {}),
    ...(wire.logprobs === true ? { logprobs: { top: wire.top_logprobs ?? 0 } } : {}),
  };
}

function decodeMessage(wire: WireMessage): Message {
  const shared = { role: wire.role, content: decodeContent(wire.content), ...present({ name: text(wire.name) }) };
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
        ...present({ reasoning: text(wire.reasoning_content) }),
        ...(toolCalls.length > 0 ? { toolCalls } : {}),
        ...(wire.partial === true ? { partial: true } : {}),
      };
    }
  }
}

function decodeContent(content: WireMessage['content']): readonly Part[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content.toWellFormed() }];
  return content.flatMap(decodePart);
}

function decodePart(part: WirePart): readonly Part[] {
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
      return []; // refused by the rules before
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
  place: Place,
): ToolUse | undefined {
  if (!tools?.length || choice === 'none') return undefined;
  return {
    tools: tools.map((tool, index) => decodeTool(tool, place(`tools[${index}].function.parameters`))),
    choice: typeof choice === 'object' && choice ? { name: choice.function.name } : (choice ?? 'auto'),
    isParallel: isParallel === true,
    streamsComplex: streamsComplex === true,
  };
}

/** `strict` says nothing here: arguments follow their schema whether it is set or not. */
function decodeTool({ function: { name, description, parameters } }: WireTool, field: string): Tool {
  const takesNone = !parameters || Object.keys(parameters).length === 0;
  return {
    name,
    description: description?.toWellFormed() ?? '',
    parameters: takesNone ? undefined : parameters,
    field,
  };
}

/** As with tools, `strict` changes nothing: the answer follows the schema. */
function decodeOutputFormat(format: ChatFields['response_format'], place: Place): OutputFormat | undefined {
  switch (format?.type) {
    case undefined:
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json-object' };
    case 'json_schema': {
      const { name, schema } = format.json_schema;
      return { type: 'json-schema', name, schema, field: place('response_format.json_schema.schema') };
    }
  }
}

export function decodeSampling(wire: SamplingFields): Sampling {
  const topK = wire.top_k === null || (wire.top_k ?? 0) > TOP_K_OFF_ABOVE ? 0 : wire.top_k;
  return present({
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

export function decodeStop(stop: WireStop): Stop {
  if (stop === undefined || stop === null) return NO_STOP;
  const each = typeof stop === 'string' ? [stop] : stop;
  return {
    strings: each.filter((one) => typeof one === 'string').map((one) => one.toWellFormed()),
    tokens: each.flatMap((one) => (typeof one === 'string' ? [] : [typeof one === 'number' ? [one] : one])),
  };
}

/** Half a surrogate pair is no text: it becomes U+FFFD here, as it would on its way into any tokenizer. */
const text = (value: string | null | undefined): string | undefined => value?.toWellFormed();
