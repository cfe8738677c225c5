import type { ModelEntry } from '../../catalogue/model.ts';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { LOGIT_BIAS_ENTRIES_MAX, LOGIT_BIAS_MAX, STOP_CODE_POINTS_MAX } from '../limits.ts';
import { isDefined } from '../../lib/omit-nullish.ts';
import { createFieldError } from '../parse.ts';
import type { WireMessage } from './message-schema.ts';
import type { ChatFields, WireStop } from './parameter-schema.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';
import { checkServerTools } from './server-tool-rules.ts';
import { willThink } from './thinking.ts';
import { checkTools } from './tool-rules.ts';

/**
 * Checks rules that involve several parameters. Prescribed texts: docs/wire/openai-compatible.md#errors.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkParameters(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  checkStop(fields.stop, toPath('stop'));
  checkLogitBias(fields.logit_bias, toPath('logit_bias'));
  checkTools(fields, entry, toPath);
  checkServerTools(fields, entry, toPath);
  checkThinking(fields, entry, toPath);
  checkResponseFormat(fields, entry, toPath);
  if (fields.top_logprobs && fields.logprobs !== true) {
    throw createFieldError(
      toPath('top_logprobs'),
      'top_logprobs is only allowed when logprobs is true',
      fields.top_logprobs,
    );
  }
}

/** Tells whether the request uses a feature that is rejected together with thinking. */
export function excludesThinking(fields: Pick<ChatFields, 'messages' | 'response_format' | 'tool_choice'>): boolean {
  const { tool_choice: choice, response_format: format } = fields;
  const isForced = isDefined(choice) && typeof choice !== 'string';
  return isForced || continuesPartialMessage(fields) || format?.type === 'json_object';
}

export function checkStop(stop: WireStop, path: string): void {
  const strings = typeof stop === 'string' ? [stop] : (stop ?? []);
  for (const stopSequence of strings) {
    if (typeof stopSequence !== 'string') continue;
    if (stopSequence === '') throw createFieldError(path, 'A stop sequence must not be empty');
    if (stopSequence.length > STOP_CODE_POINTS_MAX && Array.from(stopSequence).length > STOP_CODE_POINTS_MAX) {
      throw createFieldError(path, `A stop sequence must have at most ${STOP_CODE_POINTS_MAX} characters`);
    }
  }
}

/** A token id has at most ten digits; a longer key is shortened in the error. */
const LOGIT_BIAS_KEY_CHARS_SHOWN = 20;

export function checkLogitBias(bias: ChatFields['logit_bias'], path: string): void {
  if (!bias) return;
  const entries = Object.entries(bias);
  if (entries.length > LOGIT_BIAS_ENTRIES_MAX) {
    throw createFieldError(path, `logit_bias must have at most ${LOGIT_BIAS_ENTRIES_MAX} entries`);
  }
  for (const [token, value] of entries) {
    const isToken = /^\d{1,10}$/.test(token) && Number(token) <= TOKEN_ID_MAX;
    if (!isToken || typeof value !== 'number' || !(Math.abs(value) <= LOGIT_BIAS_MAX)) {
      const key = JSON.stringify(token.slice(0, LOGIT_BIAS_KEY_CHARS_SHOWN));
      const rule = `logit_bias must map token ids to numbers in [-${LOGIT_BIAS_MAX}, ${LOGIT_BIAS_MAX}]`;
      throw createFieldError(path, `${rule}, which the key ${key} does not`, value);
    }
  }
}

function checkThinking(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  // The answer has already started, so no reasoning can come before it.
  if (willThink(fields, entry) && continuesPartialMessage(fields)) {
    throw createFieldError(
      getPartialPath(fields, toPath),
      'A partial message cannot be continued while thinking is on',
    );
  }
}

function checkResponseFormat(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  const type = fields.response_format?.type ?? 'text';
  if (type === 'text') return;
  // The format applies to the whole answer, but the caller wrote its beginning.
  if (continuesPartialMessage(fields)) {
    const rule = `A partial message cannot be continued with response_format ${type}`;
    throw createFieldError(getPartialPath(fields, toPath), rule);
  }
  if (type === 'json_schema') return;
  if (willThink(fields, entry)) {
    throw createFieldError(
      toPath('response_format'),
      'Json mode response is not supported when enable_thinking is true',
    );
  }
  // Without the word "JSON" in the prompt, a model in JSON mode can emit white space until the token limit.
  if (!fields.messages.some((message) => /json/i.test(contentToText(message.content)))) {
    throw createFieldError(
      toPath('response_format'),
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    );
  }
}

function continuesPartialMessage({ messages }: Pick<ChatFields, 'messages'>): boolean {
  const last = messages.at(-1);
  return last?.role === 'assistant' && last.partial === true;
}

const getPartialPath = ({ messages }: ChatFields, toPath: FieldPathMapper): string =>
  toPath(`messages[${messages.length - 1}].partial`);

function contentToText(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(' ');
}
