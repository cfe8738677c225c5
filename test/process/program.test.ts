import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

const PROGRAM = fileURLToPath(new URL('./__fixtures__/chat-program.ts', import.meta.url));

const words = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, '{port}', 'THEIR_KEY', '{name}'];
// The service is ready when this one has given a token.
const CONFIG = `models:
  svc-plus:
    command: ${JSON.stringify(words)}
    args: ['{sequences} at once', 'of {context}']
    environment: { THEIR_KEY: '{key}' }
    upstreamModel: theirs
    contextTokens: 3000
`;

for (const workers of [1, 2])
  describe(`a program of any kind, with ${workers === 1 ? 'one worker' : 'two workers'}`, () => {
    let parley: ParleyProcess;
    before(async () => {
      parley = await startParley({
        config: CONFIG,
        sequences: 3,
        env: { PARLEY_WORKERS: `${workers}`, PARLEY_ENGINE_CONTEXT_TOKENS: '' },
      });
    });
    after(() => parley.stop());

    test('is started with what its entry says, and speaks by the format', async () => {
      const answers = Array.from({ length: 8 }, async () => {
        const answer = await fetch(`${parley.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${parley.key}`,
            'content-type': 'application/json',
            // So that any worker may get it.
            connection: 'close',
          },
          body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'How?' }] }),
        });
        return { status: answer.status, text: await answer.text() };
      });
      for (const { status, text } of await Promise.all(answers)) {
        assert.equal(status, 200, text);
        assert.match(text, /"content":"I was told theirs 3 at once of 3000\."/);
      }
    });

    test('has one process for all', async () => {
      const started = (): number => parley.output().split('"msg":"engine process ready"').length - 1;
      // The line may come behind the answers.
      await until('it is logged', { withinMs: 10_000 }, async () => (started() > 0 ? true : undefined));
      assert.equal(started(), 1, parley.output());
    });
  });
