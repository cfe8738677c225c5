import type { ChatFields } from '../../fields/parameter-schema.ts';
import type { Place } from '../../fields/place.ts';
import { placeIn } from './place.ts';
import { isFunctionTool, LOGPROBS_INCLUDE } from './schema.ts';
import type { ResponseWire, WireFunctionTool } from './schema.ts';

/** A request in the words that the chat interfaces share, and where each of them stands in it. */
export interface SharedFields {
  readonly fields: ChatFields;
  readonly place: Place;
}

/** Rules, decoding and what is ignored are the same as there. `messages` is empty: items are this interface's own. */
export function chatFields(wire: ResponseWire): SharedFields {
  const offered = offeredTools(wire);
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
      tool_choice: choiceOf(wire.tool_choice),
      parallel_tool_calls: wire.parallel_tool_calls,
      // These clients put the pieces of arguments together themselves.
      tool_stream: true,
      enable_thinking: effort ? effort !== 'none' : wire.enable_thinking,
      reasoning_effort: effort,
      stream: wire.stream,
    },
    place: (field) =>
      placeIn(
        field.replace(/^tools\[(\d+)\]/, (_, index: string) => `tools[${offered[Number(index)]?.index ?? index}]`),
      ),
  };
}

interface Offered {
  readonly tool: WireFunctionTool;
  /** Among all tools of the request. */
  readonly index: number;
}

/** Functions, of which `allowed_tools` may name some; anything else runs elsewhere. */
function offeredTools({ tools, tool_choice: choice }: ResponseWire): readonly Offered[] {
  const functions = (tools ?? []).flatMap((tool, index): Offered[] => (isFunctionTool(tool) ? [{ tool, index }] : []));
  const allowed = allowedNames(choice);
  return allowed ? functions.filter(({ tool }) => allowed.has(tool.name)) : functions;
}

export function allowedNames(choice: ResponseWire['tool_choice']): ReadonlySet<string> | undefined {
  if (!isAllowedTools(choice)) return undefined;
  return new Set(choice.tools.flatMap(({ type, name }) => (type === 'function' && name ? [name] : [])));
}

type AllowedTools = Extract<ResponseWire['tool_choice'], { readonly mode: 'auto' | 'required' }>;

const isAllowedTools = (choice: ResponseWire['tool_choice']): choice is AllowedTools =>
  typeof choice === 'object' && choice?.type === 'allowed_tools';

function choiceOf(choice: ResponseWire['tool_choice']): ChatFields['tool_choice'] {
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
