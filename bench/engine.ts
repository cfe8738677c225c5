import { createEngineEnv, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';
import { startChild } from './child.ts';
import { createChatClient, computeTokensPerSecond } from './load.ts';
import { measureRow } from './result-table.ts';
import type { ResultRow } from './result-table.ts';

const TOKENS = 48;
const ROUNDS = 5;
const SEQUENCES = 8;
const QUESTION = 'Write a long story about a lighthouse keeper and the sea.';
/** The prompt that the chat template renders for QUESTION. */
const PROMPT = `<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n${QUESTION}<|im_end|>\n<|im_start|>assistant\n`;

interface Variant {
  readonly logprobs?: true;
  readonly top_logprobs?: number;
  readonly seed?: number;
  readonly response_format?: object;
}

/** Schema that needs more numbers than fit: the answer ends at its token limit, as the unconstrained answer does. */
const NUMBERS = {
  type: 'json_schema',
  json_schema: { name: 'numbers', schema: { type: 'array', items: { type: 'integer' }, minItems: TOKENS } },
};

/** Compares the embedded engine behind the HTTP interface with its library driven directly. */
export const measureEngine = (
  modelFile: string,
  modelsFolder: string,
  logProgress: (text: string) => void,
): Promise<ResultRow[]> =>
  withParley(createEngineEnv(modelsFolder, { sequences: SEQUENCES, contextTokens: 2048 }), (service) =>
    compareWithLibrary(service, modelFile, logProgress),
  );

async function compareWithLibrary(
  service: BenchService,
  modelFile: string,
  logProgress: (text: string) => void,
): Promise<ResultRow[]> {
  const library = await startChild('./peers/library.ts', {
    BENCH_MODEL: modelFile,
    BENCH_SEQUENCES: String(SEQUENCES),
    BENCH_THREADS: '1',
  });
  try {
    const client = createChatClient(service);
    const runThroughApi =
      (streams: number, variant: Variant = {}) =>
      async (): Promise<number> => {
        const body = {
          model: 'svc-plus',
          stream: true,
          temperature: 0,
          repetition_penalty: 1,
          max_tokens: TOKENS,
          messages: [{ role: 'user', content: QUESTION }],
          ...variant,
        };
        const responses = await Promise.all(Array.from({ length: streams }, () => client.call(body)));
        return responses.reduce((sum, answer) => sum + computeTokensPerSecond(answer, TOKENS), 0);
      };
    const runDirectly = (streams: number, style: 'lock-step' | 'free') => () =>
      library.request<number>({ streams, style, tokens: TOKENS, prompt: PROMPT });

    const rows: ResultRow[] = [];
    const compare = async (
      measurement: string,
      peer: string,
      measureParley: () => Promise<number>,
      measurePeer: () => Promise<number>,
      goal: string,
    ): Promise<void> => {
      const row = { measurement, unit: 'tok/s', peer, goal, rounds: ROUNDS, logProgress };
      rows.push(await measureRow(row, measureParley, measurePeer));
    };
    await runThroughApi(1)();
    await runDirectly(1, 'lock-step')();
    for (const [streams, goal] of [
      [1, '≥ 0.97'],
      [4, '≥ 0.95'],
      [8, '≥ 0.95'],
    ] as const)
      await compare(
        `through the API, ${streams} stream${streams > 1 ? 's' : ''}`,
        'library in lock step',
        runThroughApi(streams),
        runDirectly(streams, 'lock-step'),
        goal,
      );
    await compare(
      'through the API, 4 streams',
      'library free-running',
      runThroughApi(4),
      runDirectly(4, 'free'),
      '≥ 1.4',
    );
    await compare(
      '4 streams with top_logprobs 5',
      'the same without',
      runThroughApi(4, { logprobs: true, top_logprobs: 5 }),
      runThroughApi(4),
      'reported',
    );
    for (const streams of [1, 4])
      await compare(
        `${streams} stream${streams > 1 ? 's' : ''} under a JSON schema`,
        'the same unconstrained',
        runThroughApi(streams, { response_format: NUMBERS }),
        runThroughApi(streams),
        'reported',
      );
    await compare(
      '4 streams with a seed',
      'the same without',
      runThroughApi(4, { seed: 7 }),
      runThroughApi(4),
      'reported',
    );
    const measureBeside = (variant: Variant) => async (): Promise<number> => {
      const other = runThroughApi(1, variant)();
      const rate = await runThroughApi(3)();
      await other;
      return rate;
    };
    await compare(
      '3 streams beside a seeded one',
      '3 beside an unseeded one',
      measureBeside({ seed: 7 }),
      measureBeside({}),
      'reported',
    );
    client.close();
    return rows;
  } finally {
    await library.stop();
  }
}
