import type { ModelEntry } from '../../catalogue/model.ts';
import { LOGIT_BIAS_ENTRIES_MAX, LOGIT_BIAS_MAX, STOP_CODE_POINTS_MAX, TOKEN_ID_MAX } from '../../core/limits.ts';
import { isPresent } from '../../lib/present.ts';
import { refuse } from '../parse.ts';
import type { WireMessage } from './message-schema.ts';
import type { ChatFields, WireStop } from './parameter-schema.ts';
import type { Place } from './place.ts';
import { checkServerTools } from './server-tool-rules.ts';
import { willThink } from './thinking.ts';
import { checkTools } from './tool-rules.ts';

/**
 * Rules of parameters that no single field can tell, with the texts of wire.md 1.7 where it has them.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkParameters(fields: ChatFields, entry: ModelEntry, place: Place): void {
  checkStop(fields.stop, place('stop'));
  checkLogitBias(fields.logit_bias, place('logit_bias'));
  checkTools(fields, entry, place);
  checkServerTools(fields, entry, place);
  checkThinking(fields, entry, place);
  checkResponseFormat(fields, entry, place);
  if (fields.top_logprobs && fields.logprobs !== true) {
    throw refuse(place('top_logprobs'), 'top_logprobs is only allowed when logprobs is true', fields.top_logprobs);
  }
}

/** Whether there is no place for a thought in what is asked for: with one, it would be refused. */
export function excludesThought(fields: Pick<ChatFields, 'messages' | 'response_format' | 'tool_choice'>): boolean {
  const { tool_choice: choice, response_format: format } = fields;
  const isForced = isPresent(choice) && typeof choice !== 'string';
  return isForced || isContinued(fields) || format?.type === 'json_object';
}

export function checkStop(stop: WireStop, at: string): void {
  const strings = typeof stop === 'string' ? [stop] : (stop ?? []);
  for (const each of strings) {
    if (typeof each !== 'string') continue;
    if (each === '') throw refuse(at, 'A stop sequence must not be empty');
    if (each.length > STOP_CODE_POINTS_MAX && Array.from(each).length > STOP_CODE_POINTS_MAX) {
      throw refuse(at, `A stop sequence must have at most ${STOP_CODE_POINTS_MAX} characters`);
    }
  }
}

/** A token id has at most ten digits. */
const LOGIT_BIAS_KEY_CHARS_SHOWN = 20;

export function checkLogitBias(bias: ChatFields['logit_bias'], at: string): void {
  if (!bias) return;
  const entries = Object.entries(bias);
  if (entries.length > LOGIT_BIAS_ENTRIES_MAX) {
    throw refuse(at, `logit_bias must have at most ${LOGIT_BIAS_ENTRIES_MAX} entries`);
  }
  for (const [token, value] of entries) {
    const isToken = /^\d{1,10}$/.test(token) && Number(token) <= TOKEN_ID_MAX;
    if (!isToken || typeof value !== 'number' || !(Math.abs(value) <= LOGIT_BIAS_MAX)) {
      const key = JSON.stringify(token.slice(0, LOGIT_BIAS_KEY_CHARS_SHOWN));
      const rule = `logit_bias must map token ids to numbers in [-${LOGIT_BIAS_MAX}, ${LOGIT_BIAS_MAX}]`;
      throw refuse(at, `${rule}, which the key ${key} does not`, value);
    }
  }
}

function checkThinking(fields: ChatFields, entry: ModelEntry, place: Place): void {
  // An answer that was begun has no place for a thought before it.
  if (willThink(fields, entry) && isContinued(fields)) {
    throw refuse(partialOf(fields, place), 'A partial message cannot be continued while thinking is on');
  }
  const most = entry.maxThinkingTokens ?? entry.contextTokens;
  const { thinking_budget: budget } = fields;
  if (!budget || budget <= most) return;
  const rule = `The thinking_budget parameter must be a positive integer and not greater than ${most}`;
  throw refuse(place('thinking_budget'), rule, budget);
}

function checkResponseFormat(fields: ChatFields, entry: ModelEntry, place: Place): void {
  const type = fields.response_format?.type ?? 'text';
  if (type === 'text') return;
  // The form is that of the whole answer, and half of it would be the caller's.
  if (isContinued(fields)) {
    const rule = `A partial message cannot be continued with response_format ${type}`;
    throw refuse(partialOf(fields, place), rule);
  }
  if (type === 'json_schema') return;
  if (willThink(fields, entry)) {
    throw refuse(place('response_format'), 'Json mode response is not supported when enable_thinking is true');
  }
  // A model that is not told in words to write JSON can write white space until the limit.
  if (!fields.messages.some((message) => /json/i.test(textOfContent(message.content)))) {
    throw refuse(
      place('response_format'),
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    );
  }
}

function isContinued({ messages }: Pick<ChatFields, 'messages'>): boolean {
  const last = messages.at(-1);
  return last?.role === 'assistant' && last.partial === true;
}

const partialOf = ({ messages }: ChatFields, place: Place): string => place(`messages[${messages.length - 1}].partial`);

function textOfContent(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
