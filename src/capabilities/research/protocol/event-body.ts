import type { Reference, ResearchSite } from '../research.ts';

/**
 * Phases of the stream (docs/wire/dashscope-native.md#deep-research-events): planning, queries, answer, in this order.
 */
export type WirePhase = 'ResearchPlanning' | 'WebResearch' | 'KeepAlive' | 'answer';

export interface ResearchTokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Variable fields of one event. */
export interface ResearchMessage {
  readonly phase: WirePhase;
  readonly status: string;
  readonly content?: string;
  readonly deepResearch?: object;
  /** Present in the last event only. */
  readonly finishReason?: 'stop' | 'length';
}

/** Encodes an event; every event has every field of the specification's research message. */
export function encodeResearchEvent(
  { phase, status, content = '', deepResearch = {}, finishReason }: ResearchMessage,
  usage: ResearchTokenUsage,
  requestId: string,
): object {
  return {
    status_code: 200,
    request_id: requestId,
    code: '',
    message: '',
    output: {
      text: null,
      finish_reason: finishReason ?? null,
      choices: null,
      message: { phase, role: 'assistant', content, status, extra: { deep_research: deepResearch } },
      fininshed: finishReason !== undefined,
      // "stop" even if a budget ended the work; finish_reason tells "length" then.
      fininshed_reason: finishReason === undefined ? 'null' : 'stop',
    },
    usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
  };
}

interface QueryUpdate {
  readonly query?: string;
  readonly goal?: string;
  readonly sites?: readonly ResearchSite[];
  readonly learned?: { readonly site: number; readonly text: string };
}

/**
 * Encodes an update of a query under both names that clients read (docs/wire/choices.md#where-sources-disagree).
 * Clients concatenate texts, so an unchanged text is ''.
 */
export function encodeQuery(id: number, { query = '', goal = '', sites, learned }: QueryUpdate = {}): object {
  const update = {
    researchGoal: goal,
    id,
    query,
    ...(sites ? { webSites: sites.map(encodeSite) } : {}),
    ...(learned ? { learningMap: { [learned.site]: learned.text } } : {}),
  };
  return { query: update, research: update };
}

const encodeSite = ({ title, description, url, icon }: ResearchSite): object => ({
  title,
  description,
  url: filterUrl(url),
  icon: filterIconUrl(icon),
  favicon: filterIconUrl(icon),
});

export const encodeReferences = (references: readonly Reference[]): object => ({
  references: references.map(({ icon, index, title, description, url }) => ({
    icon: filterIconUrl(icon),
    index_number: index,
    title,
    description,
    url: filterUrl(url),
  })),
});

const filterIconUrl = (text: string): string => (/^https?:\/\//i.test(text) ? text : '');

/** Drops anything but a web URL or an index id: a host path must never reach a client. */
const filterUrl = (text: string): string => (/^(?:https?:\/\/|parley-index:)/i.test(text) ? text : '');
