import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { RESEARCH_REPORT_TOKENS } from '../../src/core/limits.ts';
import { checkReport } from '../../src/generation/research/__fixtures__/check-report.ts';
import { createSseParser } from '../../src/lib/sse.ts';
import type { SseFrame } from '../../src/lib/sse.ts';
import { checkPhases } from '../../src/protocols/native/research/__fixtures__/check-phases.ts';
import { playedEngines } from '../../src/service/__fixtures__/played-engines.ts';
import { openSearchIndex } from '../../src/service/open-search-index.ts';
import { createService } from '../../src/service/service.ts';
import type { Service } from '../../src/service/service.ts';
import { makeCorpus } from '../corpus.ts';

/** What the corpus says enough of, and how long the report is to be. */
const QUESTIONS = [
  ['Plugins and encapsulation in Fastify', 'model_detailed_report'],
  ['Hooks and the request lifecycle in Fastify', 'model_detailed_report'],
  ['Validation and serialization with JSON schema in Fastify', 'model_summary_report'],
  ['Logging with pino and its transports', 'model_summary_report'],
  ['Routing of HTTP requests with find-my-way', 'model_summary_report'],
  ['Child loggers and log levels in pino', 'model_summary_report'],
  ['Content type parsers and request bodies in Fastify', 'model_summary_report'],
  ['Error handling in Fastify', 'model_summary_report'],
  ['TypeScript types in Fastify', 'model_summary_report'],
  ['Parsing command line options with commander', 'model_summary_report'],
] as const;

interface Body {
  readonly output: {
    readonly message: { readonly phase: string; readonly content: string; readonly extra: { deep_research: Found } };
  };
}

interface Found {
  readonly references?: readonly {
    index_number: number;
    title: string;
    description: string;
    url: string;
    icon: string;
  }[];
}

const quiet = () => undefined;
const LOG = { info: quiet, warn: quiet, error: quiet };

describe('deep research over two hundred real documents, in the words of its sources', () => {
  let folder = '';
  let service: Service;
  let address = '';
  let key = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-researched-'));
    const { documents } = await makeCorpus(join(folder, 'packages'));
    assert.ok(documents.length >= 200);
    const env = {
      PARLEY_DATA: join(folder, 'data'),
      PARLEY_PORT: '0',
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_HUB_URL: 'off',
      PARLEY_RESEARCH_WRITER: 'extractive',
      // Its tokens are words, so that a report takes more of them.
      PARLEY_RESEARCH_QUERIES: '30',
      PARLEY_RESEARCH_PAGES: '80',
    };
    const { config } = loadConfig({ env });
    // The model has no plan: what is looked for comes out of the question.
    const { engines } = playedEngines({ contextTokens: 8_192, otherwise: () => ['What of it matters most?'] });
    service = await createService(config, { engines, log: LOG });
    const index = await openSearchIndex(config, { environment: {}, log: LOG });
    await index.operator.add({ sources: [join(folder, 'packages')] }, { signal: AbortSignal.timeout(120_000) });
    await index.close();
    address = (await service.listen())[0]?.url ?? '';
    const draft = { region: 'cn-beijing', workspace: 'primary', name: '', expiresAt: undefined } as const;
    key = (await service.keys.create(draft)).secret;
  });
  after(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  const ask = async (messages: readonly object[], outputFormat: string): Promise<readonly SseFrame[]> => {
    const answer = await fetch(`${address}/api/v1/services/aigc/text-generation/generation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-dashscope-sse': 'enable' },
      body: JSON.stringify({ model: 'qwen-deep-research', input: { messages }, output_format: outputFormat }),
    });
    assert.equal(answer.status, 200);
    const parser = createSseParser({ sizeMax: 1024 * 1024 });
    return parser.push(await answer.text());
  };
  const bodiesOf = (frames: readonly SseFrame[]) => frames.map(({ data }) => JSON.parse(data) as Body);
  const textOf = (bodies: readonly Body[]): string =>
    bodies
      .filter(({ output }) => output.message.phase === 'answer')
      .map(({ output }) => output.message.content)
      .join('');
  const read = async ({ url }: { readonly url: string }): Promise<string> =>
    await readFile(join(folder, decodeURIComponent(url.replace(/^parley-index:/, ''))), 'utf8');

  for (const [question, outputFormat] of QUESTIONS)
    it(`has ${outputFormat === 'model_detailed_report' ? 'a detailed report' : 'a summary'} of: ${question}`, async () => {
      const asked = { role: 'user', content: question };
      const first = await ask([asked], outputFormat);
      assert.deepEqual(checkPhases(first, { step: 1 }), []);
      const back = { role: 'assistant', content: textOf(bodiesOf(first)) };
      const frames = await ask([asked, back, { role: 'user', content: 'All of it.' }], outputFormat);
      assert.deepEqual(checkPhases(frames, { step: 2 }), []);
      const bodies = bodiesOf(frames);
      const report = textOf(bodies);
      const references = bodies
        .flatMap(({ output }) => {
          const told = output.message.extra.deep_research.references;
          return told ? [told] : [];
        })
        .at(-1);
      assert.ok(references);
      const named = references.map(({ index_number: index, ...reference }) => ({ index, ...reference }));
      assert.deepEqual(await checkReport({ report, references: named, read }), []);
      const tokens = report.match(/\S+/g)?.length ?? 0;
      const size = RESEARCH_REPORT_TOKENS[outputFormat === 'model_detailed_report' ? 'detailed' : 'summary'];
      assert.ok(tokens >= size.min && tokens <= size.max, `${tokens} tokens`);
    });
});
