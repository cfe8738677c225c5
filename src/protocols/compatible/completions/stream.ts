import type { GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { sseComment, sseData } from '../../../lib/sse.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { errorBody } from '../errors.ts';
import { completionId } from './head.ts';
import type { CompletionHead } from './head.ts';
import { createLegacyLogprobs } from './logprobs.ts';
import type { TellLogprobs } from './logprobs.ts';
import { encodeUsage } from './usage.ts';

export interface CompletionStreamOptions {
  /** The last chunk tells the usage and has no choices; otherwise `usage` is null everywhere. */
  readonly includeUsage: boolean;
}

/** Chunks as wire.md E5 has them, one per event that says something; a choice's prompt, where it is echoed, goes first. */
export function completionStream(
  head: CompletionHead,
  { includeUsage }: CompletionStreamOptions,
): StreamEncoder<GenerationEvent> {
  const start = `data: {"id":"${completionId(head)}","object":"text_completion","created":${head.created},"model":${JSON.stringify(head.model)},"system_fingerprint":null,"choices":[`;
  const end = '],"usage":null}\n\n';
  const choices: (TellLogprobs | undefined)[] = [];
  let isEnded = false;

  const chunk = (choice: number, text: string, { reason = 'null', logprobs = 'null' } = {}): string =>
    `${start}{"text":${JSON.stringify(text)},"index":${choice},"finish_reason":${reason},"logprobs":${logprobs}}${end}`;

  /** What comes before anything else of a choice. */
  const open = (choice: number): string => {
    if (choices[choice]) return '';
    const echo = head.echoOf(choice);
    choices[choice] = createLegacyLogprobs(echo);
    return echo === '' ? '' : chunk(choice, echo);
  };

  const encodeEvent = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'start':
      case 'block-end':
      case 'server-call':
      case 'server-result':
        return '';
      case 'block-start':
        return open(event.choice);
      case 'block-delta': {
        const { choice, text, logprobs: tokens } = event;
        const told = choices[choice]?.(tokens);
        if (told) return chunk(choice, text, { logprobs: JSON.stringify(told) });
        return text === '' ? '' : chunk(choice, text);
      }
      case 'choice-end':
        return open(event.choice) + chunk(event.choice, '', { reason: `"${FINISH_REASONS[event.reason]}"` });
      case 'end':
        isEnded = true;
        return includeUsage ? `${start}],"usage":${JSON.stringify(encodeUsage(event.usage))}}\n\n` : '';
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
    keepAlive: () => sseComment('keep-alive'),
    fail: (error) => sseData(JSON.stringify(errorBody(error, head.requestId))),
    close() {
      if (!isEnded) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      return 'data: [DONE]\n\n';
    },
  };
}
