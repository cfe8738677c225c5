import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import type { GenerationEvent } from '../../src/core/event.ts';
import type { GenerationRequest } from '../../src/core/request.ts';
import type { ServerCall, ServerCallResult, Source } from '../../src/core/server-tools.ts';
import type { Generate } from '../../src/generation/generation.ts';
import { createService } from '../../src/service/service.ts';
import type { Parley } from './harness.ts';

/** What every search of such a Parley finds. */
export const ADA: Source = {
  index: 1,
  title: 'Ada Lovelace',
  url: 'https://a.example/ada',
  siteName: 'Example',
  icon: '',
  publishedAt: Date.UTC(2026, 3, 30),
  passage: 'Ada Lovelace wrote the first program in 1843.',
};

const SENTENCE = 'Ada Lovelace wrote it.';

/** What was asked of it, in the words of generation, besides the answer. */
export interface WorkingParley extends Parley {
  readonly asked: readonly GenerationRequest[];
}

/**
 * A Parley in this process whose scripted model uses every tool on our side that a request allows, once and always alike: a
 * search, a page, a program. Requests that allow none play their scripts.
 */
export async function startWorkingParley(): Promise<WorkingParley> {
  const data = await mkdtemp(join(tmpdir(), 'parley-working-'));
  const quiet = () => undefined;
  const env = {
    PARLEY_DATA: data,
    PARLEY_PORT: '0',
    PARLEY_ENGINE_KIND: 'scripted',
    PARLEY_ENGINE_SEQUENCES: '4',
    PARLEY_HUB_URL: 'off',
  };
  const asked: GenerationRequest[] = [];
  const service = await createService(loadConfig({ env }).config, {
    log: { info: quiet, warn: quiet, error: quiet },
    aroundGenerate: (inner) => working(inner, asked),
  });
  const [bound] = await service.listen();
  const address = bound?.url ?? '';
  return {
    asked,
    address,
    baseUrl: `${address}/compatible-mode/v1`,
    key: (await service.firstKey())?.secret ?? '',
    data,
    pid: process.pid,
    output: () => '',
    async stop() {
      await service.close();
      await rm(data, { recursive: true });
    },
  };
}

const working =
  (inner: Generate, asked: GenerationRequest[]): Generate =>
  (request, on, context) => {
    if (!request.serverTools) return inner(request, on, context);
    asked.push(request);
    const events = eventsOf(request);
    async function* batches(): AsyncGenerator<readonly GenerationEvent[]> {
      // One by one, so that a stream has as many events as there are.
      for (const event of events) yield [event];
    }
    return Promise.resolve({ batches: batches(), ignored: [] });
  };

function eventsOf({ serverTools: { search, pages, code } = {}, thinking }: GenerationRequest): GenerationEvent[] {
  const events: GenerationEvent[] = [{ type: 'start', inputTokens: 20, cachedTokens: 0 }];
  let index = 0;
  const say = (type: 'text' | 'reasoning', ...deltas: readonly Partial<Delta>[]): void => {
    const at = { choice: 0, index: index++ };
    events.push({ type: 'block-start', ...at, block: { type } });
    for (const delta of deltas) events.push({ type: 'block-delta', ...at, text: '', tokens: 1, ...delta });
    events.push({ type: 'block-end', ...at });
  };
  const work = (call: ServerCall, result: ServerCallResult): void => {
    const at = { choice: 0, index: index++, id: `call_${index}` };
    events.push({ type: 'server-call', ...at, call }, { type: 'server-result', ...at, result });
  };

  if (thinking) say('reasoning', { text: 'I work.' });
  if (search) work({ type: 'search', query: 'first program' }, { type: 'search', sources: [ADA], findings: [] });
  if (pages) work({ type: 'page', url: ADA.url, goal: 'Who it was' }, { type: 'page', source: ADA });
  if (code)
    work(
      { type: 'code', code: 'print(2)', containerId: 'cntr_1' },
      { type: 'code', output: { stdout: '2\n', stderr: '', files: [], isCut: false } },
    );
  const end = Array.from(SENTENCE).length;
  const cited = search?.citations === 'attached' && { citations: [{ source: ADA, cited: ADA.passage, start: 0, end }] };
  const mark = search?.citations === 'number' ? '[1]' : '';
  say('text', { text: 'Ada Lovelace wrote' }, { text: ` it.${mark} Enough`, ...cited }, { text: ' said.' });
  const uses = { searches: search ? 1 : 0, pages: pages ? 1 : 0, programs: code ? 1 : 0 };
  events.push(
    { type: 'choice-end', choice: 0, reason: 'stop' },
    {
      type: 'end',
      usage: {
        promptTokens: 60,
        cachedTokens: 0,
        completionTokens: 12,
        ...(thinking ? { reasoningTokens: 2 } : {}),
        serverTools: search ? { ...uses, strategy: search.strategy } : uses,
      },
    },
  );
  return events;
}

type Delta = Extract<GenerationEvent, { readonly type: 'block-delta' }>;
