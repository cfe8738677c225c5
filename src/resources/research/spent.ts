import type { ResearchEvent, ResearchStep } from '../../core/research.ts';

/** What a run has spent and made, for a log line. */
export interface ResearchSpent {
  readonly steps: number;
  readonly queries: number;
  /** Pages that searches came upon, and those of them that something was learned from. */
  readonly sites: number;
  readonly sitesUsed: number;
  readonly references: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export function spentOf(steps: readonly ResearchStep[]): ResearchSpent {
  const sites = new Set<number>();
  const used = new Set<number>();
  let spent = { queries: 0, references: 0, inputTokens: 0, outputTokens: 0 };
  for (const event of steps.flatMap(({ tell }) => tell)) {
    if (event.type === 'usage') spent = { ...spent, inputTokens: event.inputTokens, outputTokens: event.outputTokens };
    else if (event.type === 'query') spent.queries += 1;
    else if (event.type === 'sites') for (const { number } of event.sites) sites.add(number);
    else if (event.type === 'learned') used.add(event.site);
    else if (event.type === 'report' && event.references) spent.references = event.references.length;
  }
  return { steps: steps.length, sites: sites.size, sitesUsed: used.size, ...spent };
}

export type ResearchPhase = 'plan' | 'query' | 'report';

/** What a step belongs to; undefined where it tells nothing that says so. */
export function phaseOf(step: ResearchStep): ResearchPhase | undefined {
  for (const { type } of step.tell.toReversed()) {
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
