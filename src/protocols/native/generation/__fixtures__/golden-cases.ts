import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelEntry } from '../../../../catalogue/model.ts';
import type { GenerationEvent } from '../../../../core/event.ts';
import { parseBody } from '../../../parse.ts';
import type { AnswerFormat } from '../answer-format.ts';
import { parseGenerationFields } from '../parse-generation-fields.ts';
import { GenerationBody, createGenerationTexts } from '../schema.ts';
import { createTranslationFormat, TranslationBody } from '../translation.ts';

export const TEST_ENTRY: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runner: { type: 'none', reason: 'a test' },
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
  readonly getPath: (file: string) => string;
  readonly format: AnswerFormat;
  readonly events: readonly GenerationEvent[];
}

/** Reads the golden cases, one per folder. The beginning of the folder's name selects the path or the model type. */
export const readGoldenCases = (): GoldenCase[] =>
  readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const getPath = (file: string): string => join(import.meta.dirname, name, file);
      const body: unknown = JSON.parse(readFileSync(getPath('request.json'), 'utf8'));
      const options = { texts: createGenerationTexts(TEST_ENTRY), strict: true };
      const isMultimodal = name.startsWith('multimodal');
      const events = readFileSync(getPath('events.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as GenerationEvent);
      if (name.startsWith('translation')) {
        const { wire } = parseBody(TranslationBody, body, options);
        const isIncremental = wire.parameters?.incremental_output === true;
        return { name, getPath, format: createTranslationFormat(wire.model, { isIncremental }), events };
      }
      const { wire } = parseBody(GenerationBody, body, options);
      return { name, getPath, format: parseGenerationFields(wire, TEST_ENTRY, { isMultimodal, isStreamed: true }).format, events };
    });

export async function* toBatches(
  ...batches: readonly (readonly GenerationEvent[])[]
): AsyncGenerator<readonly GenerationEvent[]> {
  yield* batches;
}
