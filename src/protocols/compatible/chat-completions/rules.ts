import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import {
  CACHE_MARKS_MAX,
  LOGIT_BIAS_ENTRIES_MAX,
  LOGIT_BIAS_MAX,
  STOP_CODE_POINTS_MAX,
  TOKEN_ID_MAX,
} from '../../../core/limits.ts';
import { refuse } from '../../parse.ts';
import { CONTENT } from './schema.ts';
import type { ChatCompletionWire, WireMessage } from './schema.ts';
import { wantsThinking } from './thinking.ts';

/**
 * Rules of E1 that no single field can tell, with the texts of wire.md 1.7 where it has them.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkRules(wire: ChatCompletionWire, entry: ModelEntry): void {
  checkOldFields(wire);
  checkMessages(wire.messages, entry);
  checkCacheMarks(wire.messages);
  checkStop(wire.stop);
  checkLogitBias(wire.logit_bias);
  checkTools(wire);
  checkThinking(wire, entry);
  checkResponseFormat(wire);
  checkModalities(wire, entry);
  if (wire.top_logprobs && wire.logprobs !== true) {
    throw refuse('top_logprobs', 'top_logprobs is only allowed when logprobs is true', wire.top_logprobs);
  }
}

function checkOldFields(wire: ChatCompletionWire): void {
  for (const [old, now] of [
    ['functions', 'tools'],
    ['function_call', 'tool_choice'],
  ] as const) {
    if (wire[old] !== undefined && wire[old] !== null) throw refuse(old, `${old} is not served, use ${now}`);
  }
}

function checkMessages(messages: readonly WireMessage[], entry: ModelEntry): void {
  // Calls of the assistant message before, while nothing but their results has come since.
  let open: ReadonlySet<string> = NO_CALLS;
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    switch (message.role) {
      case 'tool':
        if (open === NO_CALLS) throw refuse(at, ORPHAN);
        if (!open.has(message.tool_call_id)) throw refuse(`${at}.tool_call_id`, `${ORPHAN} that has its id`);
        break;
      case 'assistant':
        checkAssistant(message, at, index === messages.length - 1);
        open = message.tool_calls?.length ? new Set(message.tool_calls.map(({ id }) => id)) : NO_CALLS;
        break;
      case 'system':
      case 'developer':
      case 'user':
        open = NO_CALLS;
    }
    if (Array.isArray(message.content)) checkParts(message.content, `${at}.content`, entry);
  }
}

const NO_CALLS: ReadonlySet<string> = new Set();

/** wire.md 1.7. */
const ORPHAN = 'messages with role "tool" must be a response to a preceding message with "tool_calls"';

function checkAssistant(
  { content, tool_calls: calls, partial }: Extract<WireMessage, { readonly role: 'assistant' }>,
  at: string,
  isLast: boolean,
): void {
  if (!calls?.length && (content === undefined || content === null)) {
    throw refuse(`${at}.content`, 'The content field is a required field.');
  }
  if (partial && calls?.length) throw refuse(`${at}.partial`, 'A message with tool_calls cannot be partial');
  if (partial && !isLast) throw refuse(`${at}.partial`, 'Only the last message may be partial');
}

function checkCacheMarks(messages: readonly WireMessage[]): void {
  let marks = 0;
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [position, part] of content.entries()) {
      if (part.type !== 'text' || !part.cache_control || ++marks <= CACHE_MARKS_MAX) continue;
      throw refuse(
        `messages[${index}].content[${position}].cache_control`,
        `cache_control must stand on at most ${CACHE_MARKS_MAX} parts of a request`,
      );
    }
  }
}

function checkParts(parts: readonly { readonly type: string }[], at: string, { name, abilities }: ModelEntry): void {
  for (const [index, { type }] of parts.entries()) {
    if (type === 'text' || (type === 'image_url' && abilities.vision)) continue;
    const param = `${at}[${index}].type`;
    throw new ServiceError('invalid-request', `${CONTENT} (${param}: "${type}"; ${name} has no such input)`, { param });
  }
}

function checkStop(stop: ChatCompletionWire['stop']): void {
  const strings = typeof stop === 'string' ? [stop] : (stop ?? []);
  for (const each of strings) {
    if (typeof each !== 'string') continue;
    if (each === '') throw refuse('stop', 'A stop sequence must not be empty');
    if (each.length > STOP_CODE_POINTS_MAX && Array.from(each).length > STOP_CODE_POINTS_MAX) {
      throw refuse('stop', `A stop sequence must have at most ${STOP_CODE_POINTS_MAX} characters`);
    }
  }
}

function checkLogitBias(bias: ChatCompletionWire['logit_bias']): void {
  if (!bias) return;
  const entries = Object.entries(bias);
  if (entries.length > LOGIT_BIAS_ENTRIES_MAX) {
    throw refuse('logit_bias', `logit_bias must have at most ${LOGIT_BIAS_ENTRIES_MAX} entries`);
  }
  for (const [token, value] of entries) {
    const isToken = /^\d{1,10}$/.test(token) && Number(token) <= TOKEN_ID_MAX;
    if (!isToken || typeof value !== 'number' || !(Math.abs(value) <= LOGIT_BIAS_MAX)) {
      const rule = `logit_bias must map token ids to numbers in [-${LOGIT_BIAS_MAX}, ${LOGIT_BIAS_MAX}]`;
      throw refuse('logit_bias', rule, value);
    }
  }
}

function checkTools(wire: ChatCompletionWire): void {
  const { tool_choice: choice, n } = wire;
  const names = toolNames(wire.tools ?? []);
  if (names.size > 0 && (n ?? 1) > 1) throw refuse('n', 'n must be 1 when tools are given', n);
  if (!choice || choice === 'auto' || choice === 'none') return;
  if (names.size === 0) throw refuse('tool_choice', 'tool_choice needs tools');
  if (typeof choice === 'string') return;
  if (!names.has(choice.function.name)) {
    const rule = 'tool_choice names a function that is not among tools';
    throw refuse('tool_choice.function.name', rule, choice.function.name);
  }
  if (wantsThinking(wire)) {
    throw refuse('tool_choice', 'tool_choice cannot force a function while enable_thinking (or thinking) is on');
  }
}

function toolNames(tools: NonNullable<ChatCompletionWire['tools']>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [
    index,
    {
      function: { name },
    },
  ] of tools.entries()) {
    const param = `tools[${index}].function.name`;
    if (name === 'search') throw refuse(param, 'Tool names are not allowed to be [search]');
    if (names.has(name)) throw refuse(param, 'Tool names must be unique');
    names.add(name);
  }
  return names;
}

function checkThinking(wire: ChatCompletionWire, entry: ModelEntry): void {
  const { thinking_budget: budget, messages } = wire;
  const last = messages.at(-1);
  // An answer that was begun has no place for a thought before it.
  if (wantsThinking(wire) && last?.role === 'assistant' && last.partial) {
    throw refuse(
      `messages[${messages.length - 1}].partial`,
      'A partial message cannot be continued while thinking is on',
    );
  }
  const most = entry.maxThinkingTokens ?? entry.contextTokens;
  if (!budget || budget <= most) return;
  const rule = `The thinking_budget parameter must be a positive integer and not greater than ${most}`;
  throw refuse('thinking_budget', rule, budget);
}

function checkResponseFormat(wire: ChatCompletionWire): void {
  const type = wire.response_format?.type ?? 'text';
  if (type === 'text') return;
  const last = wire.messages.at(-1);
  // The form is that of the whole answer, and half of it would be the caller's.
  if (last?.role === 'assistant' && last.partial) {
    const param = `messages[${wire.messages.length - 1}].partial`;
    throw refuse(param, `A partial message cannot be continued with response_format ${type}`);
  }
  if (type === 'json_schema') return;
  if (wantsThinking(wire)) {
    throw refuse('response_format', 'Json mode response is not supported when enable_thinking is true');
  }
  // A model that is not told in words to write JSON can write white space until the limit.
  if (!wire.messages.some((message) => /json/i.test(textOfContent(message.content)))) {
    throw refuse(
      'response_format',
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    );
  }
}

function checkModalities({ modalities, audio }: ChatCompletionWire, { name, abilities }: ModelEntry): void {
  if (abilities.audio) return;
  const why = `the model ${name} gives text only`;
  if (modalities?.includes('audio')) throw refuse('modalities', `modalities must be ["text"], ${why}`);
  if (audio) throw refuse('audio', `audio is not supported, ${why}`);
}

function textOfContent(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
