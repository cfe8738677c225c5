import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import type { TextEngine } from '../../src/engines/engine.ts';
import { createPool } from '../../src/engines/pool/pool.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startToyServer, TOY_CONTEXT_TOKENS, TOY_SLOTS } from './__fixtures__/toy-server.ts';
import { EMBEDDED, engineContract } from './engine-contract.ts';
import type { Declared } from './engine-contract.ts';

// Servers that need more than every machine has, as they were seen to speak: test/servers has the contract on the real
// ones. llama-server itself is tried with the models.

const TOKENS: Declared = { ...EMBEDDED, embeddings: false, death: 'upstream-failed' };
const CHAT: Declared = { ...TOKENS, input: 'chat', grammar: false, phases: false, tokens: false, queues: false };

const trialOf =
  (create: (url: string) => TextEngine, longTokens = 2_000) =>
  async () => {
    const server = await startToyServer();
    const engine = create(server.url);
    return {
      engine,
      contextTokens: TOY_CONTEXT_TOKENS,
      sequences: TOY_SLOTS,
      longTokens,
      busy: async () => server.busy(),
      deadly: { text: 'Now die.', strike: () => server.strike() },
      async close() {
        await engine.close();
        await server.close();
      },
    };
  };

engineContract(
  'vllm by its tokens',
  TOKENS,
  trialOf((url) => createCompletionEngine({ url, model: 'toy', server: 'vllm', sequences: TOY_SLOTS })),
);

engineContract(
  'sglang by its tokens',
  { ...TOKENS, logprobs: false },
  trialOf(
    (url) =>
      createCompletionEngine({
        url,
        model: 'toy',
        server: 'sglang',
        sequences: TOY_SLOTS,
        chatTemplate: '{{ messages }}',
      }),
    // Each of its events holds all of the answer so far.
    600,
  ),
);

engineContract(
  'an upstream by its chats',
  CHAT,
  trialOf((url) => createUpstreamEngine({ url: `${url}/v1`, model: 'toy', kind: 'openai' })),
);

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

engineContract(
  'an upstream by its chats, in a pool',
  CHAT,
  trialOf((url) => {
    const engine = createUpstreamEngine({ url: `${url}/v1`, model: 'toy' });
    return createPool({ members: [{ address: url, engine }], log: SILENT, clock: systemClock });
  }),
);
