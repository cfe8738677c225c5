import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatalogue } from '../catalogue/catalogue.ts';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import type { Abilities } from '../core/abilities.ts';
import type { ModelEntry } from '../catalogue/model.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { readShippedCatalogue } from '../catalogue/shipped.ts';
import type { QueriedEntry } from '../service/query-servers.ts';
import { createHubIndex } from '../weights/hub-index.ts';
import type { WeightsStatus } from '../weights/weights-status.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { createModelsCommand } from './models-command.ts';

const SMALL = 'qwen2.5-coder-0.5b-instruct-q4_k_m';
const additions = parseCatalogueAdditions({
  models: {
    remote: { url: 'http://127.0.0.1:9/v1', upstreamModel: 'far' },
    local: { weights: 'default', adapters: { sql: { path: '/sql.gguf', scale: 0.5 } } },
    served: { command: 'llama-server', path: '/m.gguf', adapters: { 'served-sql': '/sql.gguf' } },
  },
});
const catalogue = createCatalogue(expandCatalogue(await readShippedCatalogue(), additions));

const MACHINE = {
  memoryBytes: 16e9,
  cores: 8,
  coreBytesPerSecond: 7e9,
  gpus: [{ name: 'RTX', memoryBytes: 24 * 2 ** 30 }],
};

interface Ran {
  readonly output: string;
  readonly errors: string;
  readonly pulled: string[];
  readonly removed: string[];
  readonly added: unknown[];
}

interface RunOptions {
  readonly hasServer?: boolean;
  readonly hasEngine?: boolean;
  readonly verified?: 'announced' | 'none' | 'catalogue';
  readonly queryServers?: (entry: ModelEntry) => Promise<QueriedEntry>;
  readonly toolCalls?: Abilities['toolCalls'];
  /** Why the small weights are refused. */
  readonly refusal?: string;
}

/** Runs the command with a store that contains only the small weights. */
async function run(
  args: readonly string[],
  {
    hasServer = true,
    hasEngine = true,
    verified = 'announced',
    queryServers = async (entry) => ({ entry, isContextKnown: !entry.isContextGuessed }),
    toolCalls,
    refusal,
  }: RunOptions = {},
): Promise<Ran> {
  let output = '';
  let errors = '';
  const pulled: string[] = [];
  const removed: string[] = [];
  const added: unknown[] = [];
  const path = `/models/${SMALL}.gguf`;
  const status: WeightsStatus =
    refusal === undefined ? { state: 'present', path } : { state: 'refused', path, problem: refusal };
  const weights: WeightsStore = {
    locate: async ({ id }) => (id === SMALL ? path : undefined),
    inspect: async ({ id }) => (id === SMALL ? status : { state: 'missing' }),
    verify: async () => ({ outcome: 'intact' }),
    pull: async ({ id }, options) => {
      pulled.push(options?.trust ? `${id} trusted` : id);
      options?.onProgress?.({ weights: id, source: 'hub', doneBytes: 5, totalBytes: 10, ratePerSecond: 0 });
      return `/models/${id}.gguf`;
    },
    remove: async (id) => {
      removed.push(id);
      return id === SMALL;
    },
    listStrayFiles: async () => [{ path: '/models/old.gguf', sizeBytes: 5_000, reason: 'unnamed' }],
    prune: async () => [{ path: '/models/old.gguf', sizeBytes: 5_000, reason: 'unnamed' }],
    list: async () => [{ id: SMALL, path, sizeBytes: 7, mtimeMs: 1, sha256: 'abc', source: 'hub o/r', verified }],
  };
  const command = createModelsCommand({
    open: async () => ({
      catalogue,
      weights,
      hub: createHubIndex({ hubUrl: undefined, fetch }),
      queryServers,
      detectToolCalls: async (_, modelFile) => (modelFile === path ? toolCalls : undefined),
      served: { contextTokens: 8_192, sequences: 4 },
      runtimes: { locate: async () => (hasEngine ? '/engines/speech' : undefined) },
      addToConfig: async (...all) => added.push(all),
      reloadServer: () => hasServer,
    }),
    stdout: { write: (text) => (output += text) },
    stderr: { write: (text) => (errors += text) },
    machine: async () => MACHINE,
  });
  command.exitOverride();
  for (const sub of command.commands) sub.exitOverride().configureOutput({ writeErr: (text) => void (errors += text) });
  await command.parseAsync([...args], { from: 'user' });
  return { output, errors, pulled, removed, added };
}

test('list shows runner, download state and licence', async () => {
  const { output } = await run(['list']);
  assert.match(output, /^svc-plus +qwen2\.5-coder-0\.5b-instruct-q4_k_m +yes +32768 +chat messages responses native$/m);
  assert.match(output, /^svc-tiny +smollm2-135m-instruct-q4_1 +no +4096/m);
  assert.match(output, /^remote +far at http:\/\/127\.0\.0\.1:9\/v1 +- +8192/m);
  assert.match(output, /^svc-asr +whisper-base +no +448 +speech$/m);
  assert.match(output, /^svc-rerank +none: No reranking model is configured.* +- +- +rerank$/m);
  assert.match(output, /^whisper-base +106 MB +no +MIT/m);
  assert.match(output, /^qwen2\.5-coder-1\.5b-instruct-q4_k_m +1\.1 GB +no +Apache-2\.0/m);
});

test('list and show print one JSON value with --json', async () => {
  const list: unknown = JSON.parse((await run(['list', '--json'])).output);
  assert.ok(typeof list === 'object' && list && 'models' in list && Array.isArray(list.models));
  assert.equal(list.models.length, catalogue.list().length);
  const show: unknown = JSON.parse((await run(['show', 'qwen-plus', '--json'])).output);
  assert.ok(typeof show === 'object' && show && 'name' in show && 'weights' in show);
  assert.equal(show.name, 'svc-plus');
});

test('list and show name the LoRA adapter of a model', async () => {
  const { output } = await run(['list']);
  assert.match(output, new RegExp(`^local +${RegExp.escape(SMALL)} +yes `, 'm'));
  assert.match(output, new RegExp(`^sql +${RegExp.escape(SMALL)} with /sql\\.gguf \\(scale 0\\.5\\) +yes `, 'm'));
  assert.match(output, /^served-sql +\S+ with \/sql\.gguf in llama-server /m);
  assert.match((await run(['show', 'sql'])).output, /^runner +\S+ with \/sql\.gguf \(scale 0\.5\)$/m);
});

test('show prints licence, sources and verification', async () => {
  const { output } = await run(['show', 'qwen-plus']);
  assert.match(output, /^model +svc-plus \(alias qwen-plus\)$/m);
  assert.match(output, /^licence +Apache-2\.0/m);
  assert.match(output, /^source +hub Qwen\/Qwen2\.5-Coder-0\.5B-Instruct-GGUF\//m);
  assert.match(output, /^sha256 +abc \(verified: announced\)$/m);
  assert.match(output, /^abilities +tools, logprobs, fillInTheMiddle, thinking \(prompted\)$/m);
  await assert.rejects(run(['show', 'nonsense']), {
    kind: 'not-found',
    message: /No model or weights have the name nonsense\. Available: .*svc-plus/,
  });
});

test('list and show say that weights are damaged, and the command that repairs them', async () => {
  const refusal = 'its content matches no known hash (sha256 abc)';
  const { output } = await run(['show', 'svc-plus'], { refusal });
  assert.match(output, /^file +refused$/m);
  const problem = `/models/${SMALL}.gguf: ${refusal}`;
  assert.match(output, new RegExp(`^problem +${RegExp.escape(problem)}; run: parley models pull ${SMALL}$`, 'm'));
  assert.equal(JSON.parse((await run(['show', 'svc-plus', '--json'], { refusal })).output).weights.problem, problem);
  assert.match((await run(['list'], { refusal })).output, new RegExp(`^${RegExp.escape(SMALL)} .* damaged `, 'm'));
});

test('show prints weights of the catalogue that no model runs', async () => {
  const { output } = await run(['show', 'qwen3-8b']);
  assert.match(output, /^weights +qwen3-8b$/m);
  assert.match(output, /^licence +Apache-2\.0$/m);
  assert.match(output, /^source +hub MaziyarPanahi\/Qwen3-8B-GGUF\/Qwen3-8B\.Q4_K_M\.gguf at main$/m);
  assert.match(output, /^use +parley models add NAME --weights qwen3-8b$/m);
  assert.match(output, /^requests +for qwen3-8b run svc-plus \(an alias\)$/m);
  assert.equal(JSON.parse((await run(['show', SMALL, '--json'])).output).weights.id, SMALL);
});

test('show prints the context that the servers report, and says where it is unknown', async () => {
  assert.match((await run(['show', 'remote'])).output, /^context +unknown: the server does not report it$/m);
  const queryServers = async (entry: ModelEntry) => ({
    entry: { ...entry, contextTokens: 200_000 },
    isContextKnown: true,
    problem: 'one of two is silent',
  });
  const { output } = await run(['show', 'remote'], { queryServers });
  assert.match(output, /^context +200000 tokens$/m);
  assert.match(output, /^problem +one of two is silent$/m);
});

test('show prints how a model writes tool calls', async () => {
  const show = async (toolCalls?: Abilities['toolCalls']) => (await run(['show', 'svc-plus'], { toolCalls })).output;
  assert.match(await show('native'), /^tool calls +in the format of the chat template$/m);
  assert.match(await show('described'), /^tool calls +in a format that Parley describes/m);
  assert.match(await show('unknown'), /^tool calls +may arrive as text: .*tools\(unknown_format\)/m);
  assert.match(await show('unknown'), /^abilities +tools, logprobs, fillInTheMiddle, thinking \(prompted\)$/m);
  assert.doesNotMatch(await show(), /^tool calls/m);
});

test('pull accepts models and weights, downloads each file once and prints the paths', async () => {
  const { output, errors, pulled } = await run(['pull', 'svc-plus', 'svc-turbo', 'smollm2-135m-instruct-q4_1']);
  assert.deepEqual(pulled, [SMALL, 'smollm2-135m-instruct-q4_1']);
  assert.equal(output, `/models/${SMALL}.gguf\n/models/smollm2-135m-instruct-q4_1.gguf\n`);
  assert.match(errors, /licence Apache-2\.0/);
  assert.match(errors, /50 %/);
  await assert.rejects(run(['pull', 'remote']), { message: /remote has no weights: far at http/ });
  await assert.rejects(run(['pull', 'nonsense']), { kind: 'not-found' });
});

test('pull and rm ignore aliases: an unknown name is an error with similar names', async () => {
  assert.equal(catalogue.find('qwen2.5-coder:0.5b')?.name, 'svc-coder-turbo', 'requests resolve the alias');
  for (const command of ['pull', 'rm']) {
    await assert.rejects(run([command, 'qwen2.5-coder:0.5b']), {
      kind: 'not-found',
      message:
        /^No model or weights have the name qwen2\.5-coder:0\.5b\. Similar: .*qwen2\.5-coder-0\.5b-instruct-q4_k_m/,
    });
    await assert.rejects(run([command, 'qwen-turbo']), { kind: 'not-found' });
  }
});

test('pull says how to serve weights that no model runs', async () => {
  const hint = /No model runs qwen3-8b yet\. To serve it: parley models add qwen3-8b --weights qwen3-8b\n/;
  assert.match((await run(['pull', 'qwen3-8b'])).errors, hint);
  assert.doesNotMatch((await run(['pull', 'svc-tiny'])).errors, /No model runs/);
});

test('pull warns about content that the catalogue does not pin, with the hash to pin', async () => {
  const pin = /Pin this content in the configuration: sha256: abc\n/;
  const announced = await run(['pull', SMALL]);
  assert.match(announced.errors, /WARNING: .* is verified with the hash that its source announced/);
  assert.match(announced.errors, pin);
  const unverified = await run(['pull', SMALL, '--trust'], { verified: 'none' });
  assert.deepEqual(unverified.pulled, [`${SMALL} trusted`]);
  assert.match(unverified.errors, /WARNING: .* is NOT VERIFIED: nobody states its hash/);
  assert.match(unverified.errors, pin);
  assert.doesNotMatch((await run(['pull', SMALL], { verified: 'catalogue' })).errors, /WARNING/);
});

test('pull rejects a model without weights', async () => {
  await assert.rejects(run(['pull', 'svc-rerank']), {
    kind: 'invalid-request',
    message: /^svc-rerank has no weights: No reranking model is configured/,
  });
});

test('pull names the engine that the weights need', async () => {
  const hint = /not installed\. Run: parley engines add speech\n$/;
  assert.match((await run(['pull', 'svc-asr'], { hasEngine: false })).errors, hint);
  assert.doesNotMatch((await run(['pull', 'svc-asr'])).errors, hint);
  assert.doesNotMatch((await run(['pull', 'svc-tiny'], { hasEngine: false })).errors, hint);
});

test('rm deletes weights and names the models that need them', async () => {
  const { output, removed } = await run(['rm', 'svc-turbo']);
  assert.deepEqual(removed, [SMALL]);
  assert.match(output, / deleted\nThese models need the weights .*svc-plus/);
  assert.match((await run(['rm', 'svc-tiny'])).output, /is not in the models folder/);
});

test('prune prints what it deletes, or with --dry-run would delete', async () => {
  assert.match((await run(['prune'])).output, /^\/models\/old\.gguf {2}5\.0 kB {2}unnamed\n5\.0 kB freed\n$/);
  assert.match((await run(['prune', '--dry-run'])).output, /would be freed/);
});

test('recommend prints machine, context and configuration lines', async () => {
  const { output } = await run(['recommend']);
  assert.match(output, /16 GB of memory, 8 cores that read 7\.0 GB\/s each; RTX with 26 GB\n/);
  assert.match(output, /Context to be served: 4 sequences of 8192 tokens/);
  assert.match(output, /^qwen3-32b +29 GB +no +/m);
  assert.match(output, /\nweights: \{ default: granite-4.0-h-small \}\nengine: \{ gpu: auto \} #.*\n$/);
  const long = await run(['recommend', '--context-tokens', '40960']);
  const getGigabytes = (text: string): number => Number(/^qwen3-32b +(\d+) GB/m.exec(text)?.[1]);
  assert.ok(getGigabytes(long.output) > getGigabytes(output), 'a longer context needs more memory');
});

test('recommend prints one JSON value with --json', async () => {
  const { machine, context, recommended, weights } = JSON.parse((await run(['recommend', '--json'])).output);
  assert.deepEqual(machine, MACHINE);
  assert.deepEqual(context, { contextTokens: 8_192, sequences: 4 });
  assert.equal(recommended, 'granite-4.0-h-small');
  const [small] = weights.filter(({ id }: { id: string }) => id === SMALL);
  assert.deepEqual(Object.keys(small), ['id', 'licence', 'neededBytes', 'fits', 'device', 'tokensPerSecond', 'tools']);
  assert.equal(small.device, 'gpu');
});

test('add writes the entry and notifies a running server', async () => {
  const hub = 'owner/repo/file.gguf';
  const { added, output } = await run(['add', 'mine', '--hub', hub, '--context-tokens', '4096']);
  assert.deepEqual(added, [['models', 'mine', { hub, contextTokens: 4096 }]]);
  assert.match(output, /mine added; the running server reloads it\n.*parley models pull mine/);
  const pinned = ['--revision', 'a'.repeat(40), '--sha256', 'b'.repeat(64), '--trust'];
  assert.deepEqual((await run(['add', 'mine', '--hub', hub, ...pinned])).added, [
    ['models', 'mine', { hub, revision: 'a'.repeat(40), sha256: 'b'.repeat(64), trust: true }],
  ]);
  const upstream = ['add', 'far', '--url', 'http://h/v1', '--upstream-model', 'm', '--api-key-env', 'FAR_KEY'];
  const other = await run(upstream, { hasServer: false });
  assert.deepEqual(other.added, [['models', 'far', { url: 'http://h/v1', upstreamModel: 'm', apiKeyEnv: 'FAR_KEY' }]]);
  assert.match(other.output, /no server is running/);
});

test('add rejects invalid entries without writing', async () => {
  for (const [args, expectedMessage] of [
    [['add', 'x'], /--weights, --hub, --path or --url/],
    [['add', 'x', '--hub', 'owner'], /models\.x\.hub: must be owner\/repository\/file\.gguf/],
    [['add', 'x', '--hub', 'owner/repo'], /The hub is switched off/],
    [['add', 'x', '--weights', 'nonsense'], /Unknown weights nonsense/],
    [['add', '../x', '--path', 'a.gguf'], /must be letters/],
    [['add', 'x', '--path', 'no-such-file.gguf'], /The file .*no-such-file\.gguf does not exist\./],
    [['add', 'x', '--path', import.meta.dirname], /The file .* does not exist/],
    [['add', 'x', '--path', 'a.gguf', '--trust'], /trust: requires hub/],
    [['add', 'x', '--hub', 'o/r/f.gguf', '--sha256', 'A'], /64 lower-case hexadecimal digits/],
    [['add', 'x', '--path', 'a.gguf', '--api-key-env', 'K'], /requires url/],
    [['add', 'x', '--path', 'a.gguf', '--url', 'http://h'], /cannot be used with/],
    [['add', 'x', '--url', 'http://h/v1', '--context-tokens', 'many'], /must be a positive integer/],
  ] as const) {
    await assert.rejects(run(args), { message: expectedMessage });
  }
});
