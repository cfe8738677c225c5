import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { RegionId } from '../../../core/region.ts';
import type { ModelTarget } from '../../../generation/model-target.ts';
import type { TranslationRequest } from '../../../generation/translation/translation.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { Endpoint, EndpointRequest, Reply } from '../../endpoint.ts';

const ENTRY: ModelEntry = {
  name: 'svc-mt-plus',
  description: '',
  runner: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: { thinking: false, tools: false, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat', 'native', 'translation'],
  sampling: {},
  created: 0,
};

const EVENTS: readonly (readonly GenerationEvent[])[] = [
  [
    { type: 'start', inputTokens: 3, cachedTokens: 0 },
    { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
    { type: 'block-delta', choice: 0, index: 0, text: 'Eins.', tokens: 2 },
  ],
  [{ type: 'block-delta', choice: 0, index: 0, text: ' Zwei.', tokens: 2 }],
  [
    { type: 'block-end', choice: 0, index: 0 },
    { type: 'choice-end', choice: 0, reason: 'stop' },
    { type: 'end', usage: { promptTokens: 7, cachedTokens: 0, completionTokens: 4 } },
  ],
];

/** Report of every fake translation with options. */
export const FAKE_REPORT = 'unverified; segments=1; untranslated=0; numbers=0; repeated=0';

/**
 * Dependencies of an endpoint with a model that translates everything as "Eins. Zwei.", and a record of its last call.
 */
export function createFakeTranslation(entry: Partial<ModelEntry> = {}) {
  const lastCall: { request?: TranslationRequest; wanted?: object; target?: ModelTarget } = {};
  const deps = {
    generate: () => Promise.reject(new Error('unexpected chat generation')),
    translate: (request: TranslationRequest, target: ModelTarget) => {
      Object.assign(lastCall, { request, target });
      let isRead = false;
      const batches = (async function* () {
        yield* EVENTS;
        isRead = true;
      })();
      return Promise.resolve({ batches, ignored: ['stop'], formatTermScore: () => (isRead || request.options ? '1/2' : undefined), formatReport: () => (request.options ? FAKE_REPORT : undefined) });
    },
    catalogue: () => ({
      resolve: async (requestedName: string, wanted: object) => {
        lastCall.wanted = wanted;
        return { requestedName, entry: { ...ENTRY, ...entry } };
      },
    }),
    clock: systemClock,
  };
  return { deps, lastCall };
}

const contextIn = (region: RegionId): RequestContext => ({
  requestId: 'rid',
  owner: { workspace: 'w', region, keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
});

/** Reads a streamed reply to its end. */
export async function readStream(reply: Reply): Promise<string> {
  if (reply.type !== 'stream') throw new Error('expected a streamed reply');
  const { encoder, batches } = reply;
  let text = encoder.open();
  for await (const batch of batches) text += encoder.push(batch);
  return text + encoder.close();
}

const createRequest = (body: unknown, headers: Record<string, string> = {}): EndpointRequest => ({
  body,
  params: {},
  query: new URLSearchParams(),
  headers,
});

export const createCaller =
  (endpoint: Endpoint, region: RegionId = 'cn-beijing') =>
  (body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
    endpoint.handle(createRequest(body, headers), contextIn(region));
