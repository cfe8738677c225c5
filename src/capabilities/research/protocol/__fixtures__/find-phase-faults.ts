import type { SseFrame } from '../../../../lib/sse.ts';
import { createBodyChecker } from './body-checker.ts';
import type { CheckedResearchBody } from './body-checker.ts';
import { createQueryChecker } from './query-checker.ts';
import { createReportChecker } from './report-checker.ts';

export interface ExpectedPhases {
  /** Expected step: 1 is the question, 2 the report. */
  readonly step: 1 | 2;
  /** Whether the plan's text is expected. Default: false. */
  readonly streamPlan?: boolean;
}

const ORDER = ['ResearchPlanning', 'WebResearch', 'answer'] as const;

/**
 * Lists the faults in a client's complete deep research stream; [] if it is valid. Checks the frames, the fields of
 * each event and the order of events.
 */
export function findPhaseFaults(frames: readonly SseFrame[], { step, streamPlan = false }: ExpectedPhases): string[] {
  const faults: string[] = [];
  const checkBody = createBodyChecker();
  const queries = createQueryChecker();
  const report = createReportChecker({ hasSources: step === 2 });
  let phase: string | undefined;
  let isPlanned = false;
  /** Whether the previous event is a KeepAlive. */
  let followsKeepAlive = false;

  const checkEvent = (body: CheckedResearchBody, isLast: boolean): string[] => {
    const { message } = body.output;
    const { status, content, extra } = message;
    const deepResearch = extra.deep_research;
    if (message.phase === 'KeepAlive') {
      followsKeepAlive = true;
      const isPlain = status === 'typing' && content === '' && Object.keys(deepResearch).length === 0;
      return isPlain ? [] : ['a KeepAlive is not empty'];
    }
    const eventFaults: string[] = [];
    const order = ORDER.findIndex((each) => each === message.phase);
    if (order < 0) eventFaults.push(`the phase is ${message.phase}`);
    if (step === 1 && message.phase !== 'answer') eventFaults.push(`${message.phase} in place of a question`);
    if (phase !== undefined && order < ORDER.findIndex((each) => each === phase))
      eventFaults.push(`${message.phase} comes after ${phase}`);
    if (phase !== undefined && phase !== message.phase && !followsKeepAlive)
      eventFaults.push(`no KeepAlive between ${phase} and ${message.phase}`);
    followsKeepAlive = false;
    phase = message.phase;
    switch (message.phase) {
      case 'ResearchPlanning':
        if (isPlanned) eventFaults.push('the plan continues after its end');
        if (status !== 'typing' && status !== 'finished') eventFaults.push(`a plan's status is ${status}`);
        if (content !== '' && (!streamPlan || status === 'finished')) eventFaults.push('a plan has content');
        if (Object.keys(deepResearch).length > 0) eventFaults.push('a plan has findings');
        isPlanned = status === 'finished';
        break;
      case 'WebResearch':
        if (!isPlanned) eventFaults.push('a query comes before the end of the plan');
        if (content !== '') eventFaults.push('a query has content');
        eventFaults.push(...queries.check(status, deepResearch));
        break;
      case 'answer':
        if (step === 2 && !isPlanned) eventFaults.push('the report comes before the end of the plan');
        eventFaults.push(...queries.listUnfinished().map((id) => `the answer comes before the end of query ${id}`));
        eventFaults.push(...report.check({ status, content, deepResearch, isLast }));
    }
    if (isLast && message.phase !== 'answer') eventFaults.push('the last event is not an answer');
    return eventFaults;
  };

  for (const [position, frame] of frames.entries()) {
    const isLast = position === frames.length - 1;
    const label = `event ${position + 1}`;
    if (frame.id !== String(position + 1)) faults.push(`${label} has the id ${frame.id}`);
    if (frame.event !== 'result') faults.push(`${label} is of the kind ${frame.event}`);
    const { body, faults: bodyFaults } = checkBody(frame.data, isLast);
    faults.push(...[...bodyFaults, ...(body ? checkEvent(body, isLast) : [])].map((fault) => `${label}: ${fault}`));
  }
  if (frames.length === 0) faults.push('there are no events');
  else if (report.getLength() === 0) faults.push('there is no answer');
  return faults;
}
