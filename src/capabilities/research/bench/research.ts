import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RESEARCH_REPORT_TOKENS } from '../pipeline/limits.ts';
import type { ReportSize } from '../research.ts';
import { checkReport } from '../pipeline/__fixtures__/check-report.ts';
import { createSseParser } from '../../../lib/sse.ts';
import type { SseFrame } from '../../../lib/sse.ts';
import { findPhaseFaults } from '../protocol/__fixtures__/find-phase-faults.ts';
import { joinAnswer, parseReport } from '../test/clients/research-assertions.ts';
import { createCorpus } from '../../../../test/corpus.ts';
import { fillIndex } from '../../../../test/fill-index.ts';
import { requestService, startParleyService, withTemporaryFolder } from '../../../../bench/bench-service.ts';
import type { BenchService } from '../../../../bench/bench-service.ts';

const QUESTIONS: readonly (readonly [question: string, size: ReportSize])[] = [
  ['Plugins, hooks and encapsulation in Fastify', 'detailed'],
  ['Logging with pino and its transports', 'summary'],
  ['Validation and serialization with JSON schema in Fastify', 'summary'],
];

const WRITERS = ['model', 'extractive'] as const;

/** Limit for one step of the research service, in ms. A step that takes longer hangs. */
const STEP_TIMEOUT_MS = 40 * 60_000;

interface TokenCounts {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/**
 * Researches one detailed report and two summaries over more than 200 real documents, through the HTTP interface.
 * Measures time and tokens, once with the model as writer and once with sentences of the sources, and checks every
 * citation against its source. PARLEY_BENCH_QUESTIONS limits the number of questions.
 */
export const measureResearch = (modelsFolder: string, logProgress: (text: string) => void): Promise<string> =>
  withTemporaryFolder(async (folder) => {
    const { documents } = await createCorpus(join(folder, 'packages'));
    const env = {
      PARLEY_DATA: join(folder, 'data'),
      PARLEY_MODELS: modelsFolder,
      PARLEY_ENGINE_THREADS: '1',
      PARLEY_LOG_LEVEL: 'warn',
    };
    logProgress(`indexing ${documents.length} documents`);
    await fillIndex(env, [join(folder, 'packages')]);
    const readSource = ({ url }: { readonly url: string }): Promise<string> =>
      readFile(join(folder, decodeURIComponent(url.replace(/^parley-index:/, ''))), 'utf8');
    const questions = QUESTIONS.slice(0, Number(process.env['PARLEY_BENCH_QUESTIONS'] ?? QUESTIONS.length));
    const lines: string[] = [];
    for (const writer of WRITERS) {
      const service = await startParleyService({ ...env, PARLEY_RESEARCH_WRITER: writer });
      try {
        for (const [question, size] of questions) {
          logProgress(`${writer}: ${question}`);
          lines.push(
            `| ${[question, size, writer, ...(await measureReport(service, question, size, readSource, logProgress))].join(' | ')} |`,
          );
        }
      } finally {
        await service.child.stop();
      }
    }
    return [
      `Deep research over ${documents.length} documents, ${QUERY_NOTE}`,
      '',
      '| question | size | writer | seconds | model input / output tokens | report tokens, bounds | sources | supported citations | other faults |',
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
      ...lines,
    ].join('\n');
  });

const QUERY_NOTE = 'default budgets; model tokens include all calls:';

/** Measures one research and returns the cells of its table row. */
async function measureReport(
  service: BenchService,
  question: string,
  size: ReportSize,
  read: (source: { readonly url: string }) => Promise<string>,
  logProgress: (text: string) => void,
): Promise<readonly string[]> {
  const questionMessage = { role: 'user', content: question };
  const firstFrames = await runStep(service, [questionMessage], size, logProgress);
  const startedAt = performance.now();
  const clarification = { role: 'assistant', content: joinAnswer(firstFrames) };
  const frames = await runStep(
    service,
    [questionMessage, clarification, { role: 'user', content: 'No preference.' }],
    size,
    logProgress,
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const { report, references } = parseReport(frames);
  const faults = await checkReport({ report, references, read });
  const phaseFaults = [...findPhaseFaults(firstFrames, { step: 1 }), ...findPhaseFaults(frames, { step: 2 })];
  const citations = report.match(/\[\[\d+\]\]/g)?.length ?? 0;
  const citationFaults = faults.filter((fault) => /^(?:not borne out|no reference)/.test(fault));
  for (const fault of [...faults, ...phaseFaults]) logProgress(fault);
  const { usage } = JSON.parse(frames.at(-1)?.data ?? '{}') as { readonly usage?: TokenCounts };
  const { min, max } = RESEARCH_REPORT_TOKENS[size];
  return [
    seconds.toFixed(0),
    `${usage?.input_tokens} / ${usage?.output_tokens}`,
    `${await countTokens(service, report)}, ${min} to ${max}`,
    String(references.length),
    `${citations - citationFaults.length} of ${citations}`,
    String(faults.length - citationFaults.length + phaseFaults.length),
  ];
}

/** Sends one step and returns all its frames. Logs the phase whenever it changes. */
async function runStep(
  service: BenchService,
  messages: readonly object[],
  size: ReportSize,
  logProgress: (text: string) => void,
): Promise<readonly SseFrame[]> {
  const { body } = await requestService(service, '/api/v1/services/aigc/text-generation/generation', {
    json: { model: 'svc-deep-research', input: { messages }, output_format: `model_${size}_report` },
    headers: { 'x-dashscope-sse': 'enable' },
    signal: AbortSignal.timeout(STEP_TIMEOUT_MS),
  });
  const parser = createSseParser({ sizeMax: 1024 * 1024 });
  const text = new TextDecoder();
  const frames: SseFrame[] = [];
  let phase = '';
  for await (const piece of body ?? [])
    for (const frame of parser.push(text.decode(piece, { stream: true }))) {
      frames.push(frame);
      const currentPhase = /"phase":"(\w+)"/.exec(frame.data)?.[1] ?? '';
      if (currentPhase !== phase && currentPhase !== 'KeepAlive') logProgress(currentPhase);
      if (currentPhase !== 'KeepAlive') phase = currentPhase;
    }
  return frames;
}

async function countTokens(service: BenchService, text: string): Promise<number> {
  const json = { model: 'svc-plus', input: { prompt: text }, parameters: {} };
  const response = await requestService(service, '/api/v1/tokenizer', { json });
  return ((await response.json()) as { readonly usage: TokenCounts }).usage.input_tokens;
}
