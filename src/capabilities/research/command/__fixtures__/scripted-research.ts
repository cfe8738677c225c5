import type { RequestContext } from '../../../../core/context.ts';
import type { Reference, ResearchPipeline, ResearchEvent, ResearchRequest } from '../../research.ts';

const reference = (index: number, title: string, url: string, description = ''): Reference => ({
  index,
  title,
  url,
  description,
  icon: '',
});

const WHALES = reference(1, 'Whales *sing*', 'https://www.whales.test/song?a=1&lt;=2', 'All about whales.');
const NOTES = reference(2, 'notes/sea.md', 'parley-index:notes/sea.md');

const QUESTION_STEP: readonly ResearchEvent[] = [
  { type: 'question', text: 'Which ' },
  { type: 'question', text: 'whales?' },
  { type: 'usage', inputTokens: 100, outputTokens: 10 },
  { type: 'end', reason: 'stop' },
];

/** Events of a small run with all event types. */
export const REPORT_STEPS: readonly (readonly ResearchEvent[])[] = [
  [
    { type: 'plan', text: 'First the body, ' },
    { type: 'plan', text: 'then the song.' },
    { type: 'plan-end' },
  ],
  [
    { type: 'query', id: 1, query: 'whale larynx', goal: 'How the sound is made' },
    { type: 'sites', id: 1, sites: [site(4, WHALES), site(5, NOTES)] },
    { type: 'learned', id: 1, site: 4, text: 'Whales ' },
    { type: 'learned', id: 1, site: 4, text: 'sing.' },
    { type: 'learned', id: 1, site: 5, text: 'The sea is deep.' },
    { type: 'query-end', id: 1 },
    { type: 'usage', inputTokens: 2_000, outputTokens: 200 },
  ],
  [
    { type: 'query', id: 2, query: 'whale song', goal: '' },
    { type: 'sites', id: 2, sites: [site(4, WHALES)] },
    { type: 'query-end', id: 2 },
  ],
  [{ type: 'report', text: '# Of whales\n\nWhales sing.[[1]]', references: [WHALES] }],
  [{ type: 'report', text: '\n\n## The sea\n\nThe sea is', references: [WHALES, NOTES] }],
  [{ type: 'report', text: ' deep[[2]] and wide.[[7]]\n' }],
  [
    { type: 'usage', inputTokens: 5_000, outputTokens: 900 },
    { type: 'end', reason: 'stop' },
  ],
];

function site(number: number, { title, url, description, icon }: Reference) {
  return { number, title, url, description, icon };
}

export interface ScriptedResearchPipeline extends ResearchPipeline {
  /** The received requests, in order. */
  readonly requests: readonly { readonly step: 'clarify' | 'check' | 'run'; readonly request: ResearchRequest }[];
}

/** Creates a research pipeline that emits the given events. @param beforeStep Runs before each step of the report. */
export function createScriptedResearch({
  question = QUESTION_STEP,
  steps = REPORT_STEPS,
  beforeStep = () => undefined,
}: {
  readonly question?: readonly ResearchEvent[];
  readonly steps?: readonly (readonly ResearchEvent[])[];
  readonly beforeStep?: (at: number, context: RequestContext) => unknown;
} = {}): ScriptedResearchPipeline {
  const requests: { step: 'clarify' | 'check' | 'run'; request: ResearchRequest }[] = [];
  return {
    requests,
    async clarify(request) {
      requests.push({ step: 'clarify', request });
      return (async function* () {
        for (const event of question) yield [event];
      })();
    },
    async checkRequest(request) {
      requests.push({ step: 'check', request });
    },
    async *run(request, past, context) {
      requests.push({ step: 'run', request });
      for (const [at, stepEvents] of steps.slice(past.length).entries()) {
        await beforeStep(at, context);
        yield { events: stepEvents, state: at };
      }
    },
  };
}
