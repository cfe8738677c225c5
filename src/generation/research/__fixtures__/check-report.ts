import type { Reference } from '../../../core/research.ts';
import { checkCitation } from '../../citations/check-citation.ts';
import { keyOf } from '../likeness.ts';
import { sentencesOf } from '../sentences.ts';

/** Ours: characters of a source that one check looks at; longer ones are looked at in parts that overlap. */
const PART_CHARS = 50_000;
const OVERLAP_CHARS = 5_000;

interface Wish {
  /** Of all `report` events together. */
  readonly report: string;
  /** Of the last event that had any. */
  readonly references: readonly Reference[];
  /** Reads a source again: all that can be fetched of it. */
  readonly read: (reference: Reference) => Promise<string> | string;
}

/**
 * Reads the sources of a report again: every mark points at a reference, every reference is cited, first ones first; every
 * sentence has a mark and is borne out by its source, none is said twice. What a report says of itself at its end, in italics,
 * has no source.
 *
 * @returns What is wrong, in words; empty where nothing is.
 */
export async function checkReport({ report, references, read }: Wish): Promise<readonly string[]> {
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
  const said = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    const isOwn = at === lines.length - 1 && /^\*[^*]+\*$/.test(line);
    if (isOwn || line.startsWith('#')) {
      if (line.startsWith('## ') && (lines[at + 1] ?? '#').startsWith('#')) faults.push(`nothing stands under: ${line}`);
      continue;
    }
    for (const sentence of sentencesOf(line)) {
      const marks = [...sentence.matchAll(MARK)].map(([, number]) => Number(number));
      const plain = sentence.replaceAll(MARK, '').replaceAll(/\s+(?=[.,;:!?。！？]|$)/g, '');
      if (marks.length === 0) faults.push(`no mark: ${sentence}`);
      for (const mark of marks) {
        const text = texts.get(mark);
        cited.push(mark);
        if (text === undefined) faults.push(`no reference ${mark}: ${sentence}`);
        else if (!partsOf(text).some((part) => checkCitation(plain, part).holds))
          faults.push(`not borne out by ${mark}: ${sentence}`);
      }
      const key = keyOf(plain);
      if (said.has(key)) faults.push(`said twice: ${sentence}`);
      said.set(key, sentence);
    }
  }
  const order = [...new Set(cited)];
  for (const { index } of references) if (!order.includes(index)) faults.push(`reference ${index} is not cited`);
  if (order.some((mark, at) => mark !== at + 1)) faults.push(`cited in the order ${order.join(', ')}`);
  return faults;
}

const MARK = /\s*\[\[(\d+)\]\]/g;

function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at === 0 || at + OVERLAP_CHARS < text.length; at += PART_CHARS - OVERLAP_CHARS)
    parts.push(text.slice(at, at + PART_CHARS));
  return parts;
}
