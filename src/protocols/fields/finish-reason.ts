import type { FinishReason } from '../../core/event.ts';

export const FINISH_REASONS: Record<FinishReason, string> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
};
