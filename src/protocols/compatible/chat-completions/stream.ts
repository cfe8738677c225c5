import type { Block, GenerationEvent } from '../../../core/event.ts';
import { ServiceError } from '../../../core/error.ts';
import { assert } from '../../../lib/assert.ts';
import { escapeLineEnds, sseComment, sseData } from '../../../lib/sse.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { errorBody } from '../errors.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { chatId } from './head.ts';
import type { ChatHead } from './head.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import { encodeUsage } from './usage.ts';

export interface ChatStreamOptions {
  /** The last chunk tells the usage and has no choices; otherwise `usage` is null everywhere. */
  readonly includeUsage: boolean;
}

/**
 * Chunks as wire.md E1.4 has them, one per event that says something.
 *
 * A token costs one `JSON.stringify` of its text and one concatenation: what surrounds it is made once per choice. All
 * texts below are parts of `data: {"choices":[{"delta":{…},"index":0,"logprobs":null,"finish_reason":null}],…}`.
 */
export function chatCompletionStream(
  head: ChatHead,
  { includeUsage }: ChatStreamOptions,
): StreamEncoder<GenerationEvent> {
  const tail = `"created":${head.created},"service_tier":null,"system_fingerprint":null,"model":${JSON.stringify(head.model)},"id":"${chatId(head)}"}\n\n`;
  const end = `,"object":"chat.completion.chunk","usage":null,${tail}`;
  const choices: (ChoiceStream | undefined)[] = [];
  let isEnded = false;

  const choiceOf = (index: number): ChoiceStream => (choices[index] ??= createChoiceStream(index, end));

  const encodeEvent = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'start':
      case 'block-end':
      case 'server-call':
      case 'server-result':
        return '';
      case 'block-start':
        return choiceOf(event.choice).open(event.block);
      case 'block-delta':
        return choiceOf(event.choice).delta(event);
      case 'choice-end':
        return choiceOf(event.choice).finish(FINISH_REASONS[event.reason]);
      case 'end':
        isEnded = true;
        return includeUsage
          ? `data: {"choices":[],"object":"chat.completion.chunk","usage":${JSON.stringify(encodeUsage(event.usage))},${tail}`
          : '';
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += encodeEvent(event);
      return escapeLineEnds(text);
    },
    keepAlive: () => sseComment('keep-alive'),
    fail: (error) => sseData(escapeLineEnds(JSON.stringify(errorBody(error, head.requestId)))),
    close() {
      if (!isEnded) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      return 'data: [DONE]\n\n';
    },
  };
}

interface ChoiceStream {
  open(block: Block): string;
  delta(event: Extract<GenerationEvent, { type: 'block-delta' }>): string;
  finish(reason: string): string;
}

const NO_EXTRAS = '"function_call":null,"refusal":null';
const START = 'data: {"choices":[{"delta":{"content":';

/** Chunks of one choice: the role goes with the first, calls are numbered as they come. */
function createChoiceStream(index: number, end: string): ChoiceStream {
  const place = `"index":${index},"logprobs":`;
  const close = `},${place}null,"finish_reason":null}]${end}`;
  const afterText = `,"reasoning_content":null,${NO_EXTRAS},"tool_calls":null${close}`;
  const afterTextWithLogprobs = `,"reasoning_content":null,${NO_EXTRAS},"tool_calls":null},${place}`;
  const afterLogprobs = `,"finish_reason":null}]${end}`;
  const beforeThought = `${START}null,"reasoning_content":`;
  const afterThought = `,${NO_EXTRAS},"tool_calls":null${close}`;

  let role = '"role":"assistant",';
  let calls = 0;
  let open: Block['type'] | undefined;

  const takeRole = (): string => {
    const taken = role;
    role = '';
    return taken;
  };

  const firstText = (): string =>
    role === '' ? '' : `${START}"","reasoning_content":null,${takeRole()}${NO_EXTRAS},"tool_calls":null${close}`;

  return {
    open(block) {
      open = block.type;
      switch (block.type) {
        case 'text':
          return firstText();
        case 'reasoning':
          // Also when it stays empty: a thought that was opened is "", not null, as in the unstreamed answer.
          return `${beforeThought}"",${takeRole()}${NO_EXTRAS},"tool_calls":null${close}`;
        case 'tool-call': {
          const call = {
            index: calls,
            id: block.id,
            type: 'function',
            function: { name: block.name, arguments: '' },
          };
          calls++;
          return `${beforeThought}null,${takeRole()}${NO_EXTRAS},"tool_calls":[${JSON.stringify(call)}]${close}`;
        }
      }
    },
    delta({ text, logprobs }) {
      switch (open) {
        case 'text':
          if (logprobs && logprobs.length > 0) {
            const told = JSON.stringify(encodeLogprobs(logprobs));
            return `${START}${JSON.stringify(text)}${afterTextWithLogprobs}${told}${afterLogprobs}`;
          }
          return text === '' ? '' : START + JSON.stringify(text) + afterText;
        case 'reasoning':
          return text === '' ? '' : beforeThought + JSON.stringify(text) + afterThought;
        case 'tool-call': {
          if (text === '') return '';
          // Index and arguments only: accumulators add up whatever is repeated (wire.md section 11, 26).
          const call = `{"index":${calls - 1},"function":{"arguments":${JSON.stringify(text)}}}`;
          return `${beforeThought}null,${NO_EXTRAS},"tool_calls":[${call}]${close}`;
        }
        case undefined:
          assert(false, 'a delta comes after the start of its block');
      }
    },
    finish(reason) {
      // An answer without a block is an answer: its role is told all the same.
      return `${firstText()}${START}"","reasoning_content":null,${NO_EXTRAS},"tool_calls":null},"finish_reason":"${reason}",${place}null}]${end}`;
    },
  };
}
