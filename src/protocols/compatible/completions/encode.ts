import type { GenerationResult } from '../../../core/result.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { formatCompletionId, type CompletionHead } from './head.ts';
import { createLegacyLogprobsEncoder, joinLegacyLogprobs } from './logprobs.ts';
import { encodeUsage } from './usage.ts';

/** Encodes the text completion object, keys in the documented order (docs/wire/openai-compatible.md#completions). */
export function encodeCompletion(head: CompletionHead, { choices, usage }: GenerationResult): object {
  return {
    id: formatCompletionId(head),
    object: 'text_completion',
    created: head.created,
    model: head.model,
    choices: choices.map(({ prompt, blocks, reason }, index) => {
      const echo = head.getEcho(index);
      const logprobs = createLegacyLogprobsEncoder(echo);
      return {
        text: (echo ?? prompt?.text ?? '') + blocks.map(({ text }) => text).join(''),
        index,
        finish_reason: FINISH_REASONS[reason],
        logprobs: joinLegacyLogprobs(
          prompt ? logprobs.encodePrompt(prompt.logprobs) : null,
          logprobs.encodeText(blocks.flatMap((block) => block.logprobs)),
        ),
      };
    }),
    system_fingerprint: null,
    usage: encodeUsage(usage),
  };
}
