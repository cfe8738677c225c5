import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReferenceValidator } from '../src/grammar/__fixtures__/reference-validator.ts';
import { REALISTIC_SCHEMAS } from '../src/grammar/__fixtures__/realistic-schemas.ts';
import { startChild } from './child.ts';

const SEQUENCES = 8;
const TOKENS_MAX = 200;

/** Requests 200 answers under JSON schemas from the real model. Counts whole answers and, among them, valid ones. */
export async function measureSchemaAnswers(modelsFolder: string, logProgress: (text: string) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const service = await startChild('./peers/parley-server.ts', {
    PARLEY_DATA: folder,
    PARLEY_PORT: '0',
    PARLEY_MODELS: modelsFolder,
    PARLEY_ENGINE_SEQUENCES: String(SEQUENCES),
    PARLEY_ENGINE_CONTEXT_TOKENS: '1024',
    PARLEY_ENGINE_THREADS: '1',
    PARLEY_LOG_LEVEL: 'warn',
  });
  try {
    const { url, key } = await service.request<{ url: string; key: string }>('address');
    const getValidator = createReferenceValidator();
    const counts = { valid: 0, truncated: 0, invalid: 0 };
    const queue = [...REALISTIC_SCHEMAS];
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { finish, text } = await requestAnswer(`${url}/v1/chat/completions`, key, next);
        if (finish === 'length') counts.truncated++;
        else if (isValid(text, getValidator(next.schema))) counts.valid++;
        else counts.invalid++;
        if (queue.length % 20 === 0) logProgress(`${queue.length} schemas left`);
      }
    };
    await Promise.all(Array.from({ length: SEQUENCES }, worker));
    return `${REALISTIC_SCHEMAS.length} schemas: ${counts.valid} valid answers, ${counts.invalid} invalid, ${counts.truncated} cut off at ${TOKENS_MAX} tokens`;
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function requestAnswer(
  address: string,
  key: string,
  { prompt, schema }: (typeof REALISTIC_SCHEMAS)[number],
): Promise<{ finish: string; text: string }> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'svc-plus',
      max_tokens: TOKENS_MAX,
      messages: [{ role: 'user', content: prompt }],
      response_format: { type: 'json_schema', json_schema: { name: 'value', schema } },
    }),
  });
  if (response.status !== 200) throw new Error(`the service answered ${response.status}: ${await response.text()}`);
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
