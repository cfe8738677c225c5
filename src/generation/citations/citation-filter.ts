import type { GenerationEvent } from '../../core/event.ts';
import type { CitationStyle, Source } from '../../core/server-tools.ts';
import { createCitationVerifierFactory, type CitedTextPiece, type CitationVerifier } from './citation-verifier.ts';

/**
 * Verifies the citation marks in an answer's text, and removes or rewrites them (`createCitationVerifierFactory` has
 * the rules). Other events pass unchanged.
 */
export interface CitationFilter {
  push(event: GenerationEvent): readonly GenerationEvent[];
}

/** @param style How the caller wants sources to be cited; undefined: only marks without a source are removed. */
export function createCitationFilter(sources: readonly Source[], style: CitationStyle | undefined): CitationFilter {
  const createVerifier = createCitationVerifierFactory(sources, style);
  /** The verifier of the text block that is open in each choice. */
  const verifiers = new Map<number, CitationVerifier>();
  return {
    push(event) {
      if (event.type === 'block-start') {
        if (event.block.type === 'text') verifiers.set(event.choice, createVerifier());
        return [event];
      }
      if (event.type !== 'block-delta' && event.type !== 'block-end') return [event];
      const { choice, index } = event;
      const verifier = verifiers.get(choice);
      if (!verifier) return [event];
      const toEvent = (piece: CitedTextPiece): GenerationEvent => ({ type: 'block-delta', choice, index, ...piece });
      if (event.type === 'block-delta') return verifier.push(event).map(toEvent);
      verifiers.delete(choice);
      return [...verifier.end().map(toEvent), event];
    },
  };
}
