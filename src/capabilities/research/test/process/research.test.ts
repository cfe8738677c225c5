import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { RESEARCH_REPORT_TOKENS } from '../../pipeline/limits.ts';
import { createSseParser } from '../../../../lib/sse.ts';
import type { SseFrame } from '../../../../lib/sse.ts';
import { type CorpusParley, startCorpusParley } from '../clients/corpus-parley.ts';
import { joinAnswer, assertClarifyingQuestion, assertSupportedReport } from '../clients/research-assertions.ts';

/** Questions that the corpus answers, and the requested kind of report. */
const ALL_QUESTIONS = [
  ['Plugins and encapsulation in Fastify', 'model_detailed_report'],
  ['Validation and serialization with JSON schema in Fastify', 'model_summary_report'],
  ['Parsing command line options with commander', 'model_summary_report'],
  ['Hooks and the request lifecycle in Fastify', 'model_detailed_report'],
  ['Logging with pino and its transports', 'model_summary_report'],
  ['Routing of HTTP requests with find-my-way', 'model_summary_report'],
  ['Child loggers and log levels in pino', 'model_summary_report'],
  ['Content type parsers and request bodies in Fastify', 'model_summary_report'],
  ['Error handling in Fastify', 'model_summary_report'],
  ['TypeScript types in Fastify', 'model_summary_report'],
] as const;

/** All questions in a full run (PARLEY_TEST_FULL=1), and one detailed report and two summaries otherwise. */
const QUESTIONS = process.env['PARLEY_TEST_FULL'] === '1' ? ALL_QUESTIONS : ALL_QUESTIONS.slice(0, 3);

describe('deep research over 200 real documents', () => {
  let parley: CorpusParley;
  before(async () => {
    parley = await startCorpusParley();
  });
  after(() => parley.stop());

  const requestResearch = async (messages: readonly object[], outputFormat: string): Promise<readonly SseFrame[]> => {
    const { address, key } = parley;
    const response = await fetch(`${address}/api/v1/services/aigc/text-generation/generation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-dashscope-sse': 'enable' },
      body: JSON.stringify({ model: 'qwen-deep-research', input: { messages }, output_format: outputFormat }),
    });
    assert.equal(response.status, 200);
    const parser = createSseParser({ sizeMax: 1024 * 1024 });
    return parser.push(await response.text());
  };

  for (const [question, outputFormat] of QUESTIONS)
    it(`writes ${outputFormat === 'model_detailed_report' ? 'a detailed report' : 'a summary'} from sentences of its sources: ${question}`, async () => {
      const questionMessage = { role: 'user', content: question };
      const firstFrames = await requestResearch([questionMessage], outputFormat);
      assertClarifyingQuestion(firstFrames);
      const clarification = { role: 'assistant', content: joinAnswer(firstFrames) };
      const frames = await requestResearch(
        [questionMessage, clarification, { role: 'user', content: 'All of it.' }],
        outputFormat,
      );
      const report = await assertSupportedReport(frames, parley.readSource);
      const tokens = report.match(/\S+/g)?.length ?? 0;
      const limits = RESEARCH_REPORT_TOKENS[outputFormat === 'model_detailed_report' ? 'detailed' : 'summary'];
      // A report is shorter where the sources say little, and then says so.
      const isShort = report.includes('Nothing more was found that could be reported.');
      assert.ok(tokens >= 100 && tokens <= limits.max && isShort === tokens < limits.min, `${tokens} tokens`);
    });
});
