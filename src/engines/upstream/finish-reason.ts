import type { FinishReason } from '../../core/event.ts';

/** Finish reasons of the format and their known variants. */
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
 * Returns undefined for any other reason (`abort`, `error`): an unknown end is not a regular end.
 * @param hasCalls A choice with tool calls ended for them, and one without did not, whatever the server reports.
 */
export function parseFinishReason(wireReason: string, hasCalls: boolean): FinishReason | undefined {
  const reason = REASONS.get(wireReason);
  return reason === undefined || reason === 'length' ? reason : hasCalls ? 'tool-calls' : 'stop';
}
