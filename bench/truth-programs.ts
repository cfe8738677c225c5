import { createEngineEnv, requestService, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';
import { PROGRAM_QUESTIONS } from './truth-program-questions.ts';

const TOKENS_MAX = 1_200;

interface Outcome {
  readonly calls: number;
  readonly text: string;
}

/**
 * Measures whether a model computes by programs: calls and right answers of computing questions, calls of others.
 * PARLEY_BENCH_MODEL names the model (svc-plus), PARLEY_BENCH_SPLIT the questions (judging, or tuning).
 */
export const measureProgramTruth = (modelsFolder: string, logProgress: (text: string) => void): Promise<string> =>
  withParley(createEngineEnv(modelsFolder, { sequences: 1, contextTokens: 4096 }), async (service) => {
    const model = process.env['PARLEY_BENCH_MODEL'] ?? 'svc-plus';
    const split = process.env['PARLEY_BENCH_SPLIT'] === 'tuning' ? 'tuning' : 'judging';
    const { computing, plain } = PROGRAM_QUESTIONS[split];
    const counts = { called: 0, right: 0, plainCalled: 0 };
    for (const [question, answer] of computing) {
      const { calls, text } = await ask(service, model, question);
      const isRight = answer.test(text);
      if (calls > 0) counts.called++;
      if (isRight) counts.right++;
      logProgress(`${isRight ? 'right' : 'wrong'}, ${calls} programs: ${question}`);
      if (split === 'tuning') logProgress(`  ${text}`);
    }
    for (const question of plain) {
      const { calls } = await ask(service, model, question);
      if (calls > 0) counts.plainCalled++;
      logProgress(`${calls} programs: ${question}`);
    }
    return `programs, ${model}, ${split} questions: called for ${counts.called} of ${computing.length}, right answer for ${counts.right}; called for ${counts.plainCalled} of ${plain.length} that need none`;
  });

async function ask(service: BenchService, model: string, question: string): Promise<Outcome> {
  const response = await requestService(service, '/compatible-mode/v1/responses', {
    json: {
      model,
      input: question,
      temperature: 0,
      store: false,
      max_output_tokens: TOKENS_MAX,
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    },
  });
  const { output } = (await response.json()) as {
    readonly output: readonly { readonly type: string; readonly content?: readonly { readonly text?: string }[] }[];
  };
  const messages = output.filter(({ type }) => type === 'message');
  return {
    calls: output.filter(({ type }) => type === 'code_interpreter_call').length,
    text: messages.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('\n'),
  };
}
