import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../core/event.ts';
import { ServiceError } from '../core/error.ts';
import type { Message } from '../core/message.ts';
import type { EngineRequest, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createFakeInterpreter, createTestServerTools } from './server-tools/__fixtures__/test-server-tools.ts';
import { createTestGeneration, ENTRY, REQUEST } from './__fixtures__/test-generation.ts';
import { createOpenImages, type OpenRequestImages } from './fetch-images.ts';
import { shareImages } from './share-images.ts';
import { createSplitChoices } from './split-choices.ts';

const PIXEL = Buffer.from('GIF89a');
const MESSAGES: readonly Message[] = [{ role: 'user', content: [{ type: 'image', url: 'http://h/i.gif' }] }];

/** Opens images whose downloads and memory are counted. */
function createTestImages() {
  const counts = { fetched: 0, open: 0 };
  const open = createOpenImages(
    async (url) => {
      counts.fetched++;
      return {
        status: 200,
        url,
        contentType: 'image/gif',
        contentDisposition: '',
        getHeader: () => '',
        body: Readable.from([PIXEL]),
      };
    },
    { totalBytesMax: 100, workspaceBytesMax: 100 },
  );
  const openImages: OpenRequestImages = (workspace) => {
    counts.open++;
    const { inline, release } = open(workspace);
    let isOpen = true;
    return {
      inline,
      release() {
        if (isOpen) counts.open--;
        isOpen = false;
        release();
      },
    };
  };
  return { counts, openImages };
}

/** A chat engine that emits these events in its runs, one list each. */
function createChatEngine(runs: readonly (readonly EngineEvent[])[]) {
  const requests: EngineRequest[] = [];
  const scripted = createScriptedEngine({ script: () => [] });
  const engine: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, input: 'chat', phases: false, choicesMax: 1 },
    async start(request) {
      const events = runs[requests.push(request) - 1] ?? [];
      const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
      return {
        batches: (async function* () {
          yield [...events, { type: 'end', usage }];
        })(),
      };
    },
  };
  return { engine, requests };
}

const TEXT: EngineEvent = { type: 'text', choice: 0, text: 'Seen.', tokens: 1, phase: 0 };
const STOP: EngineEvent = { type: 'choice-end', choice: 0, reason: 'stop' };

const getUrls = (requests: readonly EngineRequest[]): readonly string[] =>
  requests.flatMap(({ input }) =>
    input.type === 'messages'
      ? input.messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'image' ? [part.url] : [])))
      : [],
  );

const FETCHED_URL = `data:image/gif;base64,${PIXEL.toString('base64')}`;

describe('images of a request', () => {
  it('are fetched once for the rounds of its server tools, and released at its end', async () => {
    const { counts, openImages } = createTestImages();
    const call = [
      { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'code_interpreter' },
      { type: 'tool-arguments', choice: 0, index: 0, text: '{"code":"1"}' },
      { type: 'choice-end', choice: 0, reason: 'tool-calls' },
    ] as const;
    const { engine, requests } = createChatEngine([call, call, [TEXT, STOP]]);
    const { code } = createFakeInterpreter(async () => ({ value: '1' }));
    const { run, context } = createTestServerTools({ engine, code, openImages, abilities: { tools: true } });
    const request = { ...REQUEST, messages: MESSAGES, serverTools: { code: { fileIds: [] } } };
    const { batches } = await shareImages({ openImages, messages: MESSAGES, context }, (shared) =>
      run(request, { interface: 'chat' }, shared),
    );
    for await (const _ of batches) assert.equal(counts.open, 1);
    assert.deepEqual(getUrls(requests), [FETCHED_URL, FETCHED_URL, FETCHED_URL]);
    assert.deepEqual(counts, { fetched: 1, open: 0 });
  });

  it('are fetched once for answers that the engine generates one after the other', async () => {
    const { counts, openImages } = createTestImages();
    const { engine, requests } = createChatEngine([1, 2, 3].map(() => [TEXT, STOP]));
    const { deps, context } = createTestGeneration(engine, { entry: { ...ENTRY, abilities: {} }, openImages });
    const generate = createSplitChoices(deps)(deps.generate);
    const { batches } = await shareImages({ openImages, messages: MESSAGES, context }, (shared) =>
      generate({ ...REQUEST, messages: MESSAGES, choices: 3 }, { interface: 'chat' }, shared),
    );
    for await (const _ of batches) assert.equal(counts.open, 1);
    assert.deepEqual(getUrls(requests), [FETCHED_URL, FETCHED_URL, FETCHED_URL]);
    assert.deepEqual(counts, { fetched: 1, open: 0 });
  });

  it('are released when the request is refused, its answer fails, or its caller leaves', async () => {
    const { counts, openImages } = createTestImages();
    const { context, caller } = createTestGeneration(createChatEngine([]).engine);
    const share = (batches: () => AsyncIterable<readonly []>) =>
      shareImages({ openImages, messages: MESSAGES, context }, async (shared) => {
        await shared.images?.inline(MESSAGES, shared.signal);
        return { batches: batches(), ignored: [] };
      });
    const failure = new ServiceError('engine-failed', 'broken');
    await assert.rejects(
      share(() => {
        throw failure;
      }),
      failure,
    );
    assert.equal(counts.open, 0);
    const failing = await share(async function* () {
      yield [];
      throw failure;
    });
    await assert.rejects(Array.fromAsync(failing.batches), failure);
    assert.equal(counts.open, 0);
    const endless = async function* (): AsyncGenerator<readonly [], void> {
      for (;;) yield [];
    };
    const left = await share(endless);
    assert.equal(counts.open, 1);
    await left.batches[Symbol.asyncIterator]().return?.();
    assert.equal(counts.open, 0);
    await share(endless);
    caller.abort();
    assert.equal(counts.open, 0);
  });
});
