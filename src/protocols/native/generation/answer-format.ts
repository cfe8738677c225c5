import type { ModelEntry } from '../../../catalogue/model.ts';
import { willThink } from '../../fields/thinking.ts';
import { createFieldError } from '../../parse.ts';
import { toNativePath } from './to-native-path.ts';
import type { ParametersWire } from './schema.ts';

/** Determines how an answer is encoded. */
export interface AnswerFormat {
  /** `text`: a text only. `message`: choices with messages. `parts`: choices whose content is a list of parts. */
  readonly type: 'text' | 'message' | 'parts' | 'translation';
  /** Model name in the request; translation responses repeat it. */
  readonly modelName?: string;
  /** Each event of a stream contains only the new content instead of the whole answer so far. */
  readonly isIncremental: boolean;
  /** Thinking is requested and the model supports it: `reasoning_content` is present, even when empty. */
  readonly hasReasoning: boolean;
  readonly hasLogprobs: boolean;
  /** Position of the search sources in the response: none, beside the answer, or in an event before it. */
  readonly sources: 'none' | 'beside' | 'before';
  readonly choiceCount: number;
}

/**
 * Selects the answer's format (docs/wire/choices.md#where-sources-disagree, native `result_format` absent).
 *
 * @param isMultimodal The path whose answers are always messages with parts.
 * @param isStreamed Without streaming, `incremental_output` has no effect: a client sends false by default.
 * @throws ServiceError `invalid-request` if the requested format cannot represent the answer; vendor texts of
 *   docs/wire/dashscope-native.md#errors.
 */
export function selectAnswerFormat(
  parameters: ParametersWire,
  entry: ModelEntry,
  { isMultimodal, isStreamed }: { readonly isMultimodal: boolean; readonly isStreamed: boolean },
): AnswerFormat {
  const { result_format: format, incremental_output: incremental, n } = parameters;
  const hasReasoning = willThink(parameters, entry);
  const messageReason = findMessageReason(parameters, hasReasoning);
  if (!isMultimodal && format === 'text' && messageReason !== undefined) {
    throw createFieldError(
      toNativePath('result_format'),
      `The result_format parameter must be "message" when ${messageReason}`,
      format,
    );
  }
  if (isStreamed && hasReasoning && incremental === false) {
    const rule = 'The incremental_output parameter must be "true" when enable_thinking is true';
    throw createFieldError(toNativePath('incremental_output'), rule, incremental);
  }
  const type = isMultimodal ? 'parts' : (format ?? (messageReason === undefined ? 'text' : 'message'));
  return {
    type,
    isIncremental: incremental ?? hasReasoning,
    hasReasoning,
    // A text-only answer has no field for log probabilities.
    hasLogprobs: parameters.logprobs === true && type !== 'text',
    sources: selectSourcesPosition(parameters, isStreamed),
    choiceCount: n ?? 1,
  };
}

function selectSourcesPosition(
  { enable_search: isSearchEnabled, search_options: options }: ParametersWire,
  isStreamed: boolean,
): AnswerFormat['sources'] {
  if (isSearchEnabled !== true || options?.enable_source !== true) return 'none';
  return isStreamed && options.prepend_search_result === true ? 'before' : 'beside';
}

function findMessageReason(parameters: ParametersWire, hasReasoning: boolean): string | undefined {
  if (hasReasoning) return 'enable_thinking is true';
  if (parameters.tools?.length) return 'tools are given';
  return (parameters.n ?? 1) > 1 ? 'n is greater than 1' : undefined;
}
