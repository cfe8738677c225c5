import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { RESEARCH_REPORT_TOKENS } from '../../src/core/limits.ts';
import { createSseParser } from '../../src/lib/sse.ts';
import type { SseFrame } from '../../src/lib/sse.ts';
import { type CorpusParley, startCorpusParley } from '../clients/corpus-parley.ts';
import { answerIn, assertAsksBack, assertResearched } from '../clients/researched.ts';

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

describe('deep research over two hundred real documents, in the words of its sources', () => {
  let parley: CorpusParley;
  before(async () => {
    parley = await startCorpusParley();
  });
  after(() => parley.stop());

  const ask = async (messages: readonly object[], outputFormat: string): Promise<readonly SseFrame[]> => {
    const { address, key } = parley;
    const answer = await fetch(`${address}/api/v1/services/aigc/text-generation/generation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-dashscope-sse': 'enable' },
      body: JSON.stringify({ model: 'qwen-deep-research', input: { messages }, output_format: outputFormat }),
    });
    assert.equal(answer.status, 200);
    const parser = createSseParser({ sizeMax: 1024 * 1024 });
    return parser.push(await answer.text());
  };

  for (const [question, outputFormat] of QUESTIONS)
    it(`has ${outputFormat === 'model_detailed_report' ? 'a detailed report' : 'a summary'} of: ${question}`, async () => {
      const asked = { role: 'user', content: question };
      const first = await ask([asked], outputFormat);
      assertAsksBack(first);
      const back = { role: 'assistant', content: answerIn(first) };
      const frames = await ask([asked, back, { role: 'user', content: 'All of it.' }], outputFormat);
      const report = await assertResearched(frames, parley.read);
      const tokens = report.match(/\S+/g)?.length ?? 0;
      const size = RESEARCH_REPORT_TOKENS[outputFormat === 'model_detailed_report' ? 'detailed' : 'summary'];
      assert.ok(tokens >= size.min && tokens <= size.max, `${tokens} tokens`);
    });
});
