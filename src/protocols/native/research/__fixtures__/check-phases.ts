import type { SseFrame } from '../../../../lib/sse.ts';
import { createBodyCheck } from './check-body.ts';
import type { ResearchBody } from './check-body.ts';
import { createQueriesCheck } from './check-queries.ts';
import { createReportCheck } from './check-report-events.ts';

export interface PhasesExpected {
  /** Which of the two steps was asked for. */
  readonly step: 1 | 2;
  /** Whether the plan's text is told. Default: false. */
  readonly streamPlan?: boolean;
}

const ORDER = ['ResearchPlanning', 'WebResearch', 'answer'] as const;

/**
 * What is wrong with the events of a whole deep research stream, as a client got them; [] is what a right one has. Looks at
 * the frames, the fields of each event and their types, and at what has to come before what.
 */
export function checkPhases(frames: readonly SseFrame[], { step, streamPlan = false }: PhasesExpected): string[] {
  const faults: string[] = [];
  const checkBody = createBodyCheck();
  const queries = createQueriesCheck();
  const report = createReportCheck({ hasSources: step === 2 });
  let phase: string | undefined;
  let isPlanned = false;
  /** Whether a KeepAlive stands before this event, and nothing between. */
  let isKept = false;

  const take = (body: ResearchBody, isLast: boolean): string[] => {
    const { message } = body.output;
    const { status, content, extra } = message;
    const found = extra.deep_research;
    if (message.phase === 'KeepAlive') {
      isKept = true;
      const isPlain = status === 'typing' && content === '' && Object.keys(found).length === 0;
      return isPlain ? [] : ['a KeepAlive is not empty'];
    }
    const told: string[] = [];
    const at = ORDER.findIndex((each) => each === message.phase);
    if (at < 0) told.push(`the phase is ${message.phase}`);
    if (step === 1 && message.phase !== 'answer') told.push(`${message.phase} where a question was to be asked`);
    if (phase !== undefined && at < ORDER.findIndex((each) => each === phase))
      told.push(`${message.phase} comes after ${phase}`);
    if (phase !== undefined && phase !== message.phase && !isKept)
      told.push(`no KeepAlive between ${phase} and ${message.phase}`);
    isKept = false;
    phase = message.phase;
    switch (message.phase) {
      case 'ResearchPlanning':
        if (isPlanned) told.push('the plan goes on after its end');
        if (status !== 'typing' && status !== 'finished') told.push(`a plan's status is ${status}`);
        if (content !== '' && (!streamPlan || status === 'finished')) told.push('a plan has content');
        if (Object.keys(found).length > 0) told.push('a plan has findings');
        isPlanned = status === 'finished';
        break;
      case 'WebResearch':
        if (!isPlanned) told.push('a query comes before the end of the plan');
        if (content !== '') told.push('a query has content');
        told.push(...queries.take(status, found));
        break;
      case 'answer':
        if (step === 2 && !isPlanned) told.push('the report comes before the end of the plan');
        told.push(...queries.unfinished().map((id) => `the answer comes before the end of query ${id}`));
        told.push(...report.take({ status, content, found, isLast }));
    }
    if (isLast && message.phase !== 'answer') told.push('the last event is no answer');
    return told;
  };

  for (const [position, frame] of frames.entries()) {
    const isLast = position === frames.length - 1;
    const place = `event ${position + 1}`;
    if (frame.id !== String(position + 1)) faults.push(`${place} has the id ${frame.id}`);
    if (frame.event !== 'result') faults.push(`${place} is of the kind ${frame.event}`);
    const { body, faults: own } = checkBody(frame.data, isLast);
    faults.push(...[...own, ...(body ? take(body, isLast) : [])].map((fault) => `${place}: ${fault}`));
  }
  if (frames.length === 0) faults.push('there are no events');
  else if (report.length() === 0) faults.push('there is no answer');
  return faults;
}
