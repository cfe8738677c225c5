import type { BatchLineResult } from '../../../../core/batch.ts';
import { validateInput } from '../validate-input.ts';

/** Creates a line of a batch's input. */
export const createLine = (custom_id: string, url = '/v1/completions', model = 'm'): string =>
  `${JSON.stringify({ custom_id, method: 'POST', url, body: { model } })}\n`;

/** Validates an input in which only the model `m` exists. Returns the result and the stored errors. */
export async function validateText(text: string, endpoint = '/v1/completions') {
  async function* input(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode(text);
  }
  const results: BatchLineResult[] = [];
  const errors = { add: async (result: BatchLineResult) => void results.push(result), flush: async () => undefined };
  const { signal } = new AbortController();
  const options = {
    endpoint,
    isModel: (name: string) => name === 'm',
    ids: { createRequestId: () => 'RID' },
    errors,
    signal,
  };
  return { validation: await validateInput(input(), options), errors: results };
}
