import type { Usage } from '../../../core/event.ts';
import type { AnswerFormat } from './answer-format.ts';
import { encodeOutput, type ChoiceContent } from './output.ts';
import { encodeUsage } from './usage.ts';

interface ResponseContent {
  readonly choices: readonly ChoiceContent[];
  /** Value of `search_info`; absent: the field is omitted. */
  readonly searchInfo?: object | undefined;
  /** Undefined: no usage is known yet, encoded as an empty object. */
  readonly usage: Usage | undefined;
}

/** Encodes a whole response, or the data of one event of a stream. */
export function encodeBody(
  { choices, searchInfo, usage }: ResponseContent,
  format: AnswerFormat,
  requestId: string,
): object {
  const content = { output: encodeOutput(choices, format, searchInfo), usage: usage ? encodeUsage(usage, format) : {} };
  // Only translations have the fields status_code, code and message (docs/wire/choices.md#where-sources-disagree).
  return format.type === 'translation'
    ? { status_code: 200, request_id: requestId, code: '', message: '', ...content }
    : { ...content, request_id: requestId };
}
