import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FACTS } from './__fixtures__/heard.ts';
import { createPromptTokens } from './prompt-tokens.ts';
import type { PromptPiece, TokenServer } from './token-server.ts';

/** Bytes; `<s>` is 300 and `<tool>` is 301, which is found in plain texts, too. */
function createServer() {
  const asked: (string | readonly PromptPiece[])[] = [];
  const tokensOf = (text: string, special: boolean): number[] =>
    text
      .split(/(<s>|<tool>)/)
      .flatMap((piece) => (piece === '<tool>' ? [301] : piece === '<s>' && special ? [300] : [...Buffer.from(piece)]));
  const server: TokenServer = {
    async special(text) {
      asked.push(text);
      return tokensOf(text, true);
    },
    async plain(pieces) {
      asked.push(pieces);
      return pieces.flatMap((piece) => (piece.type === 'text' ? tokensOf(piece.text, false) : [...piece.tokens]));
    },
    texts: async (tokens) => tokens.map((id) => ({ id, text: String.fromCodePoint(id) })),
  };
  return { server, asked };
}

const segment = (text: string, special = false) => ({ text, special });

describe('tokens of a prompt', () => {
  it("never makes a special token of a caller's text, also where it comes in parts", async () => {
    const { server } = createServer();
    const tokens = createPromptTokens(server, { ...FACTS, markupInText: ['<tool>'] });
    const bytes = (text: string): number[] => [...Buffer.from(text)];
    assert.deepEqual(await tokens.ofSegments([segment('a<tool><s>b')]), bytes('a<tool><s>b'));
    assert.deepEqual(await tokens.ofSegments([segment('<to'), segment('ol>')]), bytes('<tool>'));
    assert.deepEqual(await tokens.ofSegments([segment('<tool>', true), segment('<s>')]), [301, ...bytes('<s>')]);
  });

  it('asks the server once for a whole prompt, and not again for what templates have each time', async () => {
    const { server, asked } = createServer();
    const tokens = createPromptTokens(server, FACTS);
    const prompt = [segment('<s>', true), segment('user\n'), segment('Hi'), segment('<s>', true), segment('me')];
    await tokens.ofSegments(prompt);
    await tokens.ofSegments(prompt);
    const wholes = asked.filter((one) => typeof one !== 'string');
    assert.equal(wholes.length, 2);
    assert.deepEqual(wholes[1], [
      { type: 'tokens', tokens: [300] },
      { type: 'text', text: 'user\nHi' },
      { type: 'tokens', tokens: [300] },
      { type: 'text', text: 'me' },
    ]);
    assert.ok(asked.filter((one) => typeof one === 'string').length <= 2);
  });

  it('begins a prompt with the token that the model wants, once, and no text that is none', async () => {
    const { server } = createServer();
    const tokens = createPromptTokens(server, { ...FACTS, beginToken: 300 });
    const prompt = { type: 'segments', segments: [segment('<tool>', true), segment('a')] } as const;
    assert.deepEqual(await tokens.ofInput(prompt), [300, 301, 97]);
    const begun = { type: 'segments', segments: [segment('<s>', true), segment('a')] } as const;
    assert.deepEqual(await tokens.ofInput(begun), [300, 97]);
    assert.deepEqual(await tokens.toTell({ type: 'segments', segments: [segment('a')] }), [97]);
    assert.deepEqual(await tokens.toTell(prompt), [300, 301, 97]);
    assert.deepEqual(await tokens.ofSegments([segment('a')]), [97]);
  });

  it('refuses token ids that are outside the vocabulary', async () => {
    const tokens = createPromptTokens(createServer().server, FACTS);
    for (const wrong of [1_000, -1, 1.5])
      await assert.rejects(tokens.ofInput({ type: 'tokens', tokens: [1, wrong] }), { kind: 'invalid-request' });
    assert.deepEqual(await tokens.ofInput({ type: 'tokens', tokens: [1, 999] }), [1, 999]);
  });
});
