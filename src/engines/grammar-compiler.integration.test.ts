import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Grammar } from '../core/grammar.ts';
import { WorkerBusyError } from './fair-worker.ts';
import { createGrammarCompiler, findSchemaField, GrammarRefusedError } from './grammar-compiler.ts';

const CALLER = { owner: { workspace: 'w', key: 'k' } };
const text = (allowed: string): Grammar => ({ type: 'text', text: allowed });
const schema = (field: string): Grammar => ({ type: 'schema', schema: { type: 'string' }, field });

/** A worker that obeys the text of the grammar instead of compiling it. */
const WORKER = `
import { parentPort } from 'node:worker_threads';
let count = 0;
parentPort.on('message', ({ grammars }) => {
  const compiled = [];
  for (const [part, json] of grammars.entries()) {
    const grammar = JSON.parse(json);
    parentPort.postMessage({ type: 'started', part });
    const what = grammar.type === 'schema' ? grammar.schema.do : grammar.text;
    if (what === 'loop') for (;;);
    if (what === 'eat') { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); }
    if (what === 'exit') process.exit(3);
    if (what === 'fault') return parentPort.postMessage({ type: 'failed', message: 'a bug' });
    if (what === 'refuse') {
      const result = { type: 'refused', part, message: 'no', field: 'tools[3]' };
      return parentPort.postMessage({ type: 'done', result });
    }
    compiled.push({ gbnf: what + ' ' + ++count, isWide: what === 'b' });
  }
  parentPort.postMessage({ type: 'done', result: { type: 'compiled', grammars: compiled } });
});
`;

describe('createGrammarCompiler', () => {
  it('compiles all grammars of a request with the real compiler, and rejects by field', async () => {
    const compiler = createGrammarCompiler();
    const made = await compiler.compile([text('a'), schema('response_format'), text('a')], CALLER);
    assert.equal(made.length, 3);
    assert.match(made[0]?.gbnf ?? '', /root ::=/);
    assert.deepEqual(made[0], made[2]);
    await assert.rejects(
      compiler.compile([text('a'), { type: 'schema', schema: { $ref: '#/nowhere' }, field: 'tools[0].x' }], CALLER),
      (error) => error instanceof GrammarRefusedError && error.field === 'tools[0].x',
    );
    await compiler.close();
  });

  it('finds the request field of the schema in a grammar', () => {
    assert.equal(
      findSchemaField({ type: 'sequence', parts: [text('a'), { type: 'choice', options: [schema('f')] }] }),
      'f',
    );
    assert.equal(findSchemaField(text('a')), undefined);
    assert.equal(findSchemaField(undefined), undefined);
  });
});

describe('createGrammarCompiler: worker thread', () => {
  let folder: string;
  let main: URL;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-grammar-'));
    main = pathToFileURL(join(folder, 'worker.mjs'));
    await writeFile(main, WORKER);
  });
  after(() => rm(folder, { recursive: true }));

  it('compiles a repeated grammar once', async () => {
    const compiler = createGrammarCompiler({ workerUrl: main });
    assert.deepEqual(await compiler.compile([text('a'), text('b'), text('a')], CALLER), [
      { gbnf: 'a 1', isWide: false },
      { gbnf: 'b 2', isWide: true },
      { gbnf: 'a 1', isWide: false },
    ]);
    assert.deepEqual(await compiler.compile([text('b'), text('c')], CALLER), [
      { gbnf: 'b 2', isWide: true },
      { gbnf: 'c 3', isWide: false },
    ]);
    await compiler.close();
  });

  it('is stopped at the time limit; the next request gets a new thread', async () => {
    const compiler = createGrammarCompiler({ workerUrl: main, msMax: 300 });
    const slow: Grammar = { type: 'schema', schema: { do: 'loop' }, field: 'tools[7]' };
    const [refused, behind] = await Promise.allSettled([
      compiler.compile([text('a'), slow], CALLER),
      compiler.compile([text('b')], CALLER),
    ]);
    assert.ok(refused.status === 'rejected' && refused.reason instanceof GrammarRefusedError);
    assert.equal(refused.reason.field, 'tools[7]');
    assert.equal(refused.reason.message, 'The schema takes longer than 300 ms to compile (tools[7]).');
    assert.deepEqual(behind, { status: 'fulfilled', value: [{ gbnf: 'b 1', isWide: true }] });
    await compiler.close();
  });

  it('is stopped at the memory limit, and is replaced after it dies', async () => {
    const compiler = createGrammarCompiler({ workerUrl: main, heapMb: 16, msMax: 10_000 });
    await assert.rejects(compiler.compile([text('eat')], CALLER), /takes too much memory/);
    await assert.rejects(compiler.compile([text('exit')], CALLER), /thread grammars exited/);
    assert.deepEqual(await compiler.compile([text('b')], CALLER), [{ gbnf: 'b 1', isWide: true }]);
    await compiler.close();
  });

  it('distinguishes rejected schemas from faults of the compiler', async () => {
    const compiler = createGrammarCompiler({ workerUrl: main });
    await assert.rejects(
      compiler.compile([text('refuse')], CALLER),
      (error) => error instanceof GrammarRefusedError && error.field === 'tools[3]',
    );
    await assert.rejects(
      compiler.compile([text('fault')], CALLER),
      (error) => !(error instanceof GrammarRefusedError) && String(error).includes('a bug'),
    );
    await compiler.close();
  });

  it('serves owners fairly, and limits the queue', async () => {
    const compiler = createGrammarCompiler({ workerUrl: main });
    const done: string[] = [];
    const compileNamed = (workspace: string, name: string): Promise<unknown> =>
      compiler.compile([text(name)], { owner: { workspace, key: workspace } }).then(
        () => done.push(name),
        (error: unknown) => error,
      );
    const greedy = Array.from({ length: 40 }, (_, i) => compileNamed('greedy', `g${i}`));
    const modest = compileNamed('modest', 'm');
    const refused = (await Promise.all(greedy)).filter(
      (error) => error instanceof WorkerBusyError && error.reason === 'key-share',
    );
    await modest;
    assert.ok(refused.length > 0);
    assert.ok(done.indexOf('m') <= 2, `came as ${done.indexOf('m')}`);
    await compiler.close();
  });
});
