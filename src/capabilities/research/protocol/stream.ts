import { ServiceError } from '../../../core/error.ts';
import type { ResearchEvent } from '../research.ts';
import { encodeSseComment } from '../../../lib/sse.ts';
import { encodeNumberedFrame } from '../../../protocols/numbered-frame.ts';
import type { StreamEncoder } from '../../../protocols/stream-encoder.ts';
import { encodeErrorBody, getStatus } from '../../../protocols/native/errors.ts';
import { encodeResearchEvent, encodeQuery, encodeReferences } from './event-body.ts';
import type { WirePhase, ResearchMessage, ResearchTokenUsage } from './event-body.ts';

export interface ResearchStreamOptions {
  /** Whether events contain the plan's text. Otherwise they only tell that there is a plan. */
  readonly streamPlan: boolean;
}

/**
 * Creates the encoder of a deep research stream (docs/wire/dashscope-native.md#deep-research-events): always
 * incremental, each event with the usage so far. A KeepAlive message separates phases and fills silence; ids count
 * these messages too.
 */
export function createResearchStreamEncoder(
  { streamPlan }: ResearchStreamOptions,
  requestId: string,
): StreamEncoder<ResearchEvent> {
  let frameCount = 0;
  let usage: ResearchTokenUsage = { inputTokens: 0, outputTokens: 0 };
  let phase: WirePhase | undefined;
  let isFinished = false;

  const encodeFrame = (message: ResearchMessage): string =>
    encodeNumberedFrame({
      id: ++frameCount,
      event: 'result',
      status: 200,
      data: encodeResearchEvent(message, usage, requestId),
    });

  const encodeMessage = (message: ResearchMessage): string => {
    const isPhaseChange = phase !== undefined && phase !== message.phase;
    phase = message.phase;
    return (isPhaseChange ? encodeFrame(KEEP_ALIVE) : '') + encodeFrame(message);
  };

  const encodeQueryMessage = (status: string, id: number, update?: Parameters<typeof encodeQuery>[1]): string =>
    encodeMessage({ phase: 'WebResearch', status, deepResearch: encodeQuery(id, update) });

  const encodePlanMessage = (text: string): string => {
    const message = { phase: 'ResearchPlanning', status: 'typing' } as const;
    if (streamPlan) return text === '' ? '' : encodeMessage({ ...message, content: text });
    return phase === 'ResearchPlanning' ? '' : encodeMessage(message);
  };

  const encodeEvent = (event: ResearchEvent): string => {
    switch (event.type) {
      case 'usage':
        usage = event;
        return '';
      case 'question':
        return event.text === '' ? '' : encodeMessage({ phase: 'answer', status: 'typing', content: event.text });
      case 'plan':
        return encodePlanMessage(event.text);
      case 'plan-end':
        return encodeMessage({ phase: 'ResearchPlanning', status: 'finished' });
      case 'query':
        return (
          encodeQueryMessage('streamingQueries', event.id, { query: event.query }) +
          encodeQueryMessage('streamingQueries', event.id, { goal: event.goal })
        );
      case 'sites':
        return encodeQueryMessage('streamingWebResult', event.id, { sites: event.sites });
      case 'learned':
        return encodeQueryMessage('streamingWebResult', event.id, { learned: event });
      case 'query-end':
        return encodeQueryMessage('WebResultFinished', event.id);
      case 'report': {
        const { text, references } = event;
        if (text === '' && !references) return '';
        const deepResearch = references ? encodeReferences(references) : {};
        return encodeMessage({ phase: 'answer', status: 'typing', content: text, deepResearch });
      }
      case 'end':
        isFinished = true;
        return encodeMessage({ phase: 'answer', status: 'finished', finishReason: event.reason });
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += encodeEvent(event);
      return text;
    },
    // A comment instead of a message after the last event, which must remain the last.
    keepAlive: () => (isFinished ? encodeSseComment('keep-alive') : encodeFrame(KEEP_ALIVE)),
    fail: (error) =>
      encodeNumberedFrame({
        id: ++frameCount,
        event: 'error',
        status: getStatus(error.kind),
        data: encodeErrorBody(error, requestId),
      }),
    close() {
      if (!isFinished) throw new ServiceError('engine-failed', 'The deep research stopped before its end.');
      return '';
    },
  };
}

const KEEP_ALIVE: ResearchMessage = { phase: 'KeepAlive', status: 'typing' };
