import type { ModelEntry } from '../../../catalogue/model.ts';
import { willThink } from '../../fields/thinking.ts';
import { refuse } from '../../parse.ts';
import { place } from './place.ts';
import type { ParametersWire } from './schema.ts';

/** How an answer is told. */
export interface AnswerForm {
  /** `text`: a bare text. `message`: choices with messages. `parts`: these with lists of parts as content. */
  readonly type: 'text' | 'message' | 'parts' | 'translation';
  /** Of a translation, which tells it: the model as asked. */
  readonly modelName?: string;
  /** Of a stream: each event has what is new, not the whole answer so far. */
  readonly isIncremental: boolean;
  /** A thought was asked for, of a model that can think: its field is there, also while it is empty. */
  readonly hasThought: boolean;
  readonly hasLogprobs: boolean;
  /** Where it says what a search found: beside the answer, in an event before it, or nowhere. */
  readonly sources: 'none' | 'beside' | 'before';
  readonly choices: number;
}

/**
 * decisions.md "native result_format absent", and wire.md 1.7 for the texts.
 *
 * @param isMultimodal The path whose answers are always messages with parts.
 * @param isStreamed Unstreamed, `incremental_output` says nothing: a client sends false there by itself.
 * @throws ServiceError `invalid-request` where a form cannot hold what was asked for.
 */
export function formOf(
  parameters: ParametersWire,
  entry: ModelEntry,
  { isMultimodal, isStreamed }: { readonly isMultimodal: boolean; readonly isStreamed: boolean },
): AnswerForm {
  const { result_format: format, incremental_output: incremental, n } = parameters;
  const hasThought = willThink(parameters, entry);
  const needsMessage = whyMessage(parameters, hasThought);
  if (!isMultimodal && format === 'text' && needsMessage !== undefined) {
    throw refuse(place('result_format'), `The result_format parameter must be "message" when ${needsMessage}`, format);
  }
  if (isStreamed && hasThought && incremental === false) {
    const rule = 'The incremental_output parameter must be "true" when enable_thinking is true';
    throw refuse(place('incremental_output'), rule, incremental);
  }
  const type = isMultimodal ? 'parts' : (format ?? (needsMessage === undefined ? 'text' : 'message'));
  return {
    type,
    isIncremental: incremental ?? hasThought,
    hasThought,
    // A bare text has no place for them.
    hasLogprobs: parameters.logprobs === true && type !== 'text',
    sources: sourcesOf(parameters, isStreamed),
    choices: n ?? 1,
  };
}

function sourcesOf(
  { enable_search: searches, search_options: options }: ParametersWire,
  isStreamed: boolean,
): AnswerForm['sources'] {
  if (searches !== true || options?.enable_source !== true) return 'none';
  return isStreamed && options.prepend_search_result === true ? 'before' : 'beside';
}

function whyMessage(parameters: ParametersWire, hasThought: boolean): string | undefined {
  if (hasThought) return 'enable_thinking is true';
  if (parameters.tools?.length) return 'tools are given';
  return (parameters.n ?? 1) > 1 ? 'n is greater than 1' : undefined;
}
