import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ServiceError } from '../core/error.ts';
import type { JsonSchema } from '../core/grammar.ts';
import { createAnswerCheck } from './answer-check.ts';
import type { AnswerCheck } from './answer-check.ts';

const ASKER = { owner: { workspace: 'w', key: 'k' } };
const UNIQUE: JsonSchema = { type: 'array', uniqueItems: true };

/** How often this process could have done something else meanwhile. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const over = (): void => void (isOver = true);
  work.then(over, over);
  while (!isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  return turns;
}

describe('the check of answers', () => {
  const checks: AnswerCheck[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'parley-check-'));
  const create = (...options: Parameters<typeof createAnswerCheck>): AnswerCheck => {
    const check = createAnswerCheck(...options);
    checks.push(check);
    return check;
  };
  after(async () => {
    await Promise.all(checks.map((check) => check.close()));
    rmSync(folder, { recursive: true });
  });

  it('says what is wrong, also of a schema that it knows already', async () => {
    const check = create();
    assert.equal(await check.problemOf(UNIQUE, '[1,2]', ASKER), undefined);
    assert.equal(await check.problemOf(UNIQUE, '[1,1]', ASKER), '$ must not hold an item twice');
    assert.equal(await check.problemOf({ not: { const: 1 } }, '1', ASKER), '$ must not be what "not" describes');
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    assert.match((await check.problemOf(UNIQUE, deep, ASKER)) ?? '', /nested too deep/);
  });

  it('of hostile patterns keeps nobody else waiting, and ends', async () => {
    const schema: JsonSchema = {
      type: 'string',
      allOf: Array.from({ length: 150 }, (_, i) => ({ not: { pattern: `^\\p{L}{2,9}\\p{N}y${i}$` } })),
    };
    const problem = create()
      .problemOf(schema, '"hi"', ASKER)
      .catch((error: unknown) => {
        assert.ok(error instanceof ServiceError && error.kind === 'engine-failed', String(error));
      });
    assert.ok((await turnsDuring(problem)) > 5);
    assert.equal(await problem, undefined);
  });

  it('that takes too long fails the answer, and the next one is checked', async () => {
    const main = pathToFileURL(join(folder, 'worker.mjs'));
    writeFileSync(
      main,
      `import { parentPort } from 'node:worker_threads';
       parentPort.on('message', ({ text }) => {
         parentPort.postMessage({ type: 'begun', part: 0 });
         if (text === '"loop"') for (;;);
         if (text === '"fault"') return parentPort.postMessage({ type: 'fault', message: 'a bug' });
         parentPort.postMessage({ type: 'done', result: {} });
       });`,
    );
    const check = create({ main, msMax: 200 });
    const [slow, next, fault] = [
      check.problemOf({}, '"loop"', ASKER),
      check.problemOf({}, '1', ASKER),
      check.problemOf({}, '"fault"', ASKER),
    ];
    const failed = assert.rejects(slow, (error) => {
      assert.ok(error instanceof ServiceError && error.kind === 'engine-failed');
      assert.match(error.message, /could not be checked against its schema: that takes longer than 200 ms/);
      return true;
    });
    const faulted = assert.rejects(fault, (error) => error instanceof ServiceError && error.kind === 'engine-failed');
    assert.ok((await turnsDuring(slow)) > 5);
    await failed;
    assert.equal(await next, undefined);
    await faulted;
  });

  it('is nobody’s any more when the caller leaves, and refuses a key that has its share of places', async () => {
    const check = create({ main: pathToFileURL(join(folder, 'none.mjs')) });
    const caller = new AbortController();
    const left = check.problemOf({}, '1', { ...ASKER, signal: caller.signal });
    caller.abort(new ServiceError('timeout', 'the caller’s time is over'));
    await assert.rejects(left, (error) => error instanceof ServiceError && error.kind === 'timeout');
    const all = await Promise.allSettled(Array.from({ length: 60 }, () => check.problemOf({}, '1', ASKER)));
    const kinds = all.map((one) =>
      one.status === 'rejected' && one.reason instanceof ServiceError ? one.reason.kind : 'done',
    );
    assert.ok(kinds.includes('rate-limited'));
    assert.ok(kinds.includes('engine-failed'), 'without its file the thread does not start');
  });
});
