import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ResearchEvent } from '../../research.ts';

export interface ResearchGoldenCase {
  readonly name: string;
  readonly getPath: (file: string) => string;
  readonly events: readonly ResearchEvent[];
}

/** Reads the golden cases, one per folder. */
export const readGoldenCases = (): ResearchGoldenCase[] =>
  readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const getPath = (file: string): string => join(import.meta.dirname, name, file);
      const lines = readFileSync(getPath('events.jsonl'), 'utf8').trim().split('\n');
      return { name, getPath, events: lines.map((line) => JSON.parse(line) as ResearchEvent) };
    });
