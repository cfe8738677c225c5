import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../src/config/load-config.ts';
import { RESEARCH_REPORT_TOKENS } from '../src/core/limits.ts';
import type { ReportSize } from '../src/core/research.ts';
import { checkReport } from '../src/generation/research/__fixtures__/check-report.ts';
import { createSseParser } from '../src/lib/sse.ts';
import type { SseFrame } from '../src/lib/sse.ts';
import { checkPhases } from '../src/protocols/native/research/__fixtures__/check-phases.ts';
import { answerIn, reportIn } from '../test/clients/researched.ts';
import { makeCorpus } from '../test/corpus.ts';
import { fillIndex } from '../test/fill-index.ts';
import { startChild } from './child.ts';

const QUESTIONS: readonly (readonly [question: string, size: ReportSize])[] = [
  ['Plugins, hooks and encapsulation in Fastify', 'detailed'],
  ['Logging with pino and its transports', 'summary'],
  ['Validation and serialization with JSON schema in Fastify', 'summary'],
];

const WRITERS = ['model', 'extractive'] as const;

/** A question of the service that lasts longer than this has hung. */
const PATIENCE_MS = 40 * 60_000;

interface Service {
  readonly url: string;
  readonly key: string;
}

interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/**
 * One detailed report and two summaries over more than 200 real documents, from the socket on: what they take in time and
 * tokens, with the model as writer and with the sentences of the sources, and whether every citation holds when its source is
 * read again. PARLEY_BENCH_QUESTIONS takes fewer of them.
 */
export async function research(modelsFolder: string, note: (text: string) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  try {
    const { documents } = await makeCorpus(join(folder, 'packages'));
    const env = {
      PARLEY_DATA: join(folder, 'data'),
      PARLEY_PORT: '0',
      PARLEY_MODELS: modelsFolder,
      PARLEY_ENGINE_THREADS: '1',
      PARLEY_LOG_LEVEL: 'warn',
    };
    note(`${documents.length} documents are put into the index`);
    await fillIndex(loadConfig({ env }).config, [join(folder, 'packages')]);
    const read = ({ url }: { readonly url: string }): Promise<string> =>
      readFile(join(folder, decodeURIComponent(url.replace(/^parley-index:/, ''))), 'utf8');
    const questions = QUESTIONS.slice(0, Number(process.env['PARLEY_BENCH_QUESTIONS'] ?? QUESTIONS.length));
    const lines: string[] = [];
    for (const writer of WRITERS) {
      const child = await startChild('./peers/parley-server.ts', { ...env, PARLEY_RESEARCH_WRITER: writer });
      try {
        const service = await child.ask<Service>('address');
        for (const [question, size] of questions) {
          note(`${writer}: ${question}`);
          lines.push(
            `| ${[question, size, writer, ...(await researched(service, question, size, read, note))].join(' | ')} |`,
          );
        }
      } finally {
        await child.stop();
      }
    }
    return [
      `Deep research over ${documents.length} documents, ${QUERY_NOTE}`,
      '',
      '| question | size | writer | seconds | model read / wrote | report, bounds (tokens) | sources | citations that hold | other faults |',
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
      ...lines,
    ].join('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const QUERY_NOTE = 'default budgets; tokens are of the model, all its calls counted:';

/** What one research took, cell by cell. */
async function researched(
  service: Service,
  question: string,
  size: ReportSize,
  read: (source: { readonly url: string }) => Promise<string>,
  note: (text: string) => void,
): Promise<readonly string[]> {
  const asked = { role: 'user', content: question };
  const first = await ask(service, [asked], size, note);
  const startedAt = performance.now();
  const back = { role: 'assistant', content: answerIn(first) };
  const frames = await ask(service, [asked, back, { role: 'user', content: 'No preference.' }], size, note);
  const seconds = (performance.now() - startedAt) / 1000;
  const { report, references } = reportIn(frames);
  const faults = await checkReport({ report, references, read });
  const others = [...checkPhases(first, { step: 1 }), ...checkPhases(frames, { step: 2 })];
  const citations = report.match(/\[\[\d+\]\]/g)?.length ?? 0;
  const refuted = faults.filter((fault) => /^(?:not borne out|no reference)/.test(fault));
  for (const fault of [...faults, ...others]) note(fault);
  const { usage } = JSON.parse(frames.at(-1)?.data ?? '{}') as { readonly usage?: Usage };
  const { min, max } = RESEARCH_REPORT_TOKENS[size];
  return [
    seconds.toFixed(0),
    `${usage?.input_tokens} / ${usage?.output_tokens}`,
    `${await tokensOf(service, report)}, ${min} to ${max}`,
    String(references.length),
    `${citations - refuted.length} of ${citations}`,
    String(faults.length - refuted.length + others.length),
  ];
}

/** All frames of one step; what it is about is noted as it changes. */
async function ask(
  { url, key }: Service,
  messages: readonly object[],
  size: ReportSize,
  note: (text: string) => void,
): Promise<readonly SseFrame[]> {
  const answer = await fetch(`${url}/api/v1/services/aigc/text-generation/generation`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-dashscope-sse': 'enable' },
    body: JSON.stringify({
      model: 'svc-deep-research',
      input: { messages },
      output_format: `model_${size}_report`,
    }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (!answer.ok || !answer.body) throw new Error(`${answer.status} ${await answer.text()}`);
  const parser = createSseParser({ sizeMax: 1024 * 1024 });
  const text = new TextDecoder();
  const frames: SseFrame[] = [];
  let phase = '';
  for await (const piece of answer.body)
    for (const frame of parser.push(text.decode(piece, { stream: true }))) {
      frames.push(frame);
      const now = /"phase":"(\w+)"/.exec(frame.data)?.[1] ?? '';
      if (now !== phase && now !== 'KeepAlive') note(now);
      if (now !== 'KeepAlive') phase = now;
    }
  return frames;
}

async function tokensOf({ url, key }: Service, text: string): Promise<number> {
  const answer = await fetch(`${url}/api/v1/tokenizer`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-plus', input: { prompt: text }, parameters: {} }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { readonly usage: Usage }).usage.input_tokens;
}
