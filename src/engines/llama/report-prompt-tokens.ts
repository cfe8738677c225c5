import { PROMPT_LOGPROB_MIN } from '../../core/limits.ts';
import type { GenerationJob } from './job.ts';
import type { NativeModel } from './native-model.ts';
import type { LineLogprob } from './protocol.ts';
import type { LogitsIndexes } from './raw-probabilities.ts';
import { readLogprobs } from './sampling.ts';

/**
 * Adds a line with the next tokens of the prompt to each choice of a job that requests their log probabilities. The logits after a token
 * are those of the token that follows it.
 *
 * @param step The tokens that were just evaluated: the position of the first one, and the logits of all of them.
 */
export async function reportPromptTokens(
  model: NativeModel,
  job: GenerationJob,
  { position, logitsIndexes }: { readonly position: number; readonly logitsIndexes: LogitsIndexes },
): Promise<void> {
  const { prompt, promptDecoder } = job;
  const top = job.call.promptLogprobs?.top ?? 0;
  const logprobs: LineLogprob[] = position === 0 ? [createFirstEntry(model, prompt[0] ?? 0)] : [];
  for (const [index, logitsIndex] of Array.from(logitsIndexes).entries()) {
    const token = prompt[position + index + 1];
    // Reading takes milliseconds per token, so that a canceled job must not go on.
    if (token === undefined || job.isCancelled) break;
    const { logprob, ...entry } = await readLogprobs(model, logitsIndex, { token, top });
    logprobs.push({ ...entry, logprob: Math.max(logprob ?? -Infinity, PROMPT_LOGPROB_MIN) });
  }
  const isLast = position + logitsIndexes.length >= prompt.length;
  const decoded = promptDecoder.push(Uint8Array.from(logprobs.flatMap(({ bytes }) => bytes)));
  const text = isLast ? decoded + promptDecoder.end() : decoded;
  for (const { index: choice } of job.choices) job.lines.push({ type: 'prompt', choice, text, logprobs });
}

const createFirstEntry = (model: NativeModel, id: number): LineLogprob => ({
  id,
  bytes: [...model.tokenBytes(id)],
  logprob: null,
  top: [],
});
