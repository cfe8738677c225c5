import { createCompletionEngine } from '../../src/engines/completion/completion-engine.ts';
import type { TextEngine } from '../../src/engines/engine.ts';
import { createPool } from '../../src/engines/pool/pool.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startFakeInferenceServer, FAKE_CONTEXT_TOKENS, FAKE_SLOTS } from './__fixtures__/fake-inference-server.ts';
import { EMBEDDED_FEATURES, describeEngineContract } from './engine-contract.ts';
import type { EngineFeatures } from './engine-contract.ts';

// Runs the contract against a fake server, because the real ones need hardware that not every machine has.
// test/servers runs the contract on the real servers, test/model on llama-server.

const COMPLETION_FEATURES: EngineFeatures = { ...EMBEDDED_FEATURES, embeddings: false, failureKind: 'upstream-failed' };
const CHAT_FEATURES: EngineFeatures = {
  ...COMPLETION_FEATURES,
  input: 'chat',
  promptLogprobs: false,
  grammar: false,
  phases: false,
  tokens: false,
  hasQueue: false,
};

const createSubject =
  (create: (url: string) => TextEngine, longTokens = 2_000) =>
  async () => {
    const server = await startFakeInferenceServer();
    const engine = create(server.url);
    return {
      engine,
      contextTokens: FAKE_CONTEXT_TOKENS,
      sequences: FAKE_SLOTS,
      longTokens,
      countBusy: async () => server.countBusy(),
      failing: { text: 'Now die.', fail: () => server.closeConnections() },
      async close() {
        await engine.close();
        await server.close();
      },
    };
  };

describeEngineContract(
  'vLLM completions',
  COMPLETION_FEATURES,
  createSubject((url) => createCompletionEngine({ url, model: 'toy', server: 'vllm', sequences: FAKE_SLOTS })),
);

describeEngineContract(
  'SGLang completions',
  COMPLETION_FEATURES,
  createSubject(
    (url) =>
      createCompletionEngine({
        url,
        model: 'toy',
        server: 'sglang',
        sequences: FAKE_SLOTS,
        chatTemplate: '{{ messages }}',
      }),
    // Each event repeats the whole answer so far.
    600,
  ),
);

describeEngineContract(
  'upstream chat completions',
  CHAT_FEATURES,
  createSubject((url) => createUpstreamEngine({ url: `${url}/v1`, model: 'toy', kind: 'openai' })),
);

const SILENT_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

describeEngineContract(
  'upstream chat completions in a pool',
  CHAT_FEATURES,
  createSubject((url) => {
    const engine = createUpstreamEngine({ url: `${url}/v1`, model: 'toy' });
    return createPool({ endpoints: [{ address: url, engine }], log: SILENT_LOG, clock: systemClock });
  }),
);
