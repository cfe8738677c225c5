import { createEngineEnv, requestService, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';
import type { ResultRow } from './result-table.ts';

const ROUNDS = 3;
const TURNS = 20;
const ANSWER_TOKENS = 16;

/** Creates a question of constant length. Each is unique, so that no other conversation has it in its cache. */
const createQuestion = (round: number, turn: number): string =>
  `Entry ${100 + turn} of log ${10 + round}: the keeper walks up the stairs, lights the lamp, writes down the wind and the weather, ` +
  'looks at the ships that pass by, and waits for the morning. What will he do next, and why? Answer in one sentence.';

/** Compares the time to the first word of turn 20 with that of turn 2 in one conversation, for equally long input. */
export const measureLateTurn = (modelsFolder: string, logProgress: (text: string) => void): Promise<ResultRow[]> =>
  withParley(createEngineEnv(modelsFolder, { sequences: 2, contextTokens: 4096 }), async (service) => {
    const a: number[] = [];
    const b: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      logProgress(`conversation ${round + 1} of ${ROUNDS}`);
      const times = await measureConversation(service, round);
      a.push(times.at(-1) ?? NaN);
      b.push(times[1] ?? NaN);
    }
    return [{ measurement: `first word of turn ${TURNS}`, unit: 'ms', a, b, peer: 'turn 2', goal: '≤ 1.5' }];
  });

/** Runs a new conversation and returns the milliseconds to the first word, turn by turn. */
async function measureConversation(service: BenchService, round: number): Promise<readonly number[]> {
  const created: unknown = await (await requestService(service, '/v1/conversations', { json: {} })).json();
  const { id: conversation } = Object(created);
  const times: number[] = [];
  for (let turn = 1; turn <= TURNS; turn++) {
    const startedAt = performance.now();
    const response = await requestService(service, '/v1/responses', {
      json: {
        model: 'svc-plus',
        conversation,
        input: createQuestion(round, turn),
        stream: true,
        temperature: 0,
        max_output_tokens: ANSWER_TOKENS,
      },
    });
    let text = '';
    let firstAt: number | undefined;
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      if (text.includes('event:response.output_text.delta')) firstAt ??= performance.now();
    }
    if (firstAt === undefined || !/event:response\.(completed|incomplete)/.test(text))
      throw new Error(`turn ${turn} has no complete answer: ${text.slice(0, 500)}`);
    times.push(firstAt - startedAt);
  }
  return times;
}
