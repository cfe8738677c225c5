import { createReferenceValidator } from '../src/grammar/__fixtures__/reference-validator.ts';
import { REALISTIC_SCHEMAS } from '../src/grammar/__fixtures__/realistic-schemas.ts';
import { createEngineEnv, requestService, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';

const SEQUENCES = 8;
const TOKENS_MAX = 200;

/** Requests 200 answers under JSON schemas from the real model. Counts whole answers and, among them, valid ones. */
export const measureSchemaAnswers = (modelsFolder: string, logProgress: (text: string) => void): Promise<string> =>
  withParley(createEngineEnv(modelsFolder, { sequences: SEQUENCES, contextTokens: 1024 }), async (service) => {
    const getValidator = createReferenceValidator();
    const counts = { valid: 0, truncated: 0, invalid: 0 };
    const queue = [...REALISTIC_SCHEMAS];
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { finish, text } = await requestAnswer(service, next);
        if (finish === 'length') counts.truncated++;
        else if (isValid(text, getValidator(next.schema))) counts.valid++;
        else counts.invalid++;
        if (queue.length % 20 === 0) logProgress(`${queue.length} schemas left`);
      }
    };
    await Promise.all(Array.from({ length: SEQUENCES }, worker));
    return `${REALISTIC_SCHEMAS.length} schemas: ${counts.valid} valid answers, ${counts.invalid} invalid, ${counts.truncated} cut off at ${TOKENS_MAX} tokens`;
  });

async function requestAnswer(
  service: BenchService,
  { prompt, schema }: (typeof REALISTIC_SCHEMAS)[number],
): Promise<{ finish: string; text: string }> {
  const response = await requestService(service, '/v1/chat/completions', {
    json: {
      model: 'svc-plus',
      max_tokens: TOKENS_MAX,
      messages: [{ role: 'user', content: prompt }],
      response_format: { type: 'json_schema', json_schema: { name: 'value', schema } },
    },
  });
  const { choices } = (await response.json()) as {
    choices: readonly { finish_reason: string; message: { content: string } }[];
  };
  return { finish: choices[0]?.finish_reason ?? '', text: choices[0]?.message.content ?? '' };
}

function isValid(text: string, validate: (value: unknown) => boolean): boolean {
  try {
    return validate(JSON.parse(text));
  } catch {
    return false;
  }
}
