import type { ChatFields } from '../../fields/parameter-schema.ts';
import type { FieldPathMapper } from '../../fields/field-path-mapper.ts';
import { toResponsesPath } from './responses-path.ts';
import { isAllowedTools, listOfferedFunctions, listOfferedToolKinds, requiresCall } from './offered-tools.ts';
import { LOGPROBS_INCLUDE, type ResponseWire } from './schema.ts';

/** The request as shared chat fields, and the paths of those fields in the original request. */
export interface MappedChatFields {
  readonly fields: ChatFields;
  readonly toPath: FieldPathMapper;
}

/**
 * Converts a request to shared chat fields, for shared rules and decoding. `messages` is empty, because items differ.
 */
export function toChatFields(wire: ResponseWire): MappedChatFields {
  const functions = listOfferedFunctions(wire);
  const { effort } = wire.reasoning ?? {};
  const isWithLogprobs = wire.include?.includes(LOGPROBS_INCLUDE) === true;
  return {
    fields: {
      messages: [],
      max_completion_tokens: wire.max_output_tokens,
      temperature: wire.temperature,
      top_p: wire.top_p,
      logprobs: isWithLogprobs,
      top_logprobs: isWithLogprobs ? wire.top_logprobs : undefined,
      response_format: toResponseFormat(wire.text?.format),
      tools: functions.map(({ tool: { name, description, parameters, strict } }) => ({
        type: 'function',
        function: { name, description, parameters, strict },
      })),
      tool_choice: toToolChoice(wire, functions.length),
      parallel_tool_calls: wire.parallel_tool_calls,
      // Clients of this interface assemble the pieces of arguments themselves.
      tool_stream: true,
      enable_thinking: effort ? effort !== 'none' : wire.enable_thinking,
      reasoning_effort: effort,
      thinking_budget: wire.thinking_budget,
      preserve_thinking: wire.preserve_thinking,
    },
    toPath: (field) =>
      toResponsesPath(
        field.replace(/^tools\[(\d+)\]/, (_, index: string) => `tools[${functions[Number(index)]?.index ?? index}]`),
      ),
  };
}

/** Converts `tool_choice` as far as it concerns functions; server-tools.ts handles tools that run in Parley. */
function toToolChoice(wire: ResponseWire, functions: number): ChatFields['tool_choice'] {
  const { tool_choice: choice } = wire;
  if (requiresCall(choice) && functions === 0 && listOfferedToolKinds(wire).size > 0) return 'auto';
  if (typeof choice !== 'object' || choice === null) return choice;
  if (isAllowedTools(choice)) return choice.mode;
  return choice.type === 'function' && typeof choice['name'] === 'string'
    ? { type: 'function', function: { name: choice['name'] } }
    : 'auto';
}

function toResponseFormat(format: NonNullable<ResponseWire['text']>['format']): ChatFields['response_format'] {
  if (format?.type !== 'json_schema') return format;
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}
