import type { ResearchEvent, ResearchStep } from '../research.ts';

/** Counts of a research run for a log line. */
export interface ResearchUsage {
  readonly steps: number;
  readonly queries: number;
  /** Pages that searches found, and those that contributed a finding. */
  readonly sites: number;
  readonly sitesUsed: number;
  readonly references: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export function computeResearchUsage(steps: readonly ResearchStep[]): ResearchUsage {
  const sites = new Set<number>();
  const usedSites = new Set<number>();
  let usage = { queries: 0, references: 0, inputTokens: 0, outputTokens: 0 };
  for (const event of steps.flatMap(({ events }) => events)) {
    if (event.type === 'usage') usage = { ...usage, inputTokens: event.inputTokens, outputTokens: event.outputTokens };
    else if (event.type === 'query') usage.queries += 1;
    else if (event.type === 'sites') for (const { number } of event.sites) sites.add(number);
    else if (event.type === 'learned') usedSites.add(event.site);
    else if (event.type === 'report' && event.references) usage.references = event.references.length;
  }
  return { steps: steps.length, sites: sites.size, sitesUsed: usedSites.size, ...usage };
}

export type ResearchPhase = 'plan' | 'query' | 'report';

/** Returns the phase of a step by its last event that belongs to one; undefined if there is none. */
export function getResearchPhase(step: ResearchStep): ResearchPhase | undefined {
  for (const { type } of step.events.toReversed()) {
    const phase = PHASES[type];
    if (phase) return phase;
  }
  return undefined;
}

const PHASES: Partial<Record<ResearchEvent['type'], ResearchPhase>> = {
  plan: 'plan',
  'plan-end': 'plan',
  query: 'query',
  sites: 'query',
  learned: 'query',
  'query-end': 'query',
  report: 'report',
  end: 'report',
};
