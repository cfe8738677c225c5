import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

const Reference = z.strictObject({
  icon: z.string().regex(/^(?:https?:\/\/.*)?$/),
  index_number: z.int().min(1),
  title: z.string(),
  description: z.string(),
  url: z.string().regex(/^(?:https?:\/\/|parley-index:)/),
});

const Found = z.strictObject({ references: z.array(Reference).optional() });

interface AnswerEvent {
  readonly status: string;
  readonly content: string;
  readonly found: object;
  readonly isLast: boolean;
}

export interface ReportCheck {
  /** The faults of one event of the answer. */
  take(event: AnswerEvent): string[];
  /** Characters so far. */
  length(): number;
}

/** The text grows piece by piece and its references before their marks. */
export function createReportCheck({ hasSources }: { readonly hasSources: boolean }): ReportCheck {
  let text = '';
  let lookedTo = 0;
  let references: readonly z.output<typeof Reference>[] = [];

  const takeReferences = (told: readonly z.output<typeof Reference>[]): string[] => {
    const faults: string[] = [];
    if (!hasSources) faults.push('a question has references');
    if (told.some(({ index_number: index }, position) => index !== position + 1))
      faults.push('references are not numbered from 1 on');
    if (told.length <= references.length) faults.push('references were told again');
    if (!isDeepStrictEqual(told.slice(0, references.length), references)) faults.push('a reference changed');
    references = told;
    return faults;
  };

  return {
    take({ status, content, found, isLast }) {
      const parsed = Found.safeParse(found);
      if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
      const { references: told } = parsed.data;
      if (isLast) return status === 'finished' && content === '' && !told ? [] : ['the last event says something'];
      const faults = told ? takeReferences(told) : [];
      if (status !== 'typing') faults.push(`an answer's status is ${status}`);
      if (content === '' && !told) faults.push('an answer says nothing');
      text += content;
      for (const match of text.slice(lookedTo).matchAll(/\[\[(\d+)\]\]/g)) {
        const index = Number(match[1]);
        if (index > references.length || index < 1) faults.push(`${match[0]} comes before its reference`);
      }
      // A mark may be cut between two pieces; one that is whole is looked at once.
      lookedTo = text.length - (/\[\[?\d*\]?$/.exec(text)?.[0].length ?? 0);
      return faults;
    },
    length: () => text.length,
  };
}
