import type { ModelEntry } from '../../catalogue/model.ts';
import { refuse } from '../parse.ts';
import type { ChatFields } from './parameter-schema.ts';
import type { Place } from './place.ts';
import { strategyOf } from './search-options.ts';
import { wantsThinking } from './thinking.ts';
import { translates } from './translation-rules.ts';

/** wire.md 1.7, for what works only while thinking, and only streamed. */
const THINKING_ONLY = 'The value of the enable_thinking parameter is restricted to True.';
const STREAM_ONLY = 'This model only support stream mode, please enable the stream parameter to access the model.';

/**
 * Rules of `enable_search` and `enable_code_interpreter`, with the texts of wire.md 1.7 where it has them. Thinking counts as
 * asked for, whether the model can or not: what it cannot is named elsewhere.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkServerTools(fields: ChatFields, entry: ModelEntry, place: Place): void {
  if (fields.enable_search === true) checkSearch(fields, entry, place);
  if (fields.enable_code_interpreter === true) checkCode(fields, entry, place);
}

function checkSearch(fields: ChatFields, entry: ModelEntry, place: Place): void {
  if (translates(entry)) throw refuse(place('enable_search'), noSearch('enable_search'), true);
  const options = fields.search_options ?? {};
  if (strategyOf(options) === 'agent-max' && !wantsThinking(fields)) {
    const rule = `${THINKING_ONLY} The strategy agent_max searches only while thinking`;
    throw refuse(place('search_options.search_strategy'), rule, options.search_strategy);
  }
}

function checkCode(fields: ChatFields, entry: ModelEntry, place: Place): void {
  const field = place('enable_code_interpreter');
  if (translates(entry)) throw refuse(field, noSearch('enable_code_interpreter'), true);
  if (!wantsThinking(fields)) throw refuse(field, `${THINKING_ONLY} Programs run only while thinking`, true);
  if (fields.stream !== true) throw refuse(field, STREAM_ONLY, true);
  const { n } = fields;
  if (n && n > 1) throw refuse(place('n'), 'n must be 1 when enable_code_interpreter is true', n);
}

/** wire.md 1.7, "search not supported". */
export const noSearch = (field: 'enable_search' | 'enable_code_interpreter'): string =>
  `This model does not support ${field}.`;
