import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Grammar } from '../core/grammar.ts';
import { WorkerBusyError } from './fair-worker.ts';
import { createGrammarCompiler, fieldOf, GrammarRefusedError } from './grammar-compiler.ts';

const ASKER = { owner: { workspace: 'w', key: 'k' } };
const text = (allowed: string): Grammar => ({ type: 'text', text: allowed });
const schema = (field: string): Grammar => ({ type: 'schema', schema: { type: 'string' }, field });

/** A compiler whose worker does what the grammar's text says. */
const WORKER = `
import { parentPort } from 'node:worker_threads';
let count = 0;
parentPort.on('message', ({ grammars }) => {
  const gbnf = [];
  for (const [part, json] of grammars.entries()) {
    const grammar = JSON.parse(json);
    parentPort.postMessage({ type: 'begun', part });
    const what = grammar.type === 'schema' ? grammar.schema.do : grammar.text;
    if (what === 'loop') for (;;);
    if (what === 'eat') { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); }
    if (what === 'exit') process.exit(3);
    if (what === 'fault') return parentPort.postMessage({ type: 'fault', message: 'a bug' });
    if (what === 'refuse') {
      const result = { type: 'refused', part, message: 'no', field: 'tools[3]' };
      return parentPort.postMessage({ type: 'done', result });
    }
    gbnf.push(what + ' ' + ++count);
  }
  parentPort.postMessage({ type: 'done', result: { type: 'made', gbnf } });
});
`;

describe('the compiler of grammars', () => {
  it('compiles with the real thing, all of a request at once, and refuses by field', async () => {
    const compiler = createGrammarCompiler();
    const made = await compiler.compile([text('a'), schema('response_format'), text('a')], ASKER);
    assert.equal(made.length, 3);
    assert.match(made[0] ?? '', /root ::=/);
    assert.equal(made[0], made[2]);
    await assert.rejects(
      compiler.compile([text('a'), { type: 'schema', schema: { $ref: '#/nowhere' }, field: 'tools[0].x' }], ASKER),
      (error) => error instanceof GrammarRefusedError && error.field === 'tools[0].x',
    );
    await compiler.close();
  });

  it('knows where the schema of a grammar stands', () => {
    assert.equal(fieldOf({ type: 'sequence', parts: [text('a'), { type: 'choice', options: [schema('f')] }] }), 'f');
    assert.equal(fieldOf(text('a')), undefined);
    assert.equal(fieldOf(undefined), undefined);
  });
});

describe('its thread', () => {
  let folder: string;
  let main: URL;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-grammar-'));
    main = pathToFileURL(join(folder, 'worker.mjs'));
    await writeFile(main, WORKER);
  });
  after(() => rm(folder, { recursive: true }));

  it('is asked once for a grammar that comes again', async () => {
    const compiler = createGrammarCompiler({ main });
    assert.deepEqual(await compiler.compile([text('a'), text('b'), text('a')], ASKER), ['a 1', 'b 2', 'a 1']);
    assert.deepEqual(await compiler.compile([text('b'), text('c')], ASKER), ['b 2', 'c 3']);
    await compiler.close();
  });

  it('may take so long and no longer; the next request gets another one', async () => {
    const compiler = createGrammarCompiler({ main, msMax: 300 });
    const slow: Grammar = { type: 'schema', schema: { do: 'loop' }, field: 'tools[7]' };
    const [refused, behind] = await Promise.allSettled([
      compiler.compile([text('a'), slow], ASKER),
      compiler.compile([text('b')], ASKER),
    ]);
    assert.ok(refused.status === 'rejected' && refused.reason instanceof GrammarRefusedError);
    assert.equal(refused.reason.field, 'tools[7]');
    assert.equal(refused.reason.message, 'The schema takes longer than 300 ms to compile (tools[7]).');
    assert.deepEqual(behind, { status: 'fulfilled', value: ['b 1'] });
    await compiler.close();
  });

  it('may take so much memory and no more, and may die', async () => {
    const compiler = createGrammarCompiler({ main, heapMb: 16, msMax: 10_000 });
    await assert.rejects(compiler.compile([text('eat')], ASKER), /takes too much memory/);
    await assert.rejects(compiler.compile([text('exit')], ASKER), /thread grammars has ended/);
    assert.deepEqual(await compiler.compile([text('b')], ASKER), ['b 1']);
    await compiler.close();
  });

  it('says whose fault it is', async () => {
    const compiler = createGrammarCompiler({ main });
    await assert.rejects(
      compiler.compile([text('refuse')], ASKER),
      (error) => error instanceof GrammarRefusedError && error.field === 'tools[3]',
    );
    await assert.rejects(
      compiler.compile([text('fault')], ASKER),
      (error) => !(error instanceof GrammarRefusedError) && String(error).includes('a bug'),
    );
    await compiler.close();
  });

  it('serves owners by turns, and takes no more than may wait', async () => {
    const compiler = createGrammarCompiler({ main });
    const done: string[] = [];
    const ask = (workspace: string, name: string): Promise<unknown> =>
      compiler.compile([text(name)], { owner: { workspace, key: workspace } }).then(
        () => done.push(name),
        (error: unknown) => error,
      );
    const greedy = Array.from({ length: 40 }, (_, i) => ask('greedy', `g${i}`));
    const modest = ask('modest', 'm');
    const refused = (await Promise.all(greedy)).filter(
      (error) => error instanceof WorkerBusyError && error.reason === 'key-share',
    );
    await modest;
    assert.ok(refused.length > 0);
    assert.ok(done.indexOf('m') <= 2, `came as ${done.indexOf('m')}`);
    await compiler.close();
  });
});
