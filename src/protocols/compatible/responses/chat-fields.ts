import type { ChatFields } from '../../fields/parameter-schema.ts';
import type { Place } from '../../fields/place.ts';
import { placeIn } from './place.ts';
import { isAllowedTools, offeredFunctions, offeredKinds, requiresCall } from './offered-tools.ts';
import { LOGPROBS_INCLUDE } from './schema.ts';
import type { ResponseWire } from './schema.ts';

/** A request in the words that the chat interfaces share, and where each of them stands in it. */
export interface SharedFields {
  readonly fields: ChatFields;
  readonly place: Place;
}

/** Rules, decoding and what is ignored are the same as there. `messages` is empty: items are this interface's own. */
export function chatFields(wire: ResponseWire): SharedFields {
  const offered = offeredFunctions(wire);
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
      response_format: formatOf(wire.text?.format),
      tools: offered.map(({ tool: { name, description, parameters, strict } }) => ({
        type: 'function',
        function: { name, description, parameters, strict },
      })),
      tool_choice: choiceOf(wire, offered.length),
      parallel_tool_calls: wire.parallel_tool_calls,
      // These clients put the pieces of arguments together themselves.
      tool_stream: true,
      enable_thinking: effort ? effort !== 'none' : wire.enable_thinking,
      reasoning_effort: effort,
      thinking_budget: wire.thinking_budget,
      preserve_thinking: wire.preserve_thinking,
    },
    place: (field) =>
      placeIn(
        field.replace(/^tools\[(\d+)\]/, (_, index: string) => `tools[${offered[Number(index)]?.index ?? index}]`),
      ),
  };
}

/** Which of the functions; of tools that run here server-tools.ts says the same. */
function choiceOf(wire: ResponseWire, functions: number): ChatFields['tool_choice'] {
  const { tool_choice: choice } = wire;
  if (requiresCall(choice) && functions === 0 && offeredKinds(wire).size > 0) return 'auto';
  if (typeof choice !== 'object' || choice === null) return choice;
  if (isAllowedTools(choice)) return choice.mode;
  return choice.type === 'function' && typeof choice['name'] === 'string'
    ? { type: 'function', function: { name: choice['name'] } }
    : 'auto';
}

function formatOf(format: NonNullable<ResponseWire['text']>['format']): ChatFields['response_format'] {
  if (format?.type !== 'json_schema') return format;
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}
