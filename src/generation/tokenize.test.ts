import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineInput, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { ENTRY } from './__fixtures__/test-generation.ts';
import { createTokenize } from './tokenize.ts';

const context: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

const scripted = createScriptedEngine({ script: () => [] });

function createTestTokenize(engine = scripted) {
  const state = { leases: 0 };
  const tokenize = createTokenize({
    catalogue: { resolve: async (name) => ({ requestedName: name, entry: ENTRY }) },
    acquireEngine: async () => {
      state.leases++;
      return { engine, release: () => void state.leases-- };
    },
    getModelStyle: () => ({ defaultSystem: 'Be kind.' }),
  });
  return { books: state, tokenize };
}

test('tokenizes a text unchanged', async () => {
  const { tokenize, books } = createTestTokenize();
  const { tokens, prompt } = await tokenize(
    { model: 'm', input: { type: 'text', text: 'Hello big world' } },
    { interface: 'native' },
    context,
  );
  assert.deepEqual(
    tokens.map(({ text }) => text),
    ['Hello', ' big', ' world'],
  );
  assert.equal(prompt, undefined);
  assert.equal(books.leases, 0);
});

test('tokenizes a conversation as its rendered prompt, including the default system text', async () => {
  const { tokenize } = createTestTokenize();
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
  const { tokens, prompt } = await tokenize(
    { model: 'm', input: { type: 'messages', messages } },
    { interface: 'native' },
    context,
  );
  assert.equal(
    prompt,
    '<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
  assert.equal(tokens.map(({ text }) => text).join(''), prompt.trimEnd());
});

test('sends a conversation to a server that renders prompts itself and passes its error on', async () => {
  const inputs: EngineInput[] = [];
  const chat: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, input: 'chat' },
    async tokenize(input) {
      inputs.push(input);
      if (input.type !== 'messages') throw new ServiceError('unsupported', 'no texts');
      return [{ id: 1, text: 'Hi' }];
    },
  };
  const { tokenize, books } = createTestTokenize(chat);
  const on = { interface: 'native' } as const;
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
  assert.deepEqual(await tokenize({ model: 'm', input: { type: 'messages', messages } }, on, context), {
    tokens: [{ id: 1, text: 'Hi' }],
  });
  await assert.rejects(tokenize({ model: 'm', input: { type: 'text', text: 'x' } }, on, context), {
    kind: 'unsupported',
  });
  assert.deepEqual(
    inputs.map(({ type }) => type),
    ['messages', 'segments'],
  );
  assert.equal(books.leases, 0);
});
