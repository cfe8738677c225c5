import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TEST_METADATA } from './__fixtures__/parse-test-response.ts';
import { createPromptTokenizer } from './prompt-tokenizer.ts';
import type { PromptPiece, ServerTokenizer } from './server-tokenizer.ts';

/** Creates a tokenizer of bytes; `<s>` is 300, and `<tool>` is 301 even in plain text. */
function createServer() {
  const tokenizedPieces: (string | readonly PromptPiece[])[] = [];
  const toTokens = (text: string, special: boolean): number[] =>
    text
      .split(/(<s>|<tool>)/)
      .flatMap((piece) => (piece === '<tool>' ? [301] : piece === '<s>' && special ? [300] : [...Buffer.from(piece)]));
  const server: ServerTokenizer = {
    async tokenizeSpecial(text) {
      tokenizedPieces.push(text);
      return toTokens(text, true);
    },
    async tokenizePieces(pieces) {
      tokenizedPieces.push(pieces);
      return pieces.flatMap((piece) => (piece.type === 'text' ? toTokens(piece.text, false) : [...piece.tokens]));
    },
    getTokenTexts: async (tokens) => tokens.map((id) => ({ id, text: String.fromCodePoint(id) })),
  };
  return { server, tokenizedPieces: tokenizedPieces };
}

const segment = (text: string, special = false) => ({ text, special });

describe('prompt tokenizer', () => {
  it("makes no special token of callers' texts, even if they come in parts", async () => {
    const { server } = createServer();
    const tokens = createPromptTokenizer(server, { ...TEST_METADATA, markupInText: ['<tool>'] });
    const bytes = (text: string): number[] => [...Buffer.from(text)];
    assert.deepEqual(await tokens.tokenizeSegments([segment('a<tool><s>b')]), bytes('a<tool><s>b'));
    assert.deepEqual(await tokens.tokenizeSegments([segment('<to'), segment('ol>')]), bytes('<tool>'));
    assert.deepEqual(await tokens.tokenizeSegments([segment('<tool>', true), segment('<s>')]), [301, ...bytes('<s>')]);
  });

  it('tokenizes a whole prompt with one call, and caches special texts', async () => {
    const { server, tokenizedPieces } = createServer();
    const tokens = createPromptTokenizer(server, TEST_METADATA);
    const prompt = [segment('<s>', true), segment('user\n'), segment('Hi'), segment('<s>', true), segment('me')];
    await tokens.tokenizeSegments(prompt);
    await tokens.tokenizeSegments(prompt);
    const wholes = tokenizedPieces.filter((one) => typeof one !== 'string');
    assert.equal(wholes.length, 2);
    assert.deepEqual(wholes[1], [
      { type: 'tokens', tokens: [300] },
      { type: 'text', text: 'user\nHi' },
      { type: 'tokens', tokens: [300] },
      { type: 'text', text: 'me' },
    ]);
    assert.ok(tokenizedPieces.filter((one) => typeof one === 'string').length <= 2);
  });

  it('adds the BOS token once to prompts, and not to plain text', async () => {
    const { server } = createServer();
    const tokens = createPromptTokenizer(server, { ...TEST_METADATA, bosTokenId: 300 });
    const prompt = { type: 'segments', segments: [segment('<tool>', true), segment('a')] } as const;
    assert.deepEqual(await tokens.tokenizeInput(prompt), [300, 301, 97]);
    const withBos = { type: 'segments', segments: [segment('<s>', true), segment('a')] } as const;
    assert.deepEqual(await tokens.tokenizeInput(withBos), [300, 97]);
    assert.deepEqual(await tokens.tokenizeForCount({ type: 'segments', segments: [segment('a')] }), [97]);
    assert.deepEqual(await tokens.tokenizeForCount(prompt), [300, 301, 97]);
    assert.deepEqual(await tokens.tokenizeSegments([segment('a')]), [97]);
  });

  it('refuses token ids outside the vocabulary', async () => {
    const tokens = createPromptTokenizer(createServer().server, TEST_METADATA);
    for (const wrong of [1_000, -1, 1.5])
      await assert.rejects(tokens.tokenizeInput({ type: 'tokens', tokens: [1, wrong] }), { kind: 'invalid-request' });
    assert.deepEqual(await tokens.tokenizeInput({ type: 'tokens', tokens: [1, 999] }), [1, 999]);
  });
});
