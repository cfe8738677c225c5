import type { ResearchStep } from '../research.ts';

/** A research step as stored JSON. Its property names are those of the first release, so that old rows stay readable. */
interface StoredStep {
  readonly tell: ResearchStep['events'];
  readonly keep: ResearchStep['state'];
}

export const encodeStep = ({ events, state }: ResearchStep): string =>
  JSON.stringify({ tell: events, keep: state } satisfies StoredStep);

export function decodeStep(json: string): ResearchStep {
  const { tell, keep } = JSON.parse(json) as StoredStep;
  return { events: tell, state: keep };
}
