import type { GenerationEvent } from '../../core/event.ts';
import type { CitationStyle, Source } from '../../core/server-tools.ts';
import { createCitationVerifierFactory } from './citation-verifier.ts';
import type { CitedTextPiece, CitationVerifier } from './citation-verifier.ts';

/** Verifies the citations in an answer's text (see `createCitationVerifierFactory`); other events pass unchanged. */
export interface CitationFilter {
  push(event: GenerationEvent): readonly GenerationEvent[];
}

export function createCitationFilter(sources: readonly Source[], form: CitationStyle | undefined): CitationFilter {
  const createText = createCitationVerifierFactory(sources, form);
  /** The open text of each choice. */
  const open = new Map<number, CitationVerifier>();
  return {
    push(event) {
      if (event.type === 'block-start') {
        if (event.block.type === 'text') open.set(event.choice, createText());
        return [event];
      }
      if (event.type !== 'block-delta' && event.type !== 'block-end') return [event];
      const { choice, index } = event;
      const text = open.get(choice);
      if (!text) return [event];
      const toEvent = (piece: CitedTextPiece): GenerationEvent => ({ type: 'block-delta', choice, index, ...piece });
      if (event.type === 'block-delta') return text.push(event).map(toEvent);
      open.delete(choice);
      return [...text.end().map(toEvent), event];
    },
  };
}
