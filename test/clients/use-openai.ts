import { after, before } from 'node:test';
import OpenAI from 'openai';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';

/**
 * Creates a client for Node and a Parley that runs during the tests of the calling suite.
 *
 * @param timeout Timeout of a request, in ms. Default: REQUEST_MS_MAX.
 * @param withTinyModel See `ParleyOptions`. Default: false.
 */
export function useOpenAI({
  timeout = REQUEST_MS_MAX,
  withTinyModel = false,
}: { readonly timeout?: number; readonly withTinyModel?: boolean } = {}): {
  readonly client: OpenAI;
} {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ withTinyModel });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout });
  });
  after(() => parley?.stop());
  return {
    get client() {
      return client;
    },
  };
}
