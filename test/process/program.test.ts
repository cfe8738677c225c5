import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

const PROGRAM = fileURLToPath(new URL('./__fixtures__/fake-chat-server.ts', import.meta.url));

const command = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, '{port}', 'SERVER_KEY', '{name}'];
// The service is ready when the program has produced a token.
const CONFIG = `models:
  svc-plus:
    command: ${JSON.stringify(command)}
    args: ['{sequences} at once', 'of {context}']
    environment: { SERVER_KEY: '{key}' }
    upstreamModel: server-model
    contextTokens: 3000
`;

for (const workers of [1, 2])
  describe(`model server started as a program, with ${workers === 1 ? 'one worker' : 'two workers'}`, () => {
    let parley: ParleyProcess;
    before(async () => {
      parley = await startParley({
        config: CONFIG,
        sequences: 3,
        env: { PARLEY_WORKERS: `${workers}`, PARLEY_ENGINE_CONTEXT_TOKENS: '' },
      });
    });
    after(() => parley.stop());

    test('starts with the arguments of its entry, and answers in the chat completions format', async () => {
      const responses = Array.from({ length: 8 }, async () => {
        const response = await fetch(`${parley.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${parley.key}`,
            'content-type': 'application/json',
            // A new connection, so that any worker may receive the request.
            connection: 'close',
          },
          body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'How?' }] }),
        });
        return { status: response.status, text: await response.text() };
      });
      for (const { status, text } of await Promise.all(responses)) {
        assert.equal(status, 200, text);
        assert.match(text, /"content":"Arguments: server-model 3 at once of 3000\."/);
      }
    });

    test('runs in one process for all workers', async () => {
      const countStarts = (): number => parley.output().split('"msg":"engine process ready"').length - 1;
      // The log line may arrive after the responses.
      await until('the start is logged', { timeoutMs: 10_000 }, async () => (countStarts() > 0 ? true : undefined));
      assert.equal(countStarts(), 1, parley.output());
    });
  });
