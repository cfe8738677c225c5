import { after, before } from 'node:test';
import OpenAI from 'openai';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';

/**
 * The client for Node at a Parley that runs as long as the tests of the suite it is called in.
 *
 * @param timeout Of a request, in ms. Default: REQUEST_MS_MAX.
 */
export function useOpenAI({ timeout = REQUEST_MS_MAX }: { readonly timeout?: number } = {}): {
  readonly client: OpenAI;
} {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley();
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout });
  });
  after(() => parley?.stop());
  return {
    get client() {
      return client;
    },
  };
}
