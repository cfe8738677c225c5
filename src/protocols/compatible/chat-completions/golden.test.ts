import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { parseBody } from '../../parse.ts';
import { encodeChatCompletion } from './encode.ts';
import { ChatCompletionBody } from './schema.ts';
import { createChatStreamEncoder } from './stream.ts';
import { TranslationBody } from './translation.ts';

// Each folder is a test case: a request and events in, exact bytes out. GOLDEN=1 rewrites the expected bytes.
const folder = join(import.meta.dirname, '__fixtures__');
const isWriting = process.env['GOLDEN'] === '1';

for (const name of readdirSync(folder)) {
  const at = (file: string): string => join(folder, name, file);
  const schema = name.startsWith('translation') ? TranslationBody : ChatCompletionBody;
  const { wire } = parseBody(schema, JSON.parse(readFileSync(at('request.json'), 'utf8')));
  const head = { requestId: '00000000-0000-4000-8000-000000000000', created: 1735120033, model: wire.model };
  const options = { includeUsage: wire.stream_options?.include_usage === true };
  const events = readFileSync(at('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GenerationEvent);

  test(`streams the golden bytes of ${name}`, () => {
    const encoder = createChatStreamEncoder(head, options);
    compare(at('stream.sse'), encoder.open() + encoder.push(events) + encoder.close());
  });

  test(`answers the golden object of ${name}`, async () => {
    const result = await collectResult(createBatches([events]));
    compare(at('response.json'), `${JSON.stringify(encodeChatCompletion(head, result), null, 2)}\n`);
  });

  test(`breaks off ${name} with an error object and no end mark`, () => {
    const encoder = createChatStreamEncoder(head, options);
    encoder.push(events.slice(0, -1));
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
    assert.equal(
      encoder.fail(new ServiceError('engine-failed', 'The engine\nstopped.')),
      `data: {"error":{"message":"An internal error has occured, please try again later or contact service support. The engine\\nstopped.","type":"internal_error","param":null,"code":"internal_error"},"request_id":"${head.requestId}"}\n\n`,
    );
  });
}

function compare(file: string, actual: string): void {
  if (isWriting || !existsSync(file)) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'));
}

async function* createBatches(
  batches: readonly (readonly GenerationEvent[])[],
): AsyncGenerator<readonly GenerationEvent[]> {
  yield* batches;
}
