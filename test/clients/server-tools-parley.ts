import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import { createFakeEngines } from '../../src/service/__fixtures__/fake-engines.ts';
import { createService } from '../../src/service/service.ts';
import type { Service } from '../../src/service/service.ts';
import { CAPABILITIES } from '../capabilities.ts';
import { fillIndex } from '../fill-index.ts';
import type { Parley } from './harness.ts';
import { openInProcessParley } from './in-process-parley.ts';
import { encodeToolCall } from './engine-script.ts';

const quiet = () => undefined;
const LOG = { info: quiet, warn: quiet, error: quiet };

const PASSAGE = 'Ada Lovelace wrote the first program in 1843.';

const createPage = (
  title: string,
  passage: string,
): string => `<!doctype html><html lang="en"><head><title>${title}</title>
<meta property="og:site_name" content="Example"><meta property="article:published_time" content="2026-04-30"></head>
<body><main><article><h1>${title}</h1><p>${passage}</p></article></main></body></html>`;

const PAGES: Readonly<Record<string, string>> = {
  '/ada': createPage('Ada Lovelace', PASSAGE),
  '/whales': createPage('Whales', 'The blue whale sings below twenty hertz, and is heard from far away.'),
  '/lighthouses': createPage('Lighthouses', 'A lighthouse of stone stands before the harbour of Brenwick since 1874.'),
};

/** Names of the capabilities whose tools this Parley runs. */
export const SERVER_TOOL_CAPABILITIES = ['search index', 'page reader', 'code interpreter'] as const;

export interface ServerToolsParley extends Parley {
  /** The page that a search for the first program finds. */
  readonly ada: { readonly url: string; readonly title: string; readonly passage: string };
  /** Prompts of all model runs, oldest first. */
  readonly prompts: readonly string[];
}

/**
 * Starts a Parley in this process with a real search index, page reader and code interpreter. The index holds pages of
 * a server on this machine. Only the model is fake: it searches when a question asks who did something, reads the page,
 * computes 1 + 1, and gives the same answer each time.
 */
export async function startServerToolsParley(): Promise<ServerToolsParley> {
  const data = await mkdtemp(join(tmpdir(), 'parley-working-'));
  const web = createServer(({ url = '' }, response) => {
    const text = PAGES[url];
    response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' }).end(text);
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  const bound = web.address();
  const site = `http://127.0.0.1:${typeof bound === 'object' && bound ? bound.port : 0}`;
  const env = {
    PARLEY_DATA: data,
    PARLEY_PORT: '0',
    PARLEY_ENGINE_KIND: 'scripted',
    PARLEY_HUB_URL: 'off',
    PARLEY_SEARCH_PAGES_ALLOW: '127.0.0.1',
    PARLEY_CODE_INTERPRETER_WARM: '1',
  };
  const { config } = loadConfig({ env });
  await fillIndex(
    env,
    Object.keys(PAGES).map((path) => `${site}${path}`),
  );
  const { engines, prompts } = createFakeEngines({ contextTokens: 8_192, getDefaultAnswer: answerPrompt });
  const service = await openWithSandbox((level) =>
    createService(
      { ...config, codeInterpreter: { ...config.codeInterpreter, level } },
      { capabilities: CAPABILITIES, engines, log: LOG },
    ),
  );
  const stop = async () => {
    await service.close();
    web.close();
    web.closeAllConnections();
    await rm(data, { recursive: true });
  };
  return {
    ...(await openInProcessParley(service, { data, stop })),
    ada: { url: `${site}/ada`, title: 'Ada Lovelace', passage: PASSAGE },
    prompts,
  };
}

/** Opens the service with the strongest sandbox level that this machine supports. */
async function openWithSandbox(open: (level: 'strict' | 'basic') => Promise<Service>): Promise<Service> {
  const service = await open('strict');
  await service.verifyTools();
  const { tools } = await service.buildReport();
  if (!tools.some(({ tool, state }) => tool === 'code interpreter' && state === 'off')) return service;
  await service.close();
  const basic = await open('basic');
  await basic.verifyTools();
  return basic;
}

const USER_TURN = '<|im_start|>user\n';

/** Returns the tokens of the model's answer to a prompt. */
function answerPrompt(prompt: string): readonly string[] {
  if (prompt.includes('You sort messages'))
    return [
      JSON.stringify(
        prompt.slice(prompt.lastIndexOf(USER_TURN)).includes('Who ')
          ? { message: 'asks for facts', search: 'first program' }
          : { message: 'is talk', search: '' },
      ),
    ];
  if (prompt.includes('say what is next'))
    return [JSON.stringify(prompt.includes('"next":"read"') ? { next: 'read', page: 1 } : { next: 'answer' })];
  const thought = prompt.endsWith('<think>\n') ? ['I work.', '</think>'] : [];
  const isComputed = prompt.slice(prompt.lastIndexOf(USER_TURN)).includes('</tool_response>');
  if (prompt.includes('"name":"code_interpreter"') && !isComputed)
    return [...thought, encodeToolCall('code_interpreter', { code: 'print(1 + 1)' })];
  return [...thought, 'Ada Lovelace wrote', ' the first program in 1843.', ' Enough', ' said.'];
}
