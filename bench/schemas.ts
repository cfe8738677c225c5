import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReference } from '../src/grammar/__fixtures__/reference.ts';
import { schemas } from '../src/grammar/__fixtures__/schemas.ts';
import { startChild } from './child.ts';

const SEQUENCES = 8;
const TOKENS_MAX = 200;

/** 200 schemas on the real model: how many answers were whole, and how many of those valid. */
export async function schemaAnswers(modelsFolder: string, note: (text: string) => void): Promise<string> {
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
    const { url, key } = await service.ask<{ url: string; key: string }>('address');
    const validatorOf = createReference();
    const counts = { valid: 0, cut: 0, invalid: 0 };
    const waiting = [...schemas];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const { finish, text } = await answer(`${url}/v1/chat/completions`, key, next);
        if (finish === 'length') counts.cut++;
        else if (isValid(text, validatorOf(next.schema))) counts.valid++;
        else counts.invalid++;
        if (waiting.length % 20 === 0) note(`${waiting.length} schemas left`);
      }
    };
    await Promise.all(Array.from({ length: SEQUENCES }, worker));
    return `${schemas.length} schemas: ${counts.valid} answers valid, ${counts.invalid} not, ${counts.cut} cut by ${TOKENS_MAX} tokens`;
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function answer(
  address: string,
  key: string,
  { prompt, schema }: (typeof schemas)[number],
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
