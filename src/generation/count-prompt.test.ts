import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import { NO_STOP, type GenerationRequest } from '../core/request.ts';
import type { TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { ENTRY } from './__fixtures__/test-generation.ts';
import { createCountPrompt } from './count-prompt.ts';

const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};
const REQUEST: GenerationRequest = {
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'abcdefgh' }] }],
  sampling: {},
  stop: NO_STOP,
  choices: 1,
};

const scripted = createScriptedEngine({ script: () => [] });
const rejectCount = (error: ServiceError) => (): Promise<number> => Promise.reject(error);
const createChatEngine = (countTokens: TextEngine['countTokens']): TextEngine => ({
  ...scripted,
  capabilities: { ...scripted.capabilities, input: 'chat' },
  countTokens,
});

/** Counts the request with the engine, and returns the result and the number of leases that are still held. */
async function count(engine: TextEngine, tokenizer?: TextEngine) {
  let leases = 0;
  const lease = (leased: TextEngine) => {
    leases++;
    return { engine: leased, release: () => void leases-- };
  };
  const countPrompt = createCountPrompt({
    catalogue: { resolve: async (name) => ({ requestedName: name, entry: ENTRY }) },
    acquireEngine: async () => lease(engine),
    acquireTokenizer: async () => tokenizer && lease(tokenizer),
    getModelStyle: () => ({}),
  });
  const { tokens, isEstimated } = await countPrompt(REQUEST, { interface: 'chat' }, CONTEXT);
  assert.equal(leases, 0);
  return { tokens, isEstimated };
}

describe('counting a prompt', () => {
  const cannotCount = createChatEngine(rejectCount(new ServiceError('unsupported', 'cannot count')));

  test('takes the number of a server that counts', async () => {
    assert.deepEqual(
      await count(
        createChatEngine(async () => 42),
        scripted,
      ),
      { tokens: 42, isEstimated: false },
    );
  });

  test('counts with the tokenizer of the family', async () => {
    const { tokens } = await count(scripted);
    assert.deepEqual(await count(cannotCount, scripted), { tokens, isEstimated: false });
  });

  test('estimates when there is no tokenizer, or when it refuses the prompt', async () => {
    const estimate = { tokens: 6, isEstimated: true };
    assert.deepEqual(await count(cannotCount), estimate);
    const refusing = { ...scripted, countTokens: rejectCount(new ServiceError('invalid-request', 'too long')) };
    assert.deepEqual(await count(cannotCount, refusing), estimate);
  });

  test('fails when the server fails', async () => {
    const failing = createChatEngine(rejectCount(new ServiceError('upstream-failed', 'no answer')));
    await assert.rejects(count(failing, scripted), { kind: 'upstream-failed' });
  });
});
