import type { GenerationEvent, PromptEvent } from '../../../core/event.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { createDoneStreamEncoder } from '../done-stream-encoder.ts';
import { formatCompletionId } from './head.ts';
import type { CompletionHead } from './head.ts';
import { createLegacyLogprobsEncoder } from './logprobs.ts';
import type { LegacyLogprobsEncoder } from './logprobs.ts';
import { encodeUsage } from './usage.ts';

export interface CompletionStreamOptions {
  /** The last chunk contains the usage and no choices. Without this option, `usage` is null in every chunk. */
  readonly includeUsage: boolean;
}

/**
 * Creates the encoder of a text completion stream, one chunk per event with content; an echoed prompt is the first
 * chunk of its choice (docs/wire/openai-compatible.md#completions).
 */
export function createCompletionStreamEncoder(
  head: CompletionHead,
  { includeUsage }: CompletionStreamOptions,
): StreamEncoder<GenerationEvent> {
  const start = `data: {"id":"${formatCompletionId(head)}","object":"text_completion","created":${head.created},"model":${JSON.stringify(head.model)},"system_fingerprint":null,"choices":[`;
  const end = '],"usage":null}\n\n';
  const choices: (LegacyLogprobsEncoder | undefined)[] = [];

  const chunk = (choice: number, text: string, { reason = 'null', logprobs = 'null' } = {}): string =>
    `${start}{"text":${JSON.stringify(text)},"index":${choice},"finish_reason":${reason},"logprobs":${logprobs}}${end}`;

  /** Starts a choice at its first event and returns the chunk with its echo. */
  const open = (choice: number): string => {
    if (choices[choice]) return '';
    const echo = head.getEcho(choice) ?? '';
    choices[choice] = createLegacyLogprobsEncoder(echo);
    return echo === '' ? '' : chunk(choice, echo);
  };

  /** The first chunk of a text prompt has all of its text, the chunks of token ids have the text of their tokens. */
  const encodePrompt = ({ choice, text, logprobs: tokens }: PromptEvent): string => {
    const echo = head.getEcho(choice);
    const isFirst = !choices[choice];
    const encoder = (choices[choice] ??= createLegacyLogprobsEncoder(echo));
    return chunk(choice, echo === undefined ? text : isFirst ? echo : '', {
      logprobs: JSON.stringify(encoder.encodePrompt(tokens)),
    });
  };

  const encodeEvent = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'start':
      case 'block-end':
      case 'server-call':
      case 'server-result':
        return '';
      case 'prompt':
        return encodePrompt(event);
      case 'block-start':
        return open(event.choice);
      case 'block-delta': {
        const { choice, text, logprobs: tokens } = event;
        const encodedLogprobs = choices[choice]?.encodeText(tokens);
        if (encodedLogprobs) return chunk(choice, text, { logprobs: JSON.stringify(encodedLogprobs) });
        return text === '' ? '' : chunk(choice, text);
      }
      case 'choice-end':
        return open(event.choice) + chunk(event.choice, '', { reason: `"${FINISH_REASONS[event.reason]}"` });
      case 'end':
        return includeUsage ? `${start}],"usage":${JSON.stringify(encodeUsage(event.usage))}}\n\n` : '';
    }
  };

  return createDoneStreamEncoder({ requestId: head.requestId, encodeEvent });
}
