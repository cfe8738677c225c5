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
import { getCapabilitySkipReason } from '../capabilities.ts';
import { startParley } from '../clients/harness.ts';
import type { Parley, ParleyProcess } from '../clients/harness.ts';
import { encodeScript } from '../clients/engine-script.ts';
import { until } from '../until.ts';

const skip = getCapabilitySkipReason('search index', 'page reader', 'code interpreter');

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** Number of 50 ms polls within which searches and programs of a disconnected caller must end: 1 s together. */
const POLLS_MAX = 20;

/** Timeout in ms for starting a service, verifying its sandbox, and running a command or program. */
const SETUP_OPTIONS = { timeout: 240_000 };

/** Number of connections. The chance that one of two workers gets none of them is 1 in 2^11. */
const CONNECTIONS = 12;

const PAGE = `<!doctype html><html lang="en"><head><title>Brenwick</title></head>
<body><main><h1>Brenwick</h1><p>The lighthouse of Brenwick is 41 metres tall.</p></main></body></html>`;

/** A web server with one page, and a search that never responds. */
interface FakeWeb {
  readonly url: string;
  /** Returns the number of open searches. */
  countOpenSearches(): number;
  close(): void;
}

async function startFakeWeb(): Promise<FakeWeb> {
  let openSearches = 0;
  const server: Server = createServer((request, response) => {
    if (request.url === '/brenwick') return void response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    if (!request.url?.startsWith('/search')) return void response.writeHead(404).end();
    openSearches += 1;
    response.once('close', () => void (openSearches -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    countOpenSearches: () => openSearches,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Creates the script step that classifies the message and writes the search query. */
const createSearchStep = (query: string) => ({
  when: 'You sort messages',
  say: [JSON.stringify({ message: 'asks for facts', search: query })],
});

const createCodePrompt = (code: string, ...answer: readonly unknown[]): string =>
  `Compute:\n${encodeScript(
    { when: 'This program was run', say: answer },
    { when: 'Compute this with a short Python script', say: [`${code}\n\`\`\``] },
    { when: 'You sort messages', say: [JSON.stringify({ message: 'needs computing' })] },
  )}`;

const NATIVE_PATH = '/api/v1/services/aigc/text-generation/generation';

const sendRequest = (
  parley: Parley,
  content: string,
  parameters: object,
  { isStreamed = false, signal }: RequestOptions = {},
) =>
  fetch(`${parley.address}${NATIVE_PATH}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${parley.key}`,
      'content-type': 'application/json',
      ...(isStreamed ? { 'x-dashscope-sse': 'enable' } : {}),
      // A new connection, so that any worker may receive the request.
      connection: 'close',
    },
    body: JSON.stringify({
      model: 'svc-plus',
      input: { messages: [{ role: 'user', content }] },
      parameters: { result_format: 'message', ...parameters },
    }),
    ...(signal ? { signal } : {}),
  });

interface RequestOptions {
  readonly isStreamed?: boolean;
  readonly signal?: AbortSignal;
}

const SEARCH_PARAMETERS = { enable_search: true, search_options: { enable_source: true, enable_citation: true } };
const CODE_PARAMETERS = { enable_code_interpreter: true, enable_thinking: true, incremental_output: true };

async function assertSearchWorks(parley: Parley, title: string, content: string): Promise<void> {
  const response = await sendRequest(parley, content, SEARCH_PARAMETERS);
  const body: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(body));
  const { output, usage } = body as {
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

const SEARCH_PROMPT = `How tall is it?\n${encodeScript(createSearchStep('lighthouse of Brenwick'), 'The lighthouse of Brenwick is 41 metres tall [1].')}`;

async function assertProgramWorks(parley: Parley): Promise<void> {
  const prompt = createCodePrompt('print(1234 * 5678)', 'It is 7006652.');
  const text = await (await sendRequest(parley, prompt, CODE_PARAMETERS, { isStreamed: true })).text();
  assert.match(
    text,
    /"tool_info":\[\{"code_interpreter":\{"code":"print\(1234 \* 5678\)"\},"type":"code_interpreter"\}\]/,
  );
  assert.match(text, /"content":"It is 7006652\."/);
}

/** Lists all live descendants of a process from /proc. */
function listDescendants(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = getParent(Number(name));
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const descendants: number[] = [];
  for (
    let generation = children.get(pid) ?? [];
    generation.length > 0;
    generation = generation.flatMap((each) => children.get(each) ?? [])
  )
    descendants.push(...generation);
  return descendants;
}

function getParent(pid: number): number | undefined {
  try {
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return state === 'Z' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

const isAlive = (pid: number): boolean => getParent(pid) !== undefined;

async function getTools(
  parley: Parley,
): Promise<readonly { readonly tool: string; readonly state: string; readonly reason?: string }[]> {
  const report: unknown = await (await fetch(`${parley.address}/ready`)).json();
  return (report as { readonly tools: readonly { readonly tool: string; readonly state: string }[] }).tools;
}

/**
 * Asserts that a condition becomes true within one second in which the processes of the service run. Counts only polls
 * at which all processes have answered, so that a machine that stalls does not fail the test.
 */
async function assertSoon(parley: Parley, description: string, isTrue: () => boolean): Promise<void> {
  let polls = 0;
  await until(description, { timeoutMs: 60_000 }, async () => {
    const healthChecks = Array.from({ length: CONNECTIONS }, async () => {
      const response = await fetch(`${parley.address}/health`, { headers: { connection: 'close' } });
      await response.body?.cancel();
    });
    await Promise.all(healthChecks);
    if (isTrue()) return true;
    polls += 1;
    assert.ok(polls <= POLLS_MAX, `${description}: not within ${polls} polls`);
    return undefined;
  });
}

/** Waits until the sandbox is verified, and returns the state of the code interpreter. */
const waitForInterpreter = (parley: Parley) =>
  until('the sandbox is verified', { timeoutMs: 90_000 }, async () => {
    const interpreter = (await getTools(parley)).find(({ tool }) => tool === 'code interpreter');
    return interpreter?.state === 'unproven' ? undefined : interpreter;
  });

for (const workers of [1, 2])
  describe(`server tools of a service with ${workers === 1 ? 'one process' : 'two workers'}`, { skip }, () => {
    let web: FakeWeb;
    let parley: ParleyProcess;
    let offReason: string | undefined;
    before(async () => {
      web = await startFakeWeb();
      parley = await startParley({
        engine: 'scripted',
        sequences: 8,
        withCodeInterpreter: true,
        config: `search:\n  providers: [{ type: index }, { type: searxng, url: '${web.url}' }]\n`,
        env: {
          PARLEY_WORKERS: `${workers}`,
          PARLEY_SEARCH_PAGES_ALLOW: '127.0.0.1',
          PARLEY_CODE_INTERPRETER_WARM: '0',
        },
      });
      const interpreter = await waitForInterpreter(parley);
      if (interpreter?.state !== 'on') offReason = interpreter?.reason ?? 'the interpreter is off';
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
    }, SETUP_OPTIONS);
    after(async () => {
      await parley?.stop();
      web?.close();
    });

    test('are listed by /ready and at the start', async () => {
      const tools = await getTools(parley);
      assert.deepEqual(
        tools.map(({ tool }) => tool),
        ['web search', 'code interpreter'],
      );
      // Each process verifies its sandbox by itself, so several log lines may precede this one.
      const lines = await parley.waitForOutput(/Model tools/);
      assert.match(lines, /Model tools\n├─ web search +on +index, searxng\n└─ code interpreter +(?:on|off|unproven)/);
    });

    test('answer from a page that a command added to the index', async () => {
      await assertSearchWorks(parley, 'Brenwick', SEARCH_PROMPT);
    });

    test('run a program, and use its result in the answer', async (context) => {
      if (offReason !== undefined) return context.skip(offReason);
      await assertProgramWorks(parley);
    });

    test('abort the search of a caller that disconnects', async () => {
      const caller = new AbortController();
      const content = `Zebras?\n${encodeScript(createSearchStep('zebra'), 'None.')}`;
      const response = sendRequest(parley, content, SEARCH_PARAMETERS, { signal: caller.signal }).catch(
        () => undefined,
      );
      await until('the search has started', { timeoutMs: 20_000 }, async () =>
        web.countOpenSearches() > 0 ? true : undefined,
      );
      caller.abort();
      await response;
      await assertSoon(parley, 'the search is aborted', () => web.countOpenSearches() === 0);
    });

    test('kill the program of a caller that disconnects', async (context) => {
      if (offReason !== undefined) return context.skip(offReason);
      const [processesBefore, caller] = [new Set(listDescendants(parley.pid)), new AbortController()];
      const processes = await startEndlessProgram(parley, processesBefore, caller.signal);
      caller.abort();
      await assertSoon(parley, 'its processes have exited', () => !processes.some(isAlive));
    });
  });

/** Starts an endless program. @returns its processes. */
async function startEndlessProgram(
  parley: Parley,
  processesBefore: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const response = await sendRequest(parley, createCodePrompt('while True: pass', 'Never.'), CODE_PARAMETERS, {
    isStreamed: true,
    signal,
  });
  assert.equal(response.status, 200);
  let text = '';
  const decoder = new TextDecoder();
  const reading = (async () => {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
  })().catch(() => undefined);
  await until('the program runs', { timeoutMs: 60_000 }, async () => (text.includes('tool_info') ? true : undefined));
  void reading;
  const processes = listDescendants(parley.pid).filter((pid) => !processesBefore.has(pid));
  assert.notDeepEqual(processes, []);
  return processes;
}

describe('service with a running program', { skip }, () => {
  test('leaves no process of the program when it is stopped', SETUP_OPTIONS, (context) =>
    assertNoProcessLeft('SIGTERM', context),
  );
  test('leaves no process of the program when it is killed', SETUP_OPTIONS, (context) =>
    assertNoProcessLeft('SIGKILL', context),
  );
});

async function assertNoProcessLeft(signal: 'SIGTERM' | 'SIGKILL', context: TestContext): Promise<void> {
  const parley = await startParley({
    engine: 'scripted',
    withCodeInterpreter: true,
    env: { PARLEY_CODE_INTERPRETER_WARM: '1', PARLEY_SHUTDOWN_GRACE_MS: '500' },
  });
  const caller = new AbortController();
  let interpreter: Awaited<ReturnType<typeof waitForInterpreter>>;
  let processes: readonly number[] = [];
  try {
    interpreter = await waitForInterpreter(parley);
    if (interpreter?.state === 'on') await startEndlessProgram(parley, new Set(), caller.signal);
    processes = listDescendants(parley.pid);
    if (signal === 'SIGKILL') process.kill(parley.pid, 'SIGKILL');
  } finally {
    if (signal === 'SIGTERM') await parley.stop();
    caller.abort();
  }
  try {
    await until('all processes have exited', { timeoutMs: 20_000 }, async () =>
      processes.some(isAlive) ? undefined : true,
    );
  } finally {
    // A dying process may still be writing its last file.
    await rm(parley.data, { recursive: true, force: true, maxRetries: 10 });
  }
  if (interpreter?.state !== 'on') context.skip(interpreter?.reason ?? 'the interpreter is off');
}
