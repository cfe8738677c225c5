import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createSseParser, type SseFrame } from '../../../../lib/sse.ts';
import { startCorpusParley, type CorpusParley } from './corpus-parley.ts';
import { describePythonCases, type PythonCases } from '../../../../../test/clients/python-cases.ts';
import { openRecordedParley } from '../../../../../test/clients/recorded-parley.ts';
import type { Exchange } from '../../../../../test/clients/recording-proxy.ts';
import { assertClarifyingQuestion, assertSupportedReport } from './research-assertions.ts';

let started: Promise<CorpusParley> | undefined;
after(async () => (await started)?.stop());

/** Topic of the research whose connection breaks; no other research has it. */
const HOOKS = 'Hooks and the request lifecycle in Fastify';

const parseFrames = ({ body }: Pick<Exchange, 'body'>): readonly SseFrame[] =>
  createSseParser({ sizeMax: 1024 * 1024 }).push(body);

/**
 * Exchanges before the one that breaks: a question and a report of the first case and of both halves of the second, and
 * a question.
 */
const EXCHANGES_BEFORE_DISCONNECT = 7;

/** Whether the body has a result of the second search, for which the client waits. */
const hasSecondSearchResult = (body: string): boolean =>
  parseFrames({ body }).some(({ data }) => {
    const { status, extra } = (JSON.parse(data) as EventBody).output.message;
    return status === 'streamingWebResult' && extra.deep_research.research?.id === 2;
  });

interface EventBody {
  readonly output: {
    readonly message: {
      readonly status: string;
      readonly extra: { readonly deep_research: { readonly research?: { readonly id: number } } };
    };
  };
}

/** Returns the cases for one client version. All versions share one Parley; each has its own recording proxy. */
function createCases(): PythonCases {
  let parley: CorpusParley;
  let exchanges: readonly Exchange[] = [];
  let promptsBefore = 0;
  let logLinesBefore = 0;
  const start = async () => {
    parley = await (started ??= startCorpusParley());
    promptsBefore = parley.prompts.length;
    logLinesBefore = parley.logLines.length;
    const recordedParley = await openRecordedParley(
      { ...parley, stop: async () => undefined },
      // The proxy breaks the connection, not the client: the research continues meanwhile, and a client could get all
      // events before it closes.
      {
        shouldDisconnect: (getBody) =>
          exchanges.length === EXCHANGES_BEFORE_DISCONNECT && hasSecondSearchResult(getBody()),
      },
    );
    ({ exchanges } = recordedParley);
    return recordedParley;
  };
  return {
    client: 'dashscope',
    script: new URL('python/dashscope_research_corpus_cases.py', import.meta.url),
    models: [],
    parleys: { '': start },
    cases: [
      'gets a clarifying question, and a report after the answer',
      'gets a report of at most the requested size when the client sends output_format',
      'resumes the same research run after its connection broke',
    ],
    checksAfterwards: {
      'got only complete questions, and reports that their sources support': async () => {
        const whole = exchanges.filter(({ isComplete }) => isComplete).map(parseFrames);
        assert.deepEqual([exchanges.length, whole.length], [9, 8]);
        for (const frames of whole) {
          if (frames.some(({ data }) => data.includes('"ResearchPlanning"')))
            await assertSupportedReport(frames, parley.readSource);
          else assertClarifyingQuestion(frames);
        }
      },
      'ran each research once, with one plan per research': () => {
        const researchLogLines = parley.logLines.slice(logLinesBefore).filter(({ researchStep }) => researchStep === 2);
        assert.deepEqual(
          researchLogLines.map(({ researchGoesOn }) => researchGoesOn),
          [false, false, false, false, true],
        );
        assert.equal(researchLogLines[3]?.['research'], researchLogLines[4]?.['research']);
        assert.equal(new Set(researchLogLines.map(({ research }) => research)).size, 4);
        const prompts = parley.prompts.slice(promptsBefore);
        assert.equal(prompts.length, 8, 'each research has one question prompt and one plan prompt');
        assert.equal(prompts.filter((prompt) => prompt.includes(HOOKS) && prompt.includes('All of it.')).length, 1);
      },
    },
  };
}

describePythonCases('deep research over real documents with the dashscope client for Python, 1.x', {
  ...createCases(),
  overlay: 'dashscope-1',
});

describePythonCases('deep research over real documents with the dashscope client for Python, 2.x', createCases());
