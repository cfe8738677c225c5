import type { Block, GenerationEvent } from '../../../core/event.ts';
import type { ServerCallResult } from '../../../core/server-tools.ts';
import { assert } from '../../../lib/assert.ts';
import { escapeLineSeparators } from '../../../lib/sse.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { createDoneStreamEncoder } from '../done-stream-encoder.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { formatChatId } from './head.ts';
import type { ChatHead } from './head.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import { findEmptyOutcome } from '../../search-outcome.ts';
import { encodeUsage } from './usage.ts';

export interface ChatStreamOptions {
  /** The last chunk contains the usage and no choices. Without this option, `usage` is null in every chunk. */
  readonly includeUsage: boolean;
}

/**
 * Creates the encoder of a chat completion stream, one chunk per event with content
 * (docs/wire/openai-compatible.md#chat-stream).
 *
 * After searches without results, the first chunk of a choice has empty `annotations`, as the unstreamed response does.
 *
 * For speed, the text around a token is built once per choice: a token costs one `JSON.stringify` and one
 * concatenation. All texts below are parts of `data:
 * {"choices":[{"delta":{…},"index":0,"logprobs":null,"finish_reason":null}],…}`.
 */
export function createChatStreamEncoder(
  head: ChatHead,
  { includeUsage }: ChatStreamOptions,
): StreamEncoder<GenerationEvent> {
  const tail = `"created":${head.created},"service_tier":null,"system_fingerprint":null,"model":${JSON.stringify(head.model)},"id":"${formatChatId(head)}"}\n\n`;
  const end = `,"object":"chat.completion.chunk","usage":null,${tail}`;
  const choices: (ChoiceStream | undefined)[] = [];
  const serverResults: ServerCallResult[] = [];

  const getChoice = (index: number): ChoiceStream =>
    (choices[index] ??= createChoiceStream(index, {
      end,
      hasNoSources: findEmptyOutcome(serverResults) !== undefined,
    }));

  const encodeEvent = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'start':
      case 'prompt':
      case 'block-end':
      case 'server-call':
        return '';
      case 'server-result':
        serverResults.push(event.result);
        return '';
      case 'block-start':
        return getChoice(event.choice).open(event.block);
      case 'block-delta':
        return getChoice(event.choice).delta(event);
      case 'choice-end':
        return getChoice(event.choice).finish(FINISH_REASONS[event.reason]);
      case 'end':
        return includeUsage
          ? `data: {"choices":[],"object":"chat.completion.chunk","usage":${JSON.stringify(encodeUsage(event.usage))},${tail}`
          : '';
    }
  };

  return createDoneStreamEncoder({ requestId: head.requestId, encodeEvent, escape: escapeLineSeparators });
}

interface ChoiceStream {
  open(block: Block): string;
  delta(event: Extract<GenerationEvent, { type: 'block-delta' }>): string;
  finish(reason: string): string;
}

const NO_EXTRAS = '"function_call":null,"refusal":null';
const START = 'data: {"choices":[{"delta":{"content":';

/** Encodes the chunks of one choice. The first chunk contains the role; tool calls are numbered in order. */
function createChoiceStream(
  index: number,
  { end, hasNoSources }: { readonly end: string; readonly hasNoSources: boolean },
): ChoiceStream {
  const choiceFields = `"index":${index},"logprobs":`;
  const close = `},${choiceFields}null,"finish_reason":null}]${end}`;
  const afterText = `,"reasoning_content":null,${NO_EXTRAS},"tool_calls":null${close}`;
  const afterTextWithLogprobs = `,"reasoning_content":null,${NO_EXTRAS},"tool_calls":null},${choiceFields}`;
  const afterLogprobs = `,"finish_reason":null}]${end}`;
  const beforeThought = `${START}null,"reasoning_content":`;
  const afterThought = `,${NO_EXTRAS},"tool_calls":null${close}`;

  let role = hasNoSources ? '"role":"assistant","annotations":[],' : '"role":"assistant",';
  let calls = 0;
  let open: Block['type'] | undefined;

  const takeRole = (): string => {
    const current = role;
    role = '';
    return current;
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
          // An empty thought is encoded as "" instead of null too, as in the unstreamed response.
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
            const encodedLogprobs = JSON.stringify(encodeLogprobs(logprobs));
            return `${START}${JSON.stringify(text)}${afterTextWithLogprobs}${encodedLogprobs}${afterLogprobs}`;
          }
          return text === '' ? '' : START + JSON.stringify(text) + afterText;
        case 'reasoning':
          return text === '' ? '' : beforeThought + JSON.stringify(text) + afterThought;
        case 'tool-call': {
          if (text === '') return '';
          // Index and arguments only: accumulators append every repeated field (docs/wire/clients.md#client-pitfalls).
          const call = `{"index":${calls - 1},"function":{"arguments":${JSON.stringify(text)}}}`;
          return `${beforeThought}null,${NO_EXTRAS},"tool_calls":[${call}]${close}`;
        }
        case undefined:
          assert(false, 'a delta comes after the start of its block');
      }
    },
    finish(reason) {
      // A choice without any block still gets a chunk with the role.
      return `${firstText()}${START}"","reasoning_content":null,${NO_EXTRAS},"tool_calls":null},"finish_reason":"${reason}",${choiceFields}null}]${end}`;
    },
  };
}
