import type { FinishReason } from '../../core/event.ts';

/** The format's words, and those that servers of it are known to say instead. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['content_filter', 'stop'],
  ['eos_token', 'stop'],
  ['stop_sequence', 'stop'],
  ['length', 'length'],
  ['model_length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
]);

/**
 * Undefined for any other word (`abort`, `error`): an end that nobody knows is no natural end.
 * @param hasCalls A choice that called a tool ended for that, and one that did not ended by itself, whatever the server says.
 */
export function toFinishReason(word: string, hasCalls: boolean): FinishReason | undefined {
  const reason = REASONS.get(word);
  return reason === undefined || reason === 'length' ? reason : hasCalls ? 'tool-calls' : 'stop';
}
