import type { Reference } from '../../research.ts';
import { createPassage } from '../../../../generation/citations/passage.ts';
import { normalizeSentence } from '../sentence-index.ts';
import { splitSentences } from '../sentences.ts';

/** Characters of a source per citation check. Longer sources are checked in overlapping parts. */
const PART_CHARS = 50_000;
const OVERLAP_CHARS = 5_000;

interface ReportToCheck {
  /** Text of all `report` events. */
  readonly report: string;
  /** References of the last event that has any. */
  readonly references: readonly Reference[];
  /** Reads the text of a source again. */
  readonly read: (reference: Reference) => Promise<string> | string;
}

/**
 * Checks a report against its sources: each sentence has a mark, is supported by the marked source and occurs once;
 * each mark has a reference; references are cited, in order of first citation. A closing note in italics needs no
 * source.
 *
 * @returns Descriptions of all faults; empty for a correct report.
 */
export async function checkReport({ report, references, read }: ReportToCheck): Promise<readonly string[]> {
  const faults: string[] = [];
  const lines = report.split('\n').filter((line) => line.trim() !== '');
  if (!/^# \S/.test(lines[0] ?? '')) faults.push('the report does not begin with a title');
  for (const [at, { index, title, description, url, icon }] of references.entries()) {
    if (index !== at + 1) faults.push(`reference ${at + 1} has index ${index}`);
    if (!/^(?:https?:\/\/|parley-index:)/.test(url)) faults.push(`reference ${index} has the address ${url}`);
    if ([title, description, icon].some((text) => typeof text !== 'string'))
      faults.push(`reference ${index} lacks a text`);
  }
  const texts = new Map<number, string>();
  for (const reference of references) texts.set(reference.index, await read(reference));

  const cited: number[] = [];
  const seen = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    const isNote = at === lines.length - 1 && /^\*[^*]+\*$/.test(line);
    if (isNote || line.startsWith('#')) {
      if (line.startsWith('## ') && (lines[at + 1] ?? '#').startsWith('#')) faults.push(`nothing stands under: ${line}`);
      continue;
    }
    for (const sentence of splitSentences(line)) {
      const marks = [...sentence.matchAll(MARK)].map(([, number]) => Number(number));
      const plain = sentence.replaceAll(MARK, '').replaceAll(/\s+(?=[.,;:!?。！？]|$)/g, '');
      if (marks.length === 0) faults.push(`no mark: ${sentence}`);
      for (const mark of marks) {
        const text = texts.get(mark);
        cited.push(mark);
        if (text === undefined) faults.push(`no reference ${mark}: ${sentence}`);
        else if (
          !isEntry(plain, text) &&
          !splitOverlapping(text).some((part) => createPassage(part).compareSentence(plain).isSupported)
        )
          faults.push(`not borne out by ${mark}: ${sentence}`);
      }
      const key = normalizeSentence(plain);
      if (seen.has(key)) faults.push(`said twice: ${sentence}`);
      seen.set(key, sentence);
    }
  }
  const order = [...new Set(cited)];
  for (const { index } of references) if (!order.includes(index)) faults.push(`reference ${index} is not cited`);
  if (order.some((mark, at) => mark !== at + 1)) faults.push(`cited in the order ${order.join(', ')}`);
  return faults;
}

/** Longest distance in characters from the name of an entry to the end of the sentence about it. */
const ENTRY_CHARS_MAX = 400;

/** Tells whether a sentence such as `setName: Sets the name.` joins a heading of the text and a sentence below it. */
function isEntry(sentence: string, text: string): boolean {
  const [, name = '', statement = ''] = /^([^\s:]+): (.+)$/s.exec(sentence) ?? [];
  if (name === '') return false;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1))
    if (text.slice(at, at + ENTRY_CHARS_MAX).replaceAll(/\s+/g, ' ').includes(statement)) return true;
  return false;
}

const MARK = /\s*\[\[(\d+)\]\]/g;

function splitOverlapping(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at === 0 || at + OVERLAP_CHARS < text.length; at += PART_CHARS - OVERLAP_CHARS)
    parts.push(text.slice(at, at + PART_CHARS));
  return parts;
}
