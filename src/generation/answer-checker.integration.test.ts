import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ServiceError } from '../core/error.ts';
import type { JsonSchema } from '../core/grammar.ts';
import { createAnswerChecker } from './answer-checker.ts';
import type { AnswerChecker } from './answer-checker.ts';

const CALLER = { owner: { workspace: 'w', key: 'k' } };
const UNIQUE: JsonSchema = { type: 'array', uniqueItems: true };

/** Counts how often the event loop was free while the work ran. */
async function countEventLoopTurns(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isFinished = false;
  const finish = (): void => void (isFinished = true);
  work.then(finish, finish);
  while (!isFinished) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  return turns;
}

describe('createAnswerChecker', () => {
  const checks: AnswerChecker[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'parley-check-'));
  const create = (...options: Parameters<typeof createAnswerChecker>): AnswerChecker => {
    const check = createAnswerChecker(...options);
    checks.push(check);
    return check;
  };
  after(async () => {
    await Promise.all(checks.map((check) => check.close()));
    rmSync(folder, { recursive: true });
  });

  it('reports the problem of an answer, also for a schema that it has cached', async () => {
    const check = create();
    assert.equal(await check.findProblem(UNIQUE, '[1,2]', CALLER), undefined);
    assert.equal(await check.findProblem(UNIQUE, '[1,1]', CALLER), '$ must not contain duplicate items');
    assert.equal(await check.findProblem({ not: { const: 1 } }, '1', CALLER), '$ must not match the schema in "not"');
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    assert.match((await check.findProblem(UNIQUE, deep, CALLER)) ?? '', /nested too deep/);
  });

  it('limits hostile patterns without blocking the event loop', async () => {
    const schema: JsonSchema = {
      type: 'string',
      allOf: Array.from({ length: 150 }, (_, i) => ({ not: { pattern: `^\\p{L}{2,9}\\p{N}y${i}$` } })),
    };
    const problem = create()
      .findProblem(schema, '"hi"', CALLER)
      .catch((error: unknown) => {
        assert.ok(error instanceof ServiceError && error.kind === 'engine-failed', String(error));
      });
    assert.ok((await countEventLoopTurns(problem)) > 5);
    assert.equal(await problem, undefined);
  });

  it('fails an answer whose check takes too long and checks the next one', async () => {
    const main = pathToFileURL(join(folder, 'worker.mjs'));
    writeFileSync(
      main,
      `import { parentPort } from 'node:worker_threads';
       parentPort.on('message', ({ text }) => {
         parentPort.postMessage({ type: 'started', part: 0 });
         if (text === '"loop"') for (;;);
         if (text === '"fault"') return parentPort.postMessage({ type: 'failed', message: 'a bug' });
         parentPort.postMessage({ type: 'done', result: {} });
       });`,
    );
    const check = create({ workerFile: main, msMax: 200 });
    const [slow, next, fault] = [
      check.findProblem({}, '"loop"', CALLER),
      check.findProblem({}, '1', CALLER),
      check.findProblem({}, '"fault"', CALLER),
    ];
    const failed = assert.rejects(slow, (error) => {
      assert.ok(error instanceof ServiceError && error.kind === 'engine-failed');
      assert.match(error.message, /could not be checked against its schema: that takes longer than 200 ms/);
      return true;
    });
    const faulted = assert.rejects(fault, (error) => error instanceof ServiceError && error.kind === 'engine-failed');
    assert.ok((await countEventLoopTurns(slow)) > 5);
    await failed;
    assert.equal(await next, undefined);
    await faulted;
  });

  it('cancels the check of a caller that leaves and limits the waiting checks per key', async () => {
    const check = create({ workerFile: pathToFileURL(join(folder, 'none.mjs')) });
    const caller = new AbortController();
    const left = check.findProblem({}, '1', { ...CALLER, signal: caller.signal });
    caller.abort(new ServiceError('timeout', 'the caller’s time is over'));
    await assert.rejects(left, (error) => error instanceof ServiceError && error.kind === 'timeout');
    const all = await Promise.allSettled(Array.from({ length: 60 }, () => check.findProblem({}, '1', CALLER)));
    const kinds = all.map((one) =>
      one.status === 'rejected' && one.reason instanceof ServiceError ? one.reason.kind : 'done',
    );
    assert.ok(kinds.includes('rate-limited'));
    assert.ok(kinds.includes('engine-failed'), 'without its file the thread does not start');
  });
});
