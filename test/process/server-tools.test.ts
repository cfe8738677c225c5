import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { callOf, says } from '../clients/script.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** The bound for what a caller's end ends is 1 s: so many looks, 50 ms apart. */
const GONE_WITHIN_LOOKS = 20;

/** A service is started, its sandbox attacked, and a command or a program run: each has a limit of its own within it. */
const PREPARING = { timeout: 240_000 };

/** So many connections meet both of two workers, but for one time in 2^11. */
const CONNECTIONS = 12;

const PAGE = `<!doctype html><html lang="en"><head><title>Brenwick</title></head>
<body><main><h1>Brenwick</h1><p>The lighthouse of Brenwick is 41 metres tall.</p></main></body></html>`;

/** Serves a page, and a search that never ends. */
interface Web {
  readonly url: string;
  /** Searches that are open. */
  searches(): number;
  close(): void;
}

async function startWeb(): Promise<Web> {
  let searches = 0;
  const server: Server = createServer((request, answer) => {
    if (request.url === '/brenwick') return void answer.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    if (!request.url?.startsWith('/search')) return void answer.writeHead(404).end();
    searches += 1;
    answer.once('close', () => void (searches -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    url: `http://127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`,
    searches: () => searches,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The sorting of a message, with the query that the model writes for it. */
const searchesFor = (query: string) => ({
  when: 'You sort messages',
  say: [JSON.stringify({ message: 'asks for facts', search: query })],
});

const computes = (code: string, ...told: readonly unknown[]) => [
  { when: ' gave: ', say: ['</think>', ...told] },
  { when: 'You can call functions', say: ['</think>', callOf('code_interpreter', { code })] },
];

const NATIVE = '/api/v1/services/aigc/text-generation/generation';

const ask = (parley: Parley, content: string, parameters: object, { isStreamed = false, signal }: Asking = {}) =>
  fetch(`${parley.address}${NATIVE}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${parley.key}`,
      'content-type': 'application/json',
      ...(isStreamed ? { 'x-dashscope-sse': 'enable' } : {}),
      // Each its own connection, so that any worker may get it.
      connection: 'close',
    },
    body: JSON.stringify({
      model: 'svc-plus',
      input: { messages: [{ role: 'user', content }] },
      parameters: { result_format: 'message', ...parameters },
    }),
    ...(signal ? { signal } : {}),
  });

interface Asking {
  readonly isStreamed?: boolean;
  readonly signal?: AbortSignal;
}

const SEARCHING = { enable_search: true, search_options: { enable_source: true, enable_citation: true } };
const COMPUTING = { enable_code_interpreter: true, enable_thinking: true, incremental_output: true };

async function search(parley: Parley, title: string, content: string): Promise<void> {
  const answer = await ask(parley, content, SEARCHING);
  const told: unknown = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(told));
  const { output, usage } = told as {
    readonly output: {
      readonly search_info: { readonly search_results: readonly { readonly title: string; readonly url: string }[] };
      readonly choices: readonly { readonly message: { readonly content: string } }[];
    };
    readonly usage: { readonly plugins: unknown };
  };
  assert.deepEqual(
    output.search_info.search_results.map((result) => [result.title, new URL(result.url).pathname]),
    [[title, '/brenwick']],
  );
  assert.equal(output.choices[0]?.message.content, 'The lighthouse of Brenwick is 41 metres tall [1].');
  assert.deepEqual(usage.plugins, { search: { count: 1, strategy: 'turbo' } });
}

const FOUND = `How tall is it?\n${says(searchesFor('lighthouse of Brenwick'), 'The lighthouse of Brenwick is 41 metres tall [1].')}`;

async function compute(parley: Parley): Promise<void> {
  const asked = says(...computes('print(1234 * 5678)', 'It is 7006652.'));
  const text = await (await ask(parley, asked, COMPUTING, { isStreamed: true })).text();
  assert.match(
    text,
    /"tool_info":\[\{"code_interpreter":\{"code":"print\(1234 \* 5678\)"\},"type":"code_interpreter"\}\]/,
  );
  assert.match(text, /"content":"It is 7006652\."/);
}

/** All processes below one, by what the kernel says. */
function processesBelow(pid: number): readonly number[] {
  const below = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = parentOf(Number(name));
    if (parent !== undefined) below.set(parent, [...(below.get(parent) ?? []), Number(name)]);
  }
  const found: number[] = [];
  for (let next = below.get(pid) ?? []; next.length > 0; next = next.flatMap((each) => below.get(each) ?? []))
    found.push(...next);
  return found;
}

function parentOf(pid: number): number | undefined {
  try {
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return state === 'Z' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

const isAlive = (pid: number): boolean => parentOf(pid) !== undefined;

async function toolsOf(
  parley: Parley,
): Promise<readonly { readonly tool: string; readonly state: string; readonly reason?: string }[]> {
  const ready: unknown = await (await fetch(`${parley.address}/ready`)).json();
  return (ready as { readonly tools: readonly { readonly tool: string; readonly state: string }[] }).tools;
}

/**
 * Asserts that something is gone within a second in which the service's processes run: only looks count at which they all
 * have answered, so that one that the machine lets stand still is not late.
 */
async function assertGoneSoon(parley: Parley, what: string, isGone: () => boolean): Promise<void> {
  let looks = 0;
  await until(what, { withinMs: 60_000 }, async () => {
    const asked = Array.from({ length: CONNECTIONS }, async () => {
      const answer = await fetch(`${parley.address}/health`, { headers: { connection: 'close' } });
      await answer.body?.cancel();
    });
    await Promise.all(asked);
    if (isGone()) return true;
    looks += 1;
    assert.ok(looks <= GONE_WITHIN_LOOKS, `${what}: not within ${looks} looks`);
    return undefined;
  });
}

/** Once it is known whether programs can be contained here. */
const interpreterOf = (parley: Parley) =>
  until('the sandbox was attacked', { withinMs: 90_000 }, async () => {
    const told = (await toolsOf(parley)).find(({ tool }) => tool === 'code interpreter');
    return told?.state === 'unproven' ? undefined : told;
  });

for (const workers of [1, 2])
  describe(`search and programs of a running service with ${workers === 1 ? 'one process' : 'two workers'}`, () => {
    let web: Web;
    let parley: ParleyProcess;
    let offReason: string | undefined;
    before(async () => {
      web = await startWeb();
      parley = await startParley({
        engine: 'scripted',
        sequences: 8,
        config: `search:\n  providers: [{ type: index }, { type: searxng, url: '${web.url}' }]\n`,
        env: {
          PARLEY_WORKERS: `${workers}`,
          PARLEY_SEARCH_PAGES_ALLOW: '127.0.0.1',
          PARLEY_CODE_INTERPRETER_WARM: '0',
        },
      });
      const told = await interpreterOf(parley);
      if (told?.state !== 'on') offReason = told?.reason ?? 'the interpreter is off';
      const env = { ...process.env, PARLEY_SEARCH_PAGES_ALLOW: '127.0.0.1' };
      const args = [
        '--disable-warning=ExperimentalWarning',
        CLI,
        'index',
        'add',
        `${web.url}/brenwick`,
        '--data',
        parley.data,
      ];
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      assert.match(stdout, /^127\.0\.0\.1: 1 added/);
    }, PREPARING);
    after(async () => {
      await parley?.stop();
      web?.close();
    });

    test('are told by /ready and at the start', async () => {
      const tools = await toolsOf(parley);
      assert.deepEqual(
        tools.map(({ tool }) => tool),
        ['web search', 'code interpreter'],
      );
      // Several processes find it out one by one.
      // The log speaks of the interpreter before them.
      const lines = await parley.outputWith(/Tools of models/);
      assert.match(
        lines,
        /Tools of models\n├─ web search +on +index, searxng\n└─ code interpreter +(?:on|off|unproven)/,
      );
    });

    test('an answer rests on what a command has put into the index', async () => {
      await search(parley, 'Brenwick', FOUND);
    });

    test('a program runs, and its result is in the answer', async (context) => {
      if (offReason !== undefined) return context.skip(offReason);
      await compute(parley);
    });

    test('a caller who goes ends the search', async () => {
      const gone = new AbortController();
      const content = `Zebras?\n${says(searchesFor('zebra'), 'None.')}`;
      const answer = ask(parley, content, SEARCHING, { signal: gone.signal }).catch(() => undefined);
      await until('the search has begun', { withinMs: 20_000 }, async () => (web.searches() > 0 ? true : undefined));
      gone.abort();
      await answer;
      await assertGoneSoon(parley, 'nobody searches', () => web.searches() === 0);
    });

    test('a caller who goes ends the program', async (context) => {
      if (offReason !== undefined) return context.skip(offReason);
      const [before, gone] = [new Set(processesBelow(parley.pid)), new AbortController()];
      const running = await startEndless(parley, before, gone.signal);
      gone.abort();
      await assertGoneSoon(parley, 'its processes are gone', () => !running.some(isAlive));
    });
  });

/** A program without an end. @returns its processes. */
async function startEndless(
  parley: Parley,
  before: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const answer = await ask(parley, says(...computes('while True: pass', 'Never.')), COMPUTING, {
    isStreamed: true,
    signal,
  });
  assert.equal(answer.status, 200);
  let text = '';
  const decoder = new TextDecoder();
  const reading = (async () => {
    for await (const bytes of answer.body ?? []) text += decoder.decode(bytes, { stream: true });
  })().catch(() => undefined);
  await until('the program runs', { withinMs: 60_000 }, async () => (text.includes('tool_info') ? true : undefined));
  void reading;
  const running = processesBelow(parley.pid).filter((pid) => !before.has(pid));
  assert.notDeepEqual(running, []);
  return running;
}

describe('a service', () => {
  test('that is stopped leaves no process of a program', PREPARING, (context) => endWhileComputing('SIGTERM', context));
  test('that is killed leaves no process of a program', PREPARING, (context) => endWhileComputing('SIGKILL', context));
});

async function endWhileComputing(signal: 'SIGTERM' | 'SIGKILL', context: TestContext): Promise<void> {
  const parley = await startParley({
    engine: 'scripted',
    env: { PARLEY_CODE_INTERPRETER_WARM: '1', PARLEY_SHUTDOWN_GRACE_MS: '500' },
  });
  const gone = new AbortController();
  let told: Awaited<ReturnType<typeof interpreterOf>>;
  let running: readonly number[] = [];
  try {
    told = await interpreterOf(parley);
    if (told?.state === 'on') await startEndless(parley, new Set(), gone.signal);
    running = processesBelow(parley.pid);
    if (signal === 'SIGKILL') process.kill(parley.pid, 'SIGKILL');
  } finally {
    if (signal === 'SIGTERM') await parley.stop();
    gone.abort();
  }
  try {
    await until('they are gone', { withinMs: 20_000 }, async () => (running.some(isAlive) ? undefined : true));
  } finally {
    // What dies may write its last file there.
    await rm(parley.data, { recursive: true, force: true, maxRetries: 10 });
  }
  if (told?.state !== 'on') context.skip(told?.reason ?? 'the interpreter is off');
}
