import type { ModelEntry } from '../../catalogue/model.ts';
import { createFieldError } from '../parse.ts';
import type { ChatFields } from './parameter-schema.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';
import { getSearchStrategy } from './search-options.ts';
import { isThinkingRequested } from './thinking.ts';
import { isTranslationModel } from './translation-rules.ts';

/** Prescribed texts for features that require thinking or a stream (docs/wire/openai-compatible.md#errors). */
const THINKING_ONLY = 'The value of the enable_thinking parameter is restricted to True.';
const STREAM_ONLY = 'This model only support stream mode, please enable the stream parameter to access the model.';

/**
 * Checks `enable_search` and `enable_code_interpreter`. Thinking counts as requested even if the model cannot think:
 * that is reported as an ignored field.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkServerTools(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  if (fields.enable_search === true) checkSearch(fields, entry, toPath);
  if (fields.enable_code_interpreter === true) checkCode(fields, entry, toPath);
}

function checkSearch(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  if (isTranslationModel(entry))
    throw createFieldError(toPath('enable_search'), formatUnsupportedField('enable_search'), true);
  const options = fields.search_options ?? {};
  if (getSearchStrategy(options) === 'agent-max' && !isThinkingRequested(fields)) {
    const rule = `${THINKING_ONLY} The strategy agent_max searches only while thinking`;
    throw createFieldError(toPath('search_options.search_strategy'), rule, options.search_strategy);
  }
}

function checkCode(fields: ChatFields, entry: ModelEntry, toPath: FieldPathMapper): void {
  const field = toPath('enable_code_interpreter');
  if (isTranslationModel(entry)) throw createFieldError(field, formatUnsupportedField('enable_code_interpreter'), true);
  if (!isThinkingRequested(fields))
    throw createFieldError(field, `${THINKING_ONLY} Programs run only while thinking`, true);
  if (fields.stream !== true) throw createFieldError(field, STREAM_ONLY, true);
  const { n } = fields;
  if (n && n > 1) throw createFieldError(toPath('n'), 'n must be 1 when enable_code_interpreter is true', n);
}

/** Returns the prescribed text for a field that the model does not support (docs/wire/openai-compatible.md#errors). */
export const formatUnsupportedField = (field: 'enable_search' | 'enable_code_interpreter'): string =>
  `This model does not support ${field}.`;
