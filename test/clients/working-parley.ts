import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import { playedEngines } from '../../src/service/__fixtures__/played-engines.ts';
import { createService } from '../../src/service/service.ts';
import type { Service } from '../../src/service/service.ts';
import { fillIndex } from '../fill-index.ts';
import type { Parley } from './harness.ts';
import { parleyHere } from './parley-here.ts';
import { callOf } from './script.ts';

const quiet = () => undefined;
const LOG = { info: quiet, warn: quiet, error: quiet };

const PASSAGE = 'Ada Lovelace wrote the first program in 1843.';

const page = (title: string, passage: string): string => `<!doctype html><html lang="en"><head><title>${title}</title>
<meta property="og:site_name" content="Example"><meta property="article:published_time" content="2026-04-30"></head>
<body><main><article><h1>${title}</h1><p>${passage}</p></article></main></body></html>`;

const PAGES: Readonly<Record<string, string>> = {
  '/ada': page('Ada Lovelace', PASSAGE),
  '/whales': page('Whales', 'The blue whale sings below twenty hertz, and is heard from far away.'),
  '/lighthouses': page('Lighthouses', 'A lighthouse of stone stands before the harbour of Brenwick since 1874.'),
};

export interface WorkingParley extends Parley {
  /** What a search for the first program finds. */
  readonly ada: { readonly url: string; readonly title: string; readonly passage: string };
  /** What the model was given to read, run by run. */
  readonly prompts: readonly string[];
}

/**
 * A Parley in this process that really searches, reads and computes: its index holds pages of a server of this machine, its
 * interpreter is the one that is served. Only the model is played: it searches for who did something, reads what was found,
 * computes 1 + 1, and always answers alike.
 */
export async function startWorkingParley(): Promise<WorkingParley> {
  const data = await mkdtemp(join(tmpdir(), 'parley-working-'));
  const web = createServer(({ url = '' }, answer) => {
    const text = PAGES[url];
    answer.writeHead(text === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' }).end(text);
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
    config,
    Object.keys(PAGES).map((path) => `${site}${path}`),
  );
  const { engines, prompts } = playedEngines({ contextTokens: 8_192, otherwise: said });
  const service = await withInterpreter((level) =>
    createService({ ...config, codeInterpreter: { ...config.codeInterpreter, level } }, { engines, log: LOG }),
  );
  const stop = async () => {
    await service.close();
    web.close();
    web.closeAllConnections();
    await rm(data, { recursive: true });
  };
  return {
    ...(await parleyHere(service, { data, stop })),
    ada: { url: `${site}/ada`, title: 'Ada Lovelace', passage: PASSAGE },
    prompts,
  };
}

/** At the level that this machine can hold. */
async function withInterpreter(open: (level: 'strict' | 'basic') => Promise<Service>): Promise<Service> {
  const service = await open('strict');
  await service.prepareTools();
  const { tools } = await service.report();
  if (!tools.some(({ tool, state }) => tool === 'code interpreter' && state === 'off')) return service;
  await service.close();
  const basic = await open('basic');
  await basic.prepareTools();
  return basic;
}

const QUESTIONER = '<|im_start|>user\n';

/** What the model says in a run, told by its prompt. */
function said(prompt: string): readonly string[] {
  if (prompt.includes('You sort messages'))
    return [
      JSON.stringify(
        prompt.slice(prompt.lastIndexOf(QUESTIONER)).includes('Who ')
          ? { message: 'asks for facts', search: 'first program' }
          : { message: 'is talk', search: '' },
      ),
    ];
  if (prompt.includes('say what is next'))
    return [JSON.stringify(prompt.includes('"next":"read"') ? { next: 'read', page: 1 } : { next: 'answer' })];
  const thought = prompt.endsWith('<think>\n') ? ['I work.', '</think>'] : [];
  const isComputed = prompt.slice(prompt.lastIndexOf(QUESTIONER)).includes('</tool_response>');
  if (prompt.includes('"name":"code_interpreter"') && !isComputed)
    return [...thought, callOf('code_interpreter', { code: 'print(1 + 1)' })];
  return [...thought, 'Ada Lovelace wrote', ' the first program in 1843.', ' Enough', ' said.'];
}
