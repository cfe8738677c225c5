import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineInput, TextEngine } from '../../src/engines/engine.ts';
import { compileTestGrammars, createFakeNativeModel } from '../../src/engines/llama/__fixtures__/fake-native-model.ts';
import { createLlamaClient } from '../../src/engines/llama/client.ts';
import { createEmbed } from '../../src/engines/llama/embed.ts';
import { createEngineServer } from '../../src/engines/llama/engine-server.ts';
import { createKvCache } from '../../src/engines/llama/kv-cache.ts';
import { createPausedStates } from '../../src/engines/llama/paused-states.ts';
import type { TokenInput } from '../../src/engines/llama/protocol.ts';
import { createRank } from '../../src/engines/llama/rank.ts';
import { createScheduler } from '../../src/engines/llama/scheduler.ts';
import { createTaskQueue } from '../../src/engines/llama/task-queue.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { EMBEDDED_FEATURES, describeEngineContract } from './engine-contract.ts';

const CONTEXT_TOKENS = 4_096;
const SEQUENCES = 3;

const toTokenInput = (input: EngineInput): TokenInput => {
  if (input.type === 'messages') throw new Error('this engine does not accept messages');
  return input;
};

// Runs client, protocol, server and scheduler of the llama engine in one process, on a fake native model.
describeEngineContract('llama engine in this process', EMBEDDED_FEATURES, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-wire-'));
  const model = createFakeNativeModel({ contextTokens: CONTEXT_TOKENS, sequences: SEQUENCES });
  const cells = createKvCache(model, 'none');
  const scheduler = createScheduler(model, {
    choicesMax: model.sequences,
    clock: systemClock,
    cpuMs: () => 0,
    queueLengthMax: 16,
    queueWaitMsMax: 10_000,
    readerWaitMsMax: 60_000,
    workspaceShare: 0.5,
    cells,
    pausedStates: createPausedStates({
      model,
      cells,
      folder: join(folder, 'paused'),
      bytesMax: 1_000_000,
      freeBytesMin: 0,
    }),
    random: Math.random,
    draftTokens: 16,
    compileGrammars: compileTestGrammars,
    killProcess: () => undefined,
  });
  const sideWork = {
    between: scheduler.runBetweenTicks,
    taskQueue: createTaskQueue({ queueLengthMax: 16, queueWaitMsMax: 10_000 }),
  };
  const server = createServer(
    createEngineServer({
      model,
      scheduler,
      embed: createEmbed(model, sideWork),
      rank: createRank(model, sideWork),
      token: 'secret',
    }),
  );
  const socket = join(folder, 'engine.sock');
  await once(server.listen(socket), 'listening');
  const client = createLlamaClient({ socket, token: 'secret' });
  const engine: TextEngine = {
    state: 'ready',
    capabilities: {
      input: 'prompt',
      logprobs: true,
      promptLogprobs: true,
      grammar: true,
      phases: true,
      cache: false,
      choicesMax: SEQUENCES,
    },
    start: (request, signal) => client.generate(request, signal),
    loadModel: async () => model.loaded,
    countTokens: (input) => client.countTokens(toTokenInput(input)),
    tokenize: (input) => client.tokenize(toTokenInput(input)),
    embeddings: {
      getDimensions: async () => model.loaded.vectorDimensions ?? 0,
      embed: (request, signal) => client.embed(request, signal),
    },
    ranking: { rank: (request, signal) => client.rank(request, signal) },
    close: async () => client.close(),
  };
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: SEQUENCES,
    longTokens: 2_000,
    countBusy: async () => scheduler.health().busySequences,
    wideGrammar: { type: 'text', text: 'wide' },
    invalidGrammar: { type: 'text', text: 'bad' },
    failing: { text: 'Now die.', fail: () => server.closeAllConnections() },
    async close() {
      client.close();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true });
    },
  };
});
