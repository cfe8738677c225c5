import type { FinishReason } from '../../../core/event.ts';

const STOP_REASONS: Record<FinishReason, string> = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use' };

/** Encodes the stop reason. A stop sequence that was hit is named (docs/wire/choices.md#where-sources-disagree). */
export const encodeStopReason = (reason: FinishReason, stop: string | undefined) =>
  reason === 'stop' && stop !== undefined && stop !== ''
    ? { stop_reason: 'stop_sequence', stop_sequence: stop }
    : { stop_reason: STOP_REASONS[reason], stop_sequence: null };
