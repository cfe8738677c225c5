import type { Usage } from '../../../core/event.ts';
import type { AnswerForm } from './form.ts';
import { encodeOutput } from './output.ts';
import type { Said } from './output.ts';
import { encodeUsage } from './usage.ts';

interface Told {
  readonly said: readonly Said[];
  /** `search_info`, where it is told. */
  readonly searchInfo?: object | undefined;
  /** Undefined: none is counted yet, which an empty object says. */
  readonly usage: Usage | undefined;
}

/** A whole answer or one event of a stream. */
export function encodeBody({ said, searchInfo, usage }: Told, form: AnswerForm, requestId: string): object {
  const told = { output: encodeOutput(said, form, searchInfo), usage: usage ? encodeUsage(usage, form) : {} };
  // decisions.md: status_code, code and message are fields of a success of translation models only.
  return form.type === 'translation'
    ? { status_code: 200, request_id: requestId, code: '', message: '', ...told }
    : { ...told, request_id: requestId };
}
