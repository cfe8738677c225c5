import type { Reference, ResearchSite } from '../../../core/research.ts';

/** wire.md E4.2; each goes one way: planning, queries, answer. */
export type Phase = 'ResearchPlanning' | 'WebResearch' | 'KeepAlive' | 'answer';

export interface Spend {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What an event says beside what all of them say. */
export interface Said {
  readonly phase: Phase;
  readonly status: string;
  readonly content?: string;
  readonly found?: object;
  /** In the last event only. */
  readonly end?: 'stop' | 'length';
}

/** Every field of the specification's research message, in every event. */
export function encodeEvent(
  { phase, status, content = '', found = {}, end }: Said,
  spent: Spend,
  requestId: string,
): object {
  return {
    status_code: 200,
    request_id: requestId,
    code: '',
    message: '',
    output: {
      text: null,
      finish_reason: end ?? null,
      choices: null,
      message: { phase, role: 'assistant', content, status, extra: { deep_research: found } },
      fininshed: end !== undefined,
      // decisions.md: "stop" also where a budget ended the work, which finish_reason tells.
      fininshed_reason: end === undefined ? 'null' : 'stop',
    },
    usage: { input_tokens: spent.inputTokens, output_tokens: spent.outputTokens },
  };
}

interface QueryNews {
  readonly query?: string;
  readonly goal?: string;
  readonly sites?: readonly ResearchSite[];
  readonly learned?: { readonly site: number; readonly text: string };
}

/** decisions.md: under both names that clients look for. Texts are pieces to be joined, so one that is not news is ''. */
export function encodeQuery(id: number, { query = '', goal = '', sites, learned }: QueryNews = {}): object {
  const news = {
    researchGoal: goal,
    id,
    query,
    ...(sites ? { webSites: sites.map(encodeSite) } : {}),
    ...(learned ? { learningMap: { [learned.site]: learned.text } } : {}),
  };
  return { query: news, research: news };
}

const encodeSite = ({ title, description, url, icon }: ResearchSite): object => ({
  title,
  description,
  url: addressOrNone(url),
  icon: iconOrNone(icon),
  favicon: iconOrNone(icon),
});

export const encodeReferences = (references: readonly Reference[]): object => ({
  references: references.map(({ icon, index, title, description, url }) => ({
    icon: iconOrNone(icon),
    index_number: index,
    title,
    description,
    url: addressOrNone(url),
  })),
});

const iconOrNone = (text: string): string => (/^https?:\/\//i.test(text) ? text : '');

/** decisions.md: never a host path, wherever it may come from. */
const addressOrNone = (text: string): string => (/^(?:https?:\/\/|parley-index:)/i.test(text) ? text : '');
