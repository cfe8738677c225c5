import type { FinishReason } from '../../../core/event.ts';

const REASONS: Record<FinishReason, string> = { stop: 'end_turn', length: 'max_tokens', 'tool-calls': 'tool_use' };

/** decisions.md: a stop sequence that was hit is named, whatever the vendor does. */
export const encodeStop = (reason: FinishReason, stop: string | undefined) =>
  reason === 'stop' && stop !== undefined && stop !== ''
    ? { stop_reason: 'stop_sequence', stop_sequence: stop }
    : { stop_reason: REASONS[reason], stop_sequence: null };
