import type { GenerationEvent } from '../../core/event.ts';
import type { CitationForm, Source } from '../../core/server-tools.ts';
import { createCitedTexts } from './cited-text.ts';
import type { CitedPiece, CitedText } from './cited-text.ts';

/** What an answer's text cites, verified: see `createCitedTexts`. All that is no text passes as it is. */
export interface WithCitations {
  push(event: GenerationEvent): readonly GenerationEvent[];
}

export function createWithCitations(sources: readonly Source[], form: CitationForm | undefined): WithCitations {
  const createText = createCitedTexts(sources, form);
  /** By choice: the text that is open. */
  const open = new Map<number, CitedText>();
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
      const told = (piece: CitedPiece): GenerationEvent => ({ type: 'block-delta', choice, index, ...piece });
      if (event.type === 'block-delta') return text.push(event).map(told);
      open.delete(choice);
      return [...text.end().map(told), event];
    },
  };
}
