import type { GenerationResult } from '../core/result.ts';

/**
 * Lists what `x-parley-ignored` reports of a complete answer: `tools(unparsed_call)` where its text shows the mark of a call
 * that could not be parsed. The header of a stream is sent before the answer.
 */
export const listUnparsedCalls = ({ choices }: Pick<GenerationResult, 'choices'>): string[] =>
  choices.some(({ hasUnparsedCall }) => hasUnparsedCall) ? ['tools(unparsed_call)'] : [];
