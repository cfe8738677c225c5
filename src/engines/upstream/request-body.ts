import type { Abilities } from '../../core/abilities.ts';
import { ServiceError } from '../../core/error.ts';
import type { Message } from '../../core/message.ts';
import type { OutputFormat, Sampling, ThinkingWish } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { EngineInput, EngineRequest } from '../engine.ts';
import { toMessages } from './request-messages.ts';
import { toTools } from './request-tools.ts';
import type { Server } from './servers.ts';

export interface BodyNeeds {
  /** The model's name at the server. */
  readonly model: string;
  readonly server: Server;
  /** What the server says that its model can do. */
  readonly abilities?: Abilities | undefined;
}

type ChatInput = Extract<EngineInput, { type: 'messages' }>;

/**
 * A request in the words of the chat-completions format, as this server speaks it. Fields that callers sent for it stand
 * under ours.
 * @throws ServiceError `unsupported`, naming the field, for what the format or the server cannot say.
 */
export function requestBody(request: EngineRequest, { model, server, abilities }: BodyNeeds): object {
  const { input, stop, choices, maxTokens, maxTotalTokens } = request;
  if (input.type !== 'messages') throw new ServiceError('internal', 'a chat engine was given a prompt');
  if (request.phases.length > 0) throw unsupported('thinking in phases', undefined);
  checkImages(input.messages, abilities);
  return {
    ...chatBody(input, { model, server }),
    ...(input.outputFormat ? { response_format: toResponseFormat(input.outputFormat, server) } : {}),
    stream: true,
    stream_options: { include_usage: true },
    ...toSampling(request.sampling, server),
    ...(choices > 1 ? { n: choices } : {}),
    ...(stop.strings.length > 0 ? { stop: stop.strings } : {}),
    ...toStopTokens(stop.tokens, server),
    ...limits(maxTokens, maxTotalTokens, server),
    ...toLogprobs(request.logprobs, server),
  };
}

/** The part of a body that decides about the prompt. @throws ServiceError as `requestBody`. */
export function chatBody(input: ChatInput, { model, server }: BodyNeeds): object {
  const { forwarded, toolUse } = input;
  const thinking = toThinking(input.thinking, server);
  const kwargs = thinking.chat_template_kwargs && {
    // A caller's arguments of the template stand beside ours.
    chat_template_kwargs: { ...asObject(forwarded?.['chat_template_kwargs']), ...thinking.chat_template_kwargs },
  };
  return {
    ...forwarded,
    model,
    messages: toMessages(input.messages, input.preserveThinking === true),
    ...toContinuation(input.messages, server),
    ...(toolUse ? toTools(toolUse, server) : {}),
    ...thinking,
    ...kwargs,
  };
}

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {});

const unsupported = (what: string, param: string | undefined): ServiceError =>
  new ServiceError('unsupported', `The model of this request runs on a server that has no ${what}.`, { param });

function checkImages(messages: readonly Message[], abilities: Abilities | undefined): void {
  if (abilities?.vision !== false) return;
  const at = messages.findIndex(({ content }) => content.some(({ type }) => type === 'image'));
  if (at >= 0) throw unsupported('model for images', `messages[${at}].content`);
}

function toContinuation(messages: readonly Message[], { continuation }: Server): object {
  const at = messages.findIndex(({ partial }) => partial);
  if (at < 0) return {};
  if (!continuation) throw unsupported('the continuation of a message', `messages[${at}].partial`);
  return continuation;
}

interface ThinkingFields {
  readonly chat_template_kwargs?: object;
  readonly reasoning_effort?: string;
}

/**
 * Templates have two names for the switch: `enable_thinking` in those of Qwen and GLM, `thinking` in those of DeepSeek and
 * Kimi; what a template does not read it ignores. An effort without limit is what a model has by itself.
 */
function toThinking(thinking: ThinkingWish | false | undefined, server: Server): ThinkingFields {
  if (thinking === undefined || server.thinking === undefined) return {};
  if (server.thinking === 'effort') return { reasoning_effort: thinking === false ? 'none' : 'high' };
  const isWanted = thinking !== false;
  const { budgetTokens, effort } = thinking || {};
  const budget = server.thinkingBudget;
  return {
    chat_template_kwargs: { enable_thinking: isWanted, thinking: isWanted },
    ...(effort === 'high' && budgetTokens === undefined ? { reasoning_effort: 'high' } : {}),
    ...(budget !== undefined && budgetTokens !== undefined ? { [budget]: budgetTokens } : {}),
  };
}

/** Servers differ in which of the two wins, and some refuse both together: the smaller one alone says both. */
function limits(maxTokens: number | undefined, maxTotalTokens: number | undefined, server: Server): object {
  if (maxTokens === undefined) return present({ max_completion_tokens: maxTotalTokens });
  return { [server.maxTokens ?? 'max_tokens']: Math.min(maxTokens, maxTotalTokens ?? maxTokens) };
}

function toSampling({ topK, logitBias, ...rest }: Sampling, { sampling: words }: Server): object {
  const values = present({
    ...rest,
    // Absent would be the server's own default; −1 is the one spelling of "off" that all servers with top_k take.
    topK: topK === 0 ? -1 : topK,
    logitBias: logitBias && logitBias.size > 0 ? Object.fromEntries(logitBias) : undefined,
  });
  const known: ReadonlyMap<string, string> = new Map(Object.entries(words));
  return Object.fromEntries(
    Object.entries(values).flatMap(([wish, value]) => {
      const word = known.get(wish);
      return word === undefined ? [] : [[word, value]];
    }),
  );
}

function toStopTokens(tokens: readonly (readonly number[])[], { stopTokens }: Server): object {
  if (tokens.length === 0) return {};
  if (stopTokens === undefined) throw unsupported('token ids as stop sequences', 'stop');
  if (tokens.some(({ length }) => length !== 1)) throw unsupported('stop sequences of several token ids', 'stop');
  return { [stopTokens]: tokens.flat() };
}

function toLogprobs(logprobs: { readonly top: number } | undefined, { topLogprobsMin }: Server): object {
  if (!logprobs) return {};
  const top = Math.max(logprobs.top, topLogprobsMin);
  return { logprobs: true, ...(top > 0 ? { top_logprobs: top } : {}) };
}

/** `strict`, because our callers are told that the schema holds; servers that cannot say so refuse. */
function toResponseFormat(format: OutputFormat, { jsonObject }: Server): object {
  if (format.type === 'json-object') return jsonObject;
  return { type: 'json_schema', json_schema: { name: format.name, schema: format.schema, strict: true } };
}
