import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createSseParser, type SseFrame } from '../../src/lib/sse.ts';
import { startCorpusParley, type CorpusParley } from './corpus-parley.ts';
import { describePythonCases, type PythonCases } from './python-cases.ts';
import { recorded } from './recorded-parley.ts';
import type { Exchange } from './recorder.ts';
import { assertAsksBack, assertResearched } from './researched.ts';

let started: Promise<CorpusParley> | undefined;
after(async () => (await started)?.stop());

/** What was broken off in its middle, and nothing else. */
const HOOKS = 'Hooks and the request lifecycle in Fastify';

const framesOf = ({ body }: Pick<Exchange, 'body'>): readonly SseFrame[] =>
  createSseParser({ sizeMax: 1024 * 1024 }).push(body);

/** Answers before the one that breaks off: a question and a report for the first case, and for each half of the second. */
const ANSWERS_BEFORE = 7;

/** Whether something was told that the second search has found, as the client waits for it. */
const tellsOfSecondSearch = (body: string): boolean =>
  framesOf({ body }).some(({ data }) => {
    const { status, extra } = (JSON.parse(data) as Told).output.message;
    return status === 'streamingWebResult' && extra.deep_research.research?.id === 2;
  });

interface Told {
  readonly output: {
    readonly message: {
      readonly status: string;
      readonly extra: { readonly deep_research: { readonly research?: { readonly id: number } } };
    };
  };
}

/** With a Parley that all of them have in common, each behind a recorder of its own. */
function cases(): PythonCases {
  let parley: CorpusParley;
  let exchanges: readonly Exchange[] = [];
  let promptsBefore = 0;
  let linesBefore = 0;
  const start = async () => {
    parley = await (started ??= startCorpusParley());
    promptsBefore = parley.prompts.length;
    linesBefore = parley.lines.length;
    const own = await recorded(
      { ...parley, stop: async () => undefined },
      // Here and not in the client: research goes on meanwhile, and a client may leave when all of it has come in.
      { breaksOff: (told) => exchanges.length === ANSWERS_BEFORE && tellsOfSecondSearch(told()) },
    );
    ({ exchanges } = own);
    return own;
  };
  return {
    client: 'dashscope',
    script: 'dashscope_researched_cases.py',
    models: [],
    parleys: { '': start },
    cases: [
      'is asked back, and has a report of what it answers',
      'has a report as long as it says, where the client passes that on',
      'goes on with the same research where its connection broke in the middle of one',
    ],
    afterwards: {
      'was told nothing but whole questions, and reports that their sources bear out': async () => {
        const whole = exchanges.filter(({ isWhole }) => isWhole).map(framesOf);
        assert.deepEqual([exchanges.length, whole.length], [9, 8]);
        for (const frames of whole) {
          if (frames.some(({ data }) => data.includes('"ResearchPlanning"')))
            await assertResearched(frames, parley.read);
          else assertAsksBack(frames);
        }
      },
      'had one research more than were broken off, and one plan of each': () => {
        const asked = parley.lines.slice(linesBefore).filter(({ researchStep }) => researchStep === 2);
        assert.deepEqual(
          asked.map(({ researchGoesOn }) => researchGoesOn),
          [false, false, false, false, true],
        );
        assert.equal(asked[3]?.['research'], asked[4]?.['research']);
        assert.equal(new Set(asked.map(({ research }) => research)).size, 4);
        const prompts = parley.prompts.slice(promptsBefore);
        assert.equal(prompts.length, 8, 'a question and a plan of each, and nothing else');
        assert.equal(prompts.filter((prompt) => prompt.includes(HOOKS) && prompt.includes('All of it.')).length, 1);
      },
    },
  };
}

describePythonCases('the dashscope client for Python, 1.x, that has real documents looked into', {
  ...cases(),
  overlay: 'dashscope-1',
});

describePythonCases('the dashscope client for Python, 2.x, that has real documents looked into', cases());
