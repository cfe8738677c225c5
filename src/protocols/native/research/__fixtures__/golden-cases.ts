import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ResearchEvent } from '../../../../core/research.ts';

export interface GoldenCase {
  readonly name: string;
  readonly at: (file: string) => string;
  readonly events: readonly ResearchEvent[];
}

/** A folder is a case. */
export const goldenCases = (): GoldenCase[] =>
  readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const at = (file: string): string => join(import.meta.dirname, name, file);
      const lines = readFileSync(at('events.jsonl'), 'utf8').trim().split('\n');
      return { name, at, events: lines.map((line) => JSON.parse(line) as ResearchEvent) };
    });
