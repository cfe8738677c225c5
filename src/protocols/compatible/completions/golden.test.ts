import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { parseBody } from '../../parse.ts';
import { encodeCompletion } from './encode.ts';
import { createCompletionHead } from './head.ts';
import { CompletionBody } from './schema.ts';
import { createCompletionStreamEncoder } from './stream.ts';

// Each folder is a test case: a request and events in, exact bytes out. GOLDEN=1 rewrites the expected bytes.
const folder = join(import.meta.dirname, '__fixtures__');
const isWriting = process.env['GOLDEN'] === '1';
const requestId = '00000000-0000-4000-8000-000000000000';

for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
  const at = (file: string): string => join(folder, name, file);
  const { wire } = parseBody(CompletionBody, JSON.parse(readFileSync(at('request.json'), 'utf8')));
  const head = createCompletionHead(wire, { requestId, created: 1733591183 });
  const options = { includeUsage: wire.stream_options?.include_usage === true };
  const events = readFileSync(at('events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GenerationEvent);

  test(`streams the golden bytes of ${name}`, () => {
    const encoder = createCompletionStreamEncoder(head, options);
    compare(at('stream.sse'), encoder.open() + encoder.push(events) + encoder.close());
  });

  test(`streams the same bytes of ${name} event by event`, () => {
    const encoder = createCompletionStreamEncoder(head, options);
    const pieces = events.map((event) => encoder.push([event])).join('');
    assert.equal(pieces + encoder.close(), readFileSync(at('stream.sse'), 'utf8'));
  });

  test(`encodes the golden object of ${name}, equal to its accumulated stream`, async () => {
    const object = encodeCompletion(head, await collectResult(createBatches([events])));
    compare(at('response.json'), `${JSON.stringify(object, null, 2)}\n`);
    const { choices } = JSON.parse(JSON.stringify(object)) as Answer;
    assert.deepEqual(accumulateChunks(readFileSync(at('stream.sse'), 'utf8')), choices);
  });

  test(`breaks off ${name} with an error object and no end mark`, () => {
    const encoder = createCompletionStreamEncoder(head, options);
    encoder.push(events.slice(0, -1));
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
    assert.equal(
      encoder.fail(new ServiceError('engine-failed', 'The engine\nstopped.')),
      `data: {"error":{"message":"An internal error has occured, please try again later or contact service support. The engine\\nstopped.","type":"internal_error","param":null,"code":"internal_error"},"request_id":"${requestId}"}\n\n`,
    );
  });
}

interface Answer {
  readonly choices: readonly {
    readonly text: string;
    readonly index: number;
    readonly finish_reason: string | null;
    readonly logprobs: Readonly<Record<string, readonly unknown[]>> | null;
  }[];
}

/** Accumulates the choices of a stream as a client does. */
function accumulateChunks(stream: string): Answer['choices'] {
  const chunks = stream
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: {'))
    .flatMap((frame) => (JSON.parse(frame.slice('data: '.length)) as Answer).choices);
  const indexes = [...new Set(chunks.map(({ index }) => index))].toSorted((one, other) => one - other);
  return indexes.map((index) => {
    const ofChoice = chunks.filter((chunk) => chunk.index === index);
    const logprobLists = ofChoice.map(({ logprobs }) => logprobs).filter((each) => each !== null);
    const lists = Object.keys(logprobLists[0] ?? {}).map((name) => [
      name,
      logprobLists.flatMap((each) => each[name] ?? []),
    ]);
    return {
      text: ofChoice.map(({ text }) => text).join(''),
      index,
      finish_reason: ofChoice.at(-1)?.finish_reason ?? null,
      logprobs: lists.length > 0 ? Object.fromEntries(lists) : null,
    };
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
