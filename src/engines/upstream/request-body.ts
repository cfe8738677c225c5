import { createPromptInputError } from '../engine-input.ts';
import type { Abilities } from '../../core/abilities.ts';
import { ServiceError } from '../../core/error.ts';
import type { Message, Tool } from '../../core/message.ts';
import {
  isMaxEffort,
  type OutputFormat,
  type Sampling,
  type ThinkingOptions,
  type ToolUseOptions,
} from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { EngineInput, EngineRequest } from '../engine.ts';
import { encodeMessages } from './request-messages.ts';
import type { ServerProfile } from './server-profiles.ts';

export interface RequestBodyOptions {
  /** Model name at the server. */
  readonly model: string;
  readonly server: ServerProfile;
  /** Abilities of the model as the server reports them. */
  readonly abilities?: Abilities | undefined;
}

type ChatInput = Extract<EngineInput, { type: 'messages' }>;

/**
 * Encodes a request in the chat-completions format with the field names of this server. Parley's fields overwrite
 * forwarded fields of the caller.
 * @throws ServiceError `unsupported`, naming the field, for what the format or the server does not support.
 */
export function encodeRequestBody(request: EngineRequest, { model, server, abilities }: RequestBodyOptions): object {
  const { input, stop, choices, maxTokens, maxTotalTokens } = request;
  if (input.type !== 'messages') throw createPromptInputError();
  if (request.phases.length > 0) throw createUnsupportedError('support for phases of thinking', undefined);
  checkImages(input.messages, abilities);
  return {
    ...encodeChatBody(input, { model, server }),
    ...(input.outputFormat ? { response_format: encodeResponseFormat(input.outputFormat, server) } : {}),
    stream: true,
    stream_options: { include_usage: true },
    ...encodeSampling(request.sampling, server),
    ...(choices > 1 ? { n: choices } : {}),
    ...(stop.strings.length > 0 ? { stop: stop.strings } : {}),
    ...encodeStopTokens(stop.tokens, server),
    ...encodeTokenLimits(maxTokens, maxTotalTokens, server),
    ...encodeLogprobs(request.logprobs, server),
  };
}

/** Encodes the part of a body that determines the prompt. @throws ServiceError as `encodeRequestBody`. */
export function encodeChatBody(input: ChatInput, { model, server }: RequestBodyOptions): object {
  const { forwarded, toolUse } = input;
  const thinkingFields = encodeThinking(input.thinking, server);
  const templateArguments = thinkingFields.chat_template_kwargs && {
    // Merge the caller's template arguments with Parley's.
    chat_template_kwargs: { ...asObject(forwarded?.['chat_template_kwargs']), ...thinkingFields.chat_template_kwargs },
  };
  return {
    ...forwarded,
    model,
    messages: encodeMessages(input.messages, input.preserveThinking === true),
    ...encodeContinuation(input.messages, server),
    ...(toolUse ? encodeTools(toolUse, server) : {}),
    ...thinkingFields,
    ...templateArguments,
  };
}

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});

const createUnsupportedError = (what: string, param: string | undefined): ServiceError =>
  new ServiceError('unsupported', `The model of this request runs on a server that has no ${what}.`, { param });

function checkImages(messages: readonly Message[], abilities: Abilities | undefined): void {
  if (abilities?.vision !== false) return;
  const position = messages.findIndex(({ content }) => content.some(({ type }) => type === 'image'));
  if (position >= 0) throw createUnsupportedError('model that reads images', `messages[${position}].content`);
}

function encodeContinuation(messages: readonly Message[], { continuationFields }: ServerProfile): object {
  const position = messages.findIndex(({ partial }) => partial);
  if (position < 0) return {};
  if (!continuationFields)
    throw createUnsupportedError('support for continuing a message', `messages[${position}].partial`);
  return continuationFields;
}

interface ThinkingFields {
  readonly chat_template_kwargs?: object;
  readonly reasoning_effort?: string;
}

/**
 * Chat templates have two names for the switch: `enable_thinking` (Qwen, GLM) and `thinking` (DeepSeek, Kimi); a template
 * ignores arguments that it does not know. Without a budget, the effort stays at the model's default.
 */
function encodeThinking(thinking: ThinkingOptions | false | undefined, server: ServerProfile): ThinkingFields {
  if (thinking === undefined || server.thinkingControl === undefined) return {};
  if (server.thinkingControl === 'effort') return { reasoning_effort: thinking === false ? 'none' : 'high' };
  const isEnabled = thinking !== false;
  const { budgetTokens, effort } = thinking || {};
  const budget = server.thinkingBudgetField;
  return {
    chat_template_kwargs: { enable_thinking: isEnabled, thinking: isEnabled },
    ...(effort && !isMaxEffort(effort) && budgetTokens === undefined ? { reasoning_effort: 'high' } : {}),
    ...(budget !== undefined && budgetTokens !== undefined ? { [budget]: budgetTokens } : {}),
  };
}

/** Servers differ in which limit wins, and some refuse both together, so only the smaller one is sent. */
function encodeTokenLimits(
  maxTokens: number | undefined,
  maxTotalTokens: number | undefined,
  server: ServerProfile,
): object {
  if (maxTokens === undefined) return omitNullish({ max_completion_tokens: maxTotalTokens });
  return { [server.maxTokensField ?? 'max_tokens']: Math.min(maxTokens, maxTotalTokens ?? maxTokens) };
}

function encodeSampling({ topK, logitBias, ...rest }: Sampling, { samplingFields: fieldNames }: ServerProfile): object {
  const values = omitNullish({
    ...rest,
    // Absent means the server's default; −1 is the value for "off" that all servers with top_k accept.
    topK: topK === 0 ? -1 : topK,
    logitBias: logitBias && logitBias.size > 0 ? Object.fromEntries(logitBias) : undefined,
  });
  const fieldNameByOption: ReadonlyMap<string, string> = new Map(Object.entries(fieldNames));
  return Object.fromEntries(
    Object.entries(values).flatMap(([option, value]) => {
      const fieldName = fieldNameByOption.get(option);
      return fieldName === undefined ? [] : [[fieldName, value]];
    }),
  );
}

function encodeStopTokens(tokens: readonly (readonly number[])[], { stopTokensField }: ServerProfile): object {
  if (tokens.length === 0) return {};
  if (stopTokensField === undefined) throw createUnsupportedError('support for stop sequences of token ids', 'stop');
  if (tokens.some(({ length }) => length !== 1))
    throw createUnsupportedError('support for stop sequences of several token ids', 'stop');
  return { [stopTokensField]: tokens.flat() };
}

function encodeLogprobs(logprobs: { readonly top: number } | undefined, { topLogprobsMin }: ServerProfile): object {
  if (!logprobs) return {};
  const top = Math.max(logprobs.top, topLogprobsMin);
  return { logprobs: true, ...(top > 0 ? { top_logprobs: top } : {}) };
}

/** Sends `strict`, because callers rely on the schema; servers that do not support it refuse. */
function encodeResponseFormat(format: OutputFormat, { jsonObjectFormat }: ServerProfile): object {
  if (format.type === 'json-object') return jsonObjectFormat;
  return { type: 'json_schema', json_schema: { name: format.name, schema: format.schema, strict: true } };
}

/** Encodes the request fields for tools. */
function encodeTools(
  { tools, choice, isParallel }: ToolUseOptions,
  { canForceTool }: Pick<ServerProfile, 'canForceTool'>,
): object {
  const offeredTools =
    typeof choice === 'object' && !canForceTool ? tools.filter(({ name }) => name === choice.name) : tools;
  return {
    tools: offeredTools.map(encodeTool),
    ...encodeToolChoice(offeredTools === tools ? choice : 'required'),
    // Servers have different defaults.
    parallel_tool_calls: isParallel,
  };
}

/** Omits `auto`, the default of every server when there are tools. */
function encodeToolChoice(choice: ToolUseOptions['choice']): object {
  if (choice === 'auto') return {};
  return {
    tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
  };
}

const encodeTool = ({ name, description, parameters }: Tool): object => ({
  type: 'function',
  function: {
    name,
    ...(description === '' ? {} : { description }),
    // Templates read `properties` even if the server treats it as optional.
    parameters: parameters ?? { type: 'object', properties: {} },
  },
});
