import type { BatchLineResult } from '../../../core/batch.ts';
import type { LineError } from './parse-line.ts';
import type { LineResponse } from './execute-line.ts';

interface LineId {
  readonly line: number;
  readonly customId: string;
}

/**
 * Encodes a response as a result line: successes go to the output file, all others to the error file
 * (docs/wire/openai-compatible.md#batches). `headers` is Parley's addition, present only if the endpoint set such
 * headers, because a batch client would not see them otherwise.
 */
export function encodeResponse({ line, customId }: LineId, answer: LineResponse): BatchLineResult {
  const { status, requestId, body, headers, error } = answer;
  const isSuccess = status >= 200 && status < 300 && error === undefined;
  const resultLine = {
    id: requestId,
    custom_id: customId,
    response: { status_code: status, request_id: requestId, body, ...(headers ? { headers } : {}) },
    error: isSuccess ? null : { code: error?.code ?? String(status), message: error?.message ?? '' },
  };
  return { line, kind: isSuccess ? 'output' : 'error', json: JSON.stringify(resultLine) };
}

/** Encodes the error of a line that cannot be run. */
export function encodeLineError(
  { line, customId, id }: { readonly line: number; readonly customId: string | undefined; readonly id: string },
  { code, message }: LineError,
): BatchLineResult {
  const error = { code, message, line };
  return { line, kind: 'error', json: JSON.stringify({ id, custom_id: customId ?? null, response: null, error }) };
}

/** Encodes the error of a line that was not run before the batch's completion window ended. */
export function encodeExpired({
  line,
  customId,
  id,
}: {
  readonly line: number;
  readonly customId: string | undefined;
  readonly id: string;
}): BatchLineResult {
  const error = { code: 'batch_expired', message: 'This request could not be executed before the batch expired.' };
  return { line, kind: 'error', json: JSON.stringify({ id, custom_id: customId ?? null, response: null, error }) };
}
