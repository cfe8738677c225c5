import type { LineResult } from '../../../core/batch.ts';
import type { LineFault } from './check-line.ts';
import type { LineAnswer } from './execute-line.ts';

interface Place {
  readonly line: number;
  readonly customId: string;
}

/**
 * wire.md E9.3: what was answered well goes to the output file, all else to the error file. `headers` are ours, and only
 * there where a live answer tells something in them: who sends lines would not hear of it otherwise.
 */
export function encodeAnswer({ line, customId }: Place, answer: LineAnswer): LineResult {
  const { status, requestId, body, headers, error } = answer;
  const isGood = status >= 200 && status < 300 && error === undefined;
  const told = {
    id: requestId,
    custom_id: customId,
    response: { status_code: status, request_id: requestId, body, ...(headers ? { headers } : {}) },
    error: isGood ? null : { code: error?.code ?? String(status), message: error?.message ?? '' },
  };
  return { line, kind: isGood ? 'output' : 'error', json: JSON.stringify(told) };
}

/** Of a line that was never run, because it cannot be. */
export function encodeFault(
  { line, customId, id }: { readonly line: number; readonly customId: string | undefined; readonly id: string },
  { code, message }: LineFault,
): LineResult {
  const error = { code, message, line };
  return { line, kind: 'error', json: JSON.stringify({ id, custom_id: customId ?? null, response: null, error }) };
}

/** Of a line that was not run when the batch's window ended. */
export function encodeExpired({
  line,
  customId,
  id,
}: {
  readonly line: number;
  readonly customId: string | undefined;
  readonly id: string;
}): LineResult {
  const error = { code: 'batch_expired', message: 'This request could not be executed before the batch expired.' };
  return { line, kind: 'error', json: JSON.stringify({ id, custom_id: customId ?? null, response: null, error }) };
}
