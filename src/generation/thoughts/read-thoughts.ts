import { createThoughtStage } from '../stages/thought.ts';
import type { ThoughtFormat } from './thought-format.ts';

/** Splits the text of a complete answer into its thought and the rest. */
export function readThoughts(text: string, format: ThoughtFormat): { reasoning: string; content: string } {
  const result = { reasoning: '', content: '' };
  const stage = createThoughtStage({ format, phases: [], keepsThoughts: true });
  stage.push({ type: 'text', choice: 0, phase: 0, tokens: 1, text }, (event) => {
    if (event.type === 'text') result.content += event.text;
    if (event.type === 'reasoning') result.reasoning += event.text;
  });
  return result;
}
