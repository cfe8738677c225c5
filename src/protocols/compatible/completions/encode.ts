import type { GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { completionId } from './head.ts';
import type { CompletionHead } from './head.ts';
import { createLegacyLogprobs } from './logprobs.ts';
import { encodeUsage } from './usage.ts';

/** The text completion object, keys in the order of wire.md E5. */
export function encode(head: CompletionHead, { choices, usage }: GenerationResult): object {
  return {
    id: completionId(head),
    object: 'text_completion',
    created: head.created,
    model: head.model,
    choices: choices.map(({ blocks, reason }, index) => {
      const echo = head.echoOf(index);
      return {
        text: echo + blocks.map(({ text }) => text).join(''),
        index,
        finish_reason: FINISH_REASONS[reason],
        logprobs: createLegacyLogprobs(echo)(blocks.flatMap(({ logprobs }) => logprobs)),
      };
    }),
    system_fingerprint: null,
    usage: encodeUsage(usage),
  };
}
