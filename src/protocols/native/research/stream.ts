import { ServiceError } from '../../../core/error.ts';
import type { ResearchEvent } from '../../../core/research.ts';
import { sseComment } from '../../../lib/sse.ts';
import { numberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { errorBody, status } from '../errors.ts';
import { encodeEvent, encodeQuery, encodeReferences } from './event-body.ts';
import type { Phase, Said, Spend } from './event-body.ts';

export interface ResearchStreamOptions {
  /** Whether the plan's text is told; else only that there is one. */
  readonly streamPlan: boolean;
}

/**
 * Events of wire.md E4.2, always incremental, each with the usage so far. Between two phases, and in silence, stands a
 * KeepAlive message; ids count on over these.
 */
export function researchStream({ streamPlan }: ResearchStreamOptions, requestId: string): StreamEncoder<ResearchEvent> {
  let frames = 0;
  let spent: Spend = { inputTokens: 0, outputTokens: 0 };
  let phase: Phase | undefined;
  let isEnded = false;

  const frame = (said: Said): string =>
    numberedFrame({ id: ++frames, event: 'result', status: 200, data: encodeEvent(said, spent, requestId) });

  const say = (said: Said): string => {
    const isNext = phase !== undefined && phase !== said.phase;
    phase = said.phase;
    return (isNext ? frame(KEEP_ALIVE) : '') + frame(said);
  };

  const sayQuery = (stage: string, id: number, news?: Parameters<typeof encodeQuery>[1]): string =>
    say({ phase: 'WebResearch', status: stage, found: encodeQuery(id, news) });

  const sayPlan = (text: string): string => {
    const said = { phase: 'ResearchPlanning', status: 'typing' } as const;
    if (streamPlan) return text === '' ? '' : say({ ...said, content: text });
    return phase === 'ResearchPlanning' ? '' : say(said);
  };

  const take = (event: ResearchEvent): string => {
    switch (event.type) {
      case 'usage':
        spent = event;
        return '';
      case 'question':
        return event.text === '' ? '' : say({ phase: 'answer', status: 'typing', content: event.text });
      case 'plan':
        return sayPlan(event.text);
      case 'plan-end':
        return say({ phase: 'ResearchPlanning', status: 'finished' });
      case 'query':
        return (
          sayQuery('streamingQueries', event.id, { query: event.query }) +
          sayQuery('streamingQueries', event.id, { goal: event.goal })
        );
      case 'sites':
        return sayQuery('streamingWebResult', event.id, { sites: event.sites });
      case 'learned':
        return sayQuery('streamingWebResult', event.id, { learned: event });
      case 'query-end':
        return sayQuery('WebResultFinished', event.id);
      case 'report': {
        const { text, references } = event;
        if (text === '' && !references) return '';
        const found = references ? encodeReferences(references) : {};
        return say({ phase: 'answer', status: 'typing', content: text, found });
      }
      case 'end':
        isEnded = true;
        return say({ phase: 'answer', status: 'finished', end: event.reason });
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += take(event);
      return text;
    },
    // Nothing comes behind the last message, so that it stays the last.
    keepAlive: () => (isEnded ? sseComment('keep-alive') : frame(KEEP_ALIVE)),
    fail: (error) =>
      numberedFrame({ id: ++frames, event: 'error', status: status(error.kind), data: errorBody(error, requestId) }),
    close() {
      if (!isEnded) throw new ServiceError('engine-failed', 'The research broke off before its end.');
      return '';
    },
  };
}

const KEEP_ALIVE: Said = { phase: 'KeepAlive', status: 'typing' };
