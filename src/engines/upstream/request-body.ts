import { ServiceError } from '../../core/error.ts';
import type { Message, Tool } from '../../core/message.ts';
import { textOf } from '../../core/message.ts';
import type { OutputFormat, Sampling, ToolUse } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { EngineRequest } from '../engine.ts';

/**
 * A request in the words of the chat-completions format.
 * @throws ServiceError `unsupported`, naming the field, for what the format cannot say.
 */
export function requestBody(request: EngineRequest, model: string): object {
  const { input, stop, choices, logprobs, maxTokens, maxTotalTokens } = request;
  if (input.type !== 'messages') throw new ServiceError('internal', 'a chat engine was given a prompt');
  if (request.phases.length > 0) throw unsupported('thinking in phases', undefined);
  if (stop.tokens.length > 0) throw unsupported('token ids as stop sequences', 'stop');
  const partial = input.messages.findIndex((message) => message.partial);
  if (partial >= 0) throw unsupported('the continuation of a message', `messages[${partial}].partial`);
  return {
    model,
    messages: input.messages.map((message) => toMessage(message, input.preserveThinking === true)),
    ...(input.toolUse ? toTools(input.toolUse) : {}),
    ...(input.outputFormat ? { response_format: toResponseFormat(input.outputFormat) } : {}),
    stream: true,
    stream_options: { include_usage: true },
    ...toSampling(request.sampling),
    ...(choices > 1 ? { n: choices } : {}),
    ...(stop.strings.length > 0 ? { stop: stop.strings } : {}),
    ...limits(maxTokens, maxTotalTokens),
    ...(logprobs ? { logprobs: true, ...(logprobs.top > 0 ? { top_logprobs: logprobs.top } : {}) } : {}),
  };
}

const unsupported = (what: string, param: string | undefined): ServiceError =>
  new ServiceError('unsupported', `The model of this request runs on a server that has no ${what}.`, { param });

/** Servers differ in which of the two wins, and some refuse both together: the smaller one alone says both. */
function limits(maxTokens: number | undefined, maxTotalTokens: number | undefined): object {
  if (maxTokens === undefined) return present({ max_completion_tokens: maxTotalTokens });
  return { max_tokens: Math.min(maxTokens, maxTotalTokens ?? maxTokens) };
}

function toSampling({ topK, logitBias, ...rest }: Sampling): object {
  return present({
    temperature: rest.temperature,
    top_p: rest.topP,
    // Absent would be the server's own default; −1 is the one spelling of "off" that all servers with top_k take.
    top_k: topK === 0 ? -1 : topK,
    min_p: rest.minP,
    repetition_penalty: rest.repetitionPenalty,
    presence_penalty: rest.presencePenalty,
    frequency_penalty: rest.frequencyPenalty,
    logit_bias: logitBias && logitBias.size > 0 ? Object.fromEntries(logitBias) : undefined,
    seed: rest.seed,
  });
}

function toTools({ tools, choice, isParallel }: ToolUse): object {
  return {
    tools: tools.map(toTool),
    // Beside tools, auto is what every server does by itself.
    ...(choice === 'auto' ? {} : { tool_choice: typeof choice === 'string' ? choice : toChoice(choice) }),
    // Servers differ in what absent means.
    parallel_tool_calls: isParallel,
  };
}

const toChoice = ({ name }: { readonly name: string }): object => ({ type: 'function', function: { name } });

const toTool = ({ name, description, parameters }: Tool): object => ({
  type: 'function',
  function: {
    name,
    ...(description === '' ? {} : { description }),
    // Templates look for the properties of what a server lets be absent.
    parameters: parameters ?? { type: 'object', properties: {} },
  },
});

/** `strict`, because our callers are told that the schema holds; servers that cannot say so refuse. */
function toResponseFormat(format: OutputFormat): object {
  if (format.type === 'json-object') return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: format.name, schema: format.schema, strict: true } };
}

function toMessage(message: Message, withThought: boolean): object {
  return {
    // Every server knows `system`; `developer` is a word of one.
    role: message.role === 'developer' ? 'system' : message.role,
    content: toContent(message),
    ...present({
      name: message.name,
      tool_call_id: message.toolCallId,
      reasoning_content: withThought ? message.reasoning : undefined,
    }),
    ...(message.toolCalls && message.toolCalls.length > 0
      ? {
          tool_calls: message.toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments },
          })),
        }
      : {}),
  };
}

/** Text alone goes as a string, which also the servers take that know no parts. */
function toContent(message: Message): unknown {
  if (message.content.length === 0 && message.toolCalls && message.toolCalls.length > 0) return null;
  if (message.content.every((part) => part.type === 'text')) return textOf(message);
  return message.content.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } },
  );
}
