import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelEntry } from '../../../../catalogue/model.ts';
import type { GenerationEvent } from '../../../../core/event.ts';
import { parseBody } from '../../../parse.ts';
import type { AnswerForm } from '../form.ts';
import { readFields } from '../read-fields.ts';
import { GenerationBody, generationTexts } from '../schema.ts';
import { translationForm, TranslationBody } from '../translation.ts';

export const ENTRY: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runs: { type: 'none', reason: 'a test' },
  contextTokens: 4096,
  abilities: {
    thinking: 'prompted',
    tools: true,
    vision: false,
    audio: false,
    logprobs: true,
    fillInTheMiddle: false,
  },
  interfaces: ['native'],
  sampling: {},
  created: 0,
};

export interface GoldenCase {
  readonly name: string;
  readonly at: (file: string) => string;
  readonly form: AnswerForm;
  readonly events: readonly GenerationEvent[];
}

/** A folder is a case; the path, or the kind of model, is the one that its name begins with. */
export const goldenCases = (): GoldenCase[] =>
  readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const at = (file: string): string => join(import.meta.dirname, name, file);
      const body: unknown = JSON.parse(readFileSync(at('request.json'), 'utf8'));
      const options = { texts: generationTexts(ENTRY), strict: true };
      const isMultimodal = name.startsWith('multimodal');
      const events = readFileSync(at('events.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as GenerationEvent);
      if (name.startsWith('translation')) {
        const { wire } = parseBody(TranslationBody, body, options);
        const isIncremental = wire.parameters?.incremental_output === true;
        return { name, at, form: translationForm(wire.model, { isIncremental }), events };
      }
      const { wire } = parseBody(GenerationBody, body, options);
      return { name, at, form: readFields(wire, ENTRY, { isMultimodal, isStreamed: true }).form, events };
    });

export async function* batchesOf(
  ...batches: readonly (readonly GenerationEvent[])[]
): AsyncGenerator<readonly GenerationEvent[]> {
  yield* batches;
}
